#include "providers/os/git.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>

namespace podctl {
namespace {

constexpr std::chrono::seconds kLimit{3};
constexpr int kNoSuchKey = 1;       // exit code of `git config --get-regexp`
constexpr int kNotFollowed = 1;     // of `git ls-files --error-unmatch`
constexpr int kNoRepository = 128;  // of every command; also where git does not trust it
constexpr std::size_t kMostFilters = 100;

bool IsCommitId(std::string_view text) {
  constexpr std::size_t kSha1 = 40;
  constexpr std::size_t kSha256 = 64;
  return (text.size() == kSha1 || text.size() == kSha256) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::vector<std::string> SplitAtZeros(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\0', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
  }
  return parts;
}

// Of pairs of a scope and a key, "filter.NAME.what", the names that a repository itself says.
std::optional<std::set<std::string>> OwnFilters(const std::string& listed) {
  const std::vector<std::string> parts = SplitAtZeros(listed);
  std::set<std::string> names;
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
    const std::string& key = parts[i + 1];
    if (parts[i] == "system" || parts[i] == "global") continue;
    const std::size_t begin = key.find('.');
    const std::size_t end = key.rfind('.');
    if (begin == std::string::npos || begin >= end) continue;
    const std::string name = key.substr(begin + 1, end - begin - 1);
    // What follows the first `=` would be taken for the value.
    if (name.find('=') != std::string::npos || names.size() == kMostFilters) return std::nullopt;
    names.insert(name);
  }
  return names;
}

}  // namespace

// `env`, since variables count more than what a repository configures, and some of a hook's, which
// may have started podctl, name another repository.
Result<ProcessResult> GitFolder::Ask(const std::vector<std::string>& settings,
                                     const std::vector<std::string>& words) {
  std::vector<std::string> line = {"env",
                                   "-u",
                                   "GIT_DIR",
                                   "-u",
                                   "GIT_WORK_TREE",
                                   "-u",
                                   "GIT_INDEX_FILE",
                                   "LC_ALL=C",
                                   "GIT_OPTIONAL_LOCKS=0",
                                   "GIT_NO_LAZY_FETCH=1",
                                   "GIT_ALLOW_PROTOCOL=",
                                   "GIT_TERMINAL_PROMPT=0",
                                   "git",
                                   "--no-pager",
                                   "-C",
                                   folder_,
                                   "-c",
                                   "core.fsmonitor=false",
                                   "-c",
                                   "core.hooksPath=/dev/null"};
  for (const std::string& setting : settings) {
    line.emplace_back("-c");
    line.push_back(setting);
  }
  line.insert(line.end(), words.begin(), words.end());
  return processes_.Run(line, kLimit, stop_);
}

// Settings under which git runs none of the repository's own filters, which it else does to compare
// a file with what is committed. nullopt: there are none that are sure to.
std::optional<std::vector<std::string>> GitFolder::WithoutFilters() {
  const auto listed = Ask({}, {"config", "--includes", "--show-scope", "--null", "--name-only",
                               "--get-regexp", "^filter\\."});
  if (!listed) return std::nullopt;
  std::vector<std::string> settings;
  if (listed->exit_code == kNoSuchKey) return settings;
  const auto names =
      listed->exit_code == 0 ? OwnFilters(listed->out) : std::optional<std::set<std::string>>();
  if (!names) return std::nullopt;
  for (const std::string& name : *names) {
    for (const char* what : {".clean=", ".process=", ".required=false"}) {
      settings.push_back("filter." + name + what);
    }
  }
  return settings;
}

std::optional<GitCommit> GitFolder::Commit() {
  const auto head = Ask({}, {"rev-parse", "--verify", "--quiet", "HEAD"});
  if (!head || head->exit_code != 0) return std::nullopt;
  GitCommit commit{head->out.substr(0, head->out.find('\n'))};
  if (!IsCommitId(commit.id)) return std::nullopt;
  commit.dirty = true;
  const auto settings = WithoutFilters();
  if (!settings) return commit;
  const auto status = Ask(*settings, {"status", "--porcelain", "--untracked-files=no",
                                      "--ignore-submodules=all", "--no-renames"});
  if (status && status->exit_code == 0) commit.dirty = !status->out.empty();
  return commit;
}

std::optional<bool> GitFolder::Follows(const std::string& path) {
  const auto listed = Ask({}, {"ls-files", "--error-unmatch", "--", ":(literal)" + path});
  if (!listed) return std::nullopt;
  if (listed->exit_code == 0) return true;
  const bool no = listed->exit_code == kNotFollowed || listed->exit_code == kNoRepository;
  return no ? std::optional<bool>(false) : std::nullopt;
}

}  // namespace podctl

#include "providers/os/git.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>

#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr std::chrono::minutes kExportLimit{10};
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
Result<ProcessResult> GitFolder::Ask(const Question& question) {
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
                                   "GIT_TERMINAL_PROMPT=0"};
  line.insert(line.end(), question.variables.begin(), question.variables.end());
  for (const char* word : {"git", "--no-pager", "-C"}) line.emplace_back(word);
  line.push_back(folder_);
  for (const char* word : {"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}) {
    line.emplace_back(word);
  }
  for (const std::string& setting : question.settings) {
    line.emplace_back("-c");
    line.push_back(setting);
  }
  line.insert(line.end(), question.words.begin(), question.words.end());
  return processes_.Run(line, question.limit, stop_);
}

Result<std::string> GitFolder::Do(Question question) {
  question.limit = kExportLimit;
  auto done = Ask(question);
  if (!done) return done.error();
  if (done->exit_code == 0) return std::move(done->out);
  return MakeError(ErrorCode::kNotFound,
                   fmt::format("git {} in {}: {}", question.words.front(), folder_,
                               VisibleControls(done->err.substr(0, done->err.find('\n')))));
}

// Settings under which git runs none of the repository's own filters, which it else does to compare
// a file with what is committed. nullopt: there are none that are sure to.
std::optional<std::vector<std::string>> GitFolder::WithoutFilters() {
  const auto listed = Ask({{"config", "--includes", "--show-scope", "--null", "--name-only",
                            "--get-regexp", "^filter\\."}});
  if (!listed) return std::nullopt;
  std::vector<std::string> settings;
  if (listed->exit_code == kNoSuchKey) return settings;
  const auto names =
      listed->exit_code == 0 ? OwnFilters(listed->out) : std::optional<std::set<std::string>>();
  if (!names) return std::nullopt;
  for (const std::string& name : *names) {
    for (const char* what : {".clean=", ".smudge=", ".process=", ".required=false"}) {
      settings.push_back("filter." + name + what);
    }
  }
  return settings;
}

std::optional<GitCommit> GitFolder::Commit() {
  const auto head = Ask({{"rev-parse", "--verify", "--quiet", "HEAD"}});
  if (!head || head->exit_code != 0) return std::nullopt;
  GitCommit commit{head->out.substr(0, head->out.find('\n'))};
  if (!IsCommitId(commit.id)) return std::nullopt;
  commit.dirty = true;
  const auto settings = WithoutFilters();
  if (!settings) return commit;
  const auto status = Ask(
      {{"status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all", "--no-renames"},
       *settings});
  if (status && status->exit_code == 0) commit.dirty = !status->out.empty();
  return commit;
}

std::optional<bool> GitFolder::Follows(const std::string& path) {
  const auto listed = Ask({{"ls-files", "--error-unmatch", "--", ":(literal)" + path}});
  if (!listed) return std::nullopt;
  if (listed->exit_code == 0) return true;
  const bool no = listed->exit_code == kNotFollowed || listed->exit_code == kNoRepository;
  return no ? std::optional<bool>(false) : std::nullopt;
}

Result<std::string> GitFolder::Export(const std::string& commit, const std::string& into) {
  if (!IsCommitId(commit)) {
    return MakeError(ErrorCode::kInvalidArgument, fmt::format("`{}` is no commit", commit));
  }
  const auto settings = WithoutFilters();
  if (!settings) {
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("git cannot tell what the repository of {} configures", folder_));
  }
  auto below = Do({{"rev-parse", "--show-prefix"}});
  if (!below) return below.error();
  while (!below->empty() && (below->back() == '\n' || below->back() == '/')) below->pop_back();
  // An index of its own: that of the checkout is left alone.
  const std::string index = "GIT_INDEX_FILE=" + into + "/index";
  const std::string files = into + "/files/";
  if (auto read = Do({{"read-tree", commit}, *settings, {index}}); !read) return read.error();
  auto written = Do({{"checkout-index", "--all", "--prefix=" + files}, *settings, {index}});
  if (!written) return written.error();
  return files + *below;
}

}  // namespace podctl

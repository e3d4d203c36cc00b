#include "cmd/commands/exec/last_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "cmd/commands/exec/output_folder.h"
#include "providers/os/durable_file.h"
#include "state/digest.h"

namespace podctl {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
constexpr std::size_t kMostKept = 100;
constexpr std::size_t kDigits = 16;  // of the state's name in a file's

Result<ExecRecord> Read(FileSystem& files, const std::string& path) {
  const auto text = files.Read(path, kMostBytes);
  if (!text) return text.error();
  auto record = ParseExecRecord(*text);
  if (!record) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{} holds no results of `podctl exec`: {}", path, record.error().message));
  }
  return record;
}

}  // namespace

LastRun::LastRun(FileSystem& files, const Environment& environment, const std::string& state_path,
                 const std::string& address)
    : files_(files), pod_(address) {
  const std::string state_home = environment.Get("XDG_STATE_HOME").value_or("");
  const std::string home = environment.Get("HOME").value_or("");
  // Relative paths in it are to be ignored (XDG Base Directory Specification).
  if (state_home.starts_with('/')) {
    folder_ = state_home + "/podctl/exec";
  } else if (!home.empty()) {
    folder_ = home + "/.local/state/podctl/exec";
  }
  std::error_code ignored;
  const auto whole = std::filesystem::absolute(state_path, ignored).lexically_normal();
  Sha256 digest;
  digest.Add(whole.string());
  path_ =
      fmt::format("{}/{}.{}.json", folder_, address, std::move(digest).Hex().substr(0, kDigits));
}

void LastRun::Save(const ExecRecord& record) {
  if (folder_.empty()) return;
  if (!ready_) {
    if (!files_.MakeFolders(folder_)) return;
    DropOld();
    ready_ = true;
  }
  static_cast<void>(ReplaceDurably(files_, path_, ExecRecordText(record), 0600).has_value());
}

Result<ExecRecord> LastRun::Load() const {
  auto record = Read(files_, path_);
  if (folder_.empty() || (!record && record.error().code == ErrorCode::kNotFound)) {
    return MakeError(ErrorCode::kNotFound, fmt::format("nothing was run on {} from here yet", pod_),
                     "`--retry-failed DIR` takes the results that `--output-dir DIR` wrote.");
  }
  return record;
}

void LastRun::DropOld() {
  const auto names = files_.List(folder_);
  if (!names || names->size() < kMostKept) return;
  std::vector<std::pair<std::chrono::system_clock::time_point, std::string>> by_age;
  for (const std::string& name : *names) {
    const std::string path = folder_ + "/" + name;
    if (path == path_) continue;
    if (const auto info = files_.Stat(path)) by_age.emplace_back(info->modified, path);
  }
  std::sort(by_age.begin(), by_age.end());
  for (std::size_t i = 0; i + kMostKept <= by_age.size(); ++i) {
    static_cast<void>(files_.Remove(by_age[i].second).has_value());
  }
}

Result<ExecRecord> LoadExecRecord(FileSystem& files, const std::string& folder) {
  auto record = Read(files, OutputFolder::RecordPath(folder));
  if (!record && record.error().code == ErrorCode::kNotFound) {
    return MakeError(ErrorCode::kNotFound, fmt::format("there is no results.json in {}", folder),
                     "`--output-dir` writes one; `--retry-failed last` takes the last run.");
  }
  return record;
}

}  // namespace podctl

#include "plans/fleet/kept_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>
#include <vector>

#include "providers/base/digest.h"
#include "providers/os/file_system.h"
#include "state/store.h"

namespace podctl {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
constexpr std::size_t kMostKept = 100;
constexpr std::size_t kDigits = 16;  // of the state's name in a file's

}  // namespace

KeptFile::KeptFile(FileSystem& files, const Environment& environment, const std::string& kind,
                   const std::string& state_path, const std::string& name)
    : files_(files) {
  const std::string state_home = environment.Get("XDG_STATE_HOME").value_or("");
  const std::string home = environment.Get("HOME").value_or("");
  // Relative paths in it are to be ignored (XDG Base Directory Specification).
  if (state_home.starts_with('/')) {
    folder_ = fmt::format("{}/podctl/{}", state_home, kind);
  } else if (!home.empty()) {
    folder_ = fmt::format("{}/.local/state/podctl/{}", home, kind);
  }
  std::error_code ignored;
  Sha256 digest;
  digest.Add(IsStateUrl(state_path)
                 ? state_path
                 : std::filesystem::absolute(state_path, ignored).lexically_normal().string());
  path_ = fmt::format("{}/{}.{}.json", folder_, name, std::move(digest).Hex().substr(0, kDigits));
}

void KeptFile::Save(const std::string& text) {
  if (folder_.empty()) return;
  if (!ready_) {
    if (!MakePrivateFolders(files_, folder_)) return;
    DropOld();
    ready_ = true;
  }
  static_cast<void>(ReplaceDurably(files_, path_, text, 0600).has_value());
}

Result<std::string> KeptFile::Load() const {
  if (folder_.empty()) return MakeError(ErrorCode::kNotFound, "there is no home folder");
  return files_.Read(path_, kMostBytes);
}

void KeptFile::DropOld() {
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

}  // namespace podctl

#include "plans/session/temporary.h"

#include <fmt/format.h>

#include <algorithm>

#include "providers/base/digest.h"
#include "providers/base/text.h"
#include "providers/os/clock.h"
#include "providers/os/this_process.h"

namespace podctl {

std::string TemporaryName(const std::string& path, std::string_view what, const std::string& run,
                          const std::string& key) {
  constexpr std::size_t kLongest = 128;  // of the 255 that a name may have
  constexpr std::size_t kProofDigits = 32;
  std::string name = path.substr(path.rfind('/') + 1);
  const std::string proof =
      HmacSha256Hex(key, fmt::format("{}\n{}\n{}\n{}", what, HostName(), name, run));
  if (name.size() > kLongest) name = Sha256Hex(name);
  return fmt::format(".{}.{}.{}.podctl-tmp", name, run, proof.substr(0, kProofDigits));
}

void RemoveTemporaries(FileSystem& files, const std::string& path, std::string_view what,
                       const std::vector<std::string>& keys) {
  const std::string folder = FolderOf(path);
  const auto names = files.List(folder);
  if (!names) return;
  for (const std::string& name : *names) {
    if (!name.starts_with('.') || !name.ends_with(".podctl-tmp")) continue;
    const auto parts = Split(name, ".");
    if (parts.size() < 5) continue;
    const std::string run(parts[parts.size() - 3]);
    const bool own = std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
      return name == TemporaryName(path, what, run, key);
    });
    const auto pid = ParseNumber<int>(std::string_view(run).substr(0, run.find('-')));
    if (!own || !pid) continue;
    const std::string left = folder + "/" + name;
    const auto info = files.Stat(left);
    if (!info || info->kind != FileInfo::Kind::kFile) continue;
    // It still writes, perhaps.
    if (ProcessRanAt(*pid, FormatTimestamp(info->modified))) continue;
    static_cast<void>(files.Remove(left));
  }
}

}  // namespace podctl

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "providers/os/file_system.h"

namespace podctl {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel's own walk (path_resolution(7))

}  // namespace

Result<std::string> RealFileSystem::FollowLinks(const std::string& path) {
  std::filesystem::path at = path;
  for (int links = 0; links < kMaxLinks; ++links) {
    std::error_code failed;
    if (!std::filesystem::is_symlink(at, failed)) return at.string();
    const std::filesystem::path target = std::filesystem::read_symlink(at, failed);
    if (failed) {
      return MakeError(
          failed == std::errc::permission_denied ? ErrorCode::kPermissionDenied : ErrorCode::kIo,
          fmt::format("cannot read the link {}: {}", at.string(), failed.message()));
    }
    at = target.is_absolute() ? target : at.parent_path() / target;
  }
  return MakeError(ErrorCode::kIo, fmt::format("{} goes through too many symbolic links", path));
}

}  // namespace podctl

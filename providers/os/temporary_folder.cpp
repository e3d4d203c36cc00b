#include "providers/os/temporary_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace podctl {

Result<TemporaryFolder> TemporaryFolder::Make(const std::string& parent) {
  std::string name = parent + "/podctl-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    return MakeError(ErrorCode::kIo,
                     fmt::format("no folder can be made in {}: {}", parent, std::strerror(errno)));
  }
  return TemporaryFolder(std::move(name));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // what is left takes room, and nobody else can enter it
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace podctl

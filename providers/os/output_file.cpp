#include "providers/os/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "providers/os/descriptor.h"
#include "providers/os/this_process.h"

namespace podctl {
namespace {

Result<void> Write(const std::string& path, std::string_view bytes, int flags, unsigned mode) {
  Descriptor file = Open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, mode);
  if (!file.ok()) return SystemError("write", path, errno);
  if (const int error = WriteAll(file.get(), bytes); error != 0) {
    return SystemError("write", path, error);
  }
  if (const int error = file.Close(); error != 0) return SystemError("write", path, error);
  return {};
}

}  // namespace

Result<void> WriteToFile(const std::string& path, std::string_view bytes, bool anew) {
  return Write(path, bytes, anew ? O_TRUNC : O_APPEND, 0666);
}

Result<void> ReplaceFile(const std::string& path, std::string_view bytes, unsigned mode) {
  const std::string beside = fmt::format("{}.{}.tmp", path, ProcessId());
  if (auto written = Write(beside, bytes, O_TRUNC, mode); !written) {
    unlink(beside.c_str());
    return written;
  }
  if (rename(beside.c_str(), path.c_str()) != 0) {
    const Error error = SystemError("write", path, errno);
    unlink(beside.c_str());
    return error;
  }
  return {};
}

}  // namespace podctl

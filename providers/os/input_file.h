// A local file that is read at any place, for what is too large to be read at once.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "providers/base/error.h"
#include "providers/os/descriptor.h"

namespace podctl {

class InputFile {
 public:
  // kInvalidArgument for what is no regular file.
  static Result<InputFile> Open(const std::string& path);

  // Bytes, when it was opened.
  std::uint64_t size() const { return size_; }
  // At most `size` bytes from `offset` on; 0: the end.
  Result<std::size_t> ReadAt(std::uint64_t offset, char* bytes, std::size_t size);

 private:
  InputFile(std::string path, Descriptor file, std::uint64_t size)
      : path_(std::move(path)), file_(std::move(file)), size_(size) {}
  std::string path_;
  Descriptor file_;
  std::uint64_t size_;
};

}  // namespace podctl

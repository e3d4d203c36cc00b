// A local file that is read at any place, for what is too large to be read at once.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "providers/base/error.h"
#include "providers/os/descriptor.h"

namespace podctl {

// By which the kernel knows a file, whatever it is called.
struct FileNumber {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const FileNumber&, const FileNumber&) = default;
};

class InputFile {
 public:
  // kInvalidArgument for what is no regular file.
  static Result<InputFile> Open(const std::string& path);

  // Bytes, when it was opened.
  std::uint64_t size() const { return size_; }
  // Where it lies now, without links, whatever its path has come to name.
  std::string RealPath() const;
  FileNumber number() const { return number_; }
  // At most `size` bytes from `offset` on; 0: the end.
  Result<std::size_t> ReadAt(std::uint64_t offset, char* bytes, std::size_t size);

 private:
  InputFile(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
  FileNumber number_;
};

}  // namespace podctl

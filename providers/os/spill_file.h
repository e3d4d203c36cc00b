// A file without a name, for what is too much for memory: nobody else can open it, and it goes with
// this process, however that ends. Grows at its end only, as an output does; what comes and goes in
// blocks has scratch_file.h. Knows nothing of what the bytes mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "providers/base/error.h"
#include "providers/os/descriptor.h"

namespace podctl {

class SpillFile {
 public:
  // In `folder`, which should have room: $TMPDIR.
  static Result<SpillFile> Make(const std::string& folder);

  // The offset at which the bytes stand. After an error the file is as it was.
  Result<std::uint64_t> Append(std::string_view bytes);
  // `size` bytes from `offset` on, all of which must have been written.
  Result<void> Read(std::uint64_t offset, char* bytes, std::size_t size) const;
  std::uint64_t size() const { return size_; }

 private:
  SpillFile(Descriptor file, std::string folder)
      : file_(std::move(file)), folder_(std::move(folder)) {}

  Descriptor file_;
  std::string folder_;  // for messages
  std::uint64_t size_ = 0;
};

}  // namespace podctl

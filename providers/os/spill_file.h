// A file without a name, for what is too much for memory: nobody else can open it, and it goes with
// this process, however that ends. Grows at its end only, as an output does; what comes and goes in
// blocks has ScratchFile, below. Knows nothing of what the bytes mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// ---- Room on disk for what is not wanted in memory: one file without a name, cut into blocks that
// are given out, taken back and given out again. It goes with the process, however that ends.
//
// Lies in $TMPDIR, else /var/tmp (which is on a disk where /tmp may be memory), else /tmp, readable
// by nobody else. Knows nothing of what is kept in it.

class ScratchFile {
 public:
  static constexpr std::size_t kBlock = std::size_t{64} * 1024;  // bytes

  // The file is made when the first block is asked for. `max_blocks` is never exceeded.
  explicit ScratchFile(std::uint32_t max_blocks) : max_blocks_(max_blocks) {}
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  // All thread safe. nullopt: the limit is reached, or there is no file to be had.
  std::optional<std::uint32_t> Take();
  void GiveBack(std::uint32_t block);
  // Within one block. False: the disk is full or broken; what was there before still is.
  bool Write(std::uint32_t block, std::size_t offset, std::string_view bytes);
  bool Read(std::uint32_t block, std::size_t offset, char* bytes, std::size_t size);

 private:
  bool Open();  // with the mutex held

  const std::uint32_t max_blocks_;
  std::mutex mutex_;
  std::vector<std::uint32_t> free_;
  std::uint32_t used_ = 0;          // blocks that were given out at least once
  std::optional<Descriptor> file_;  // not ok(): there is none to be had
};

}  // namespace podctl

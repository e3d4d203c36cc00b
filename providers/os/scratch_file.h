// Room on disk for what is not wanted in memory: one file without a name, cut into blocks that are
// given out, taken back and given out again. It goes with the process, however that ends.
//
// Lies in $TMPDIR, else /var/tmp (which is on a disk where /tmp may be memory), else /tmp, readable
// by nobody else. Knows nothing of what is kept in it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace podctl {

class ScratchFile {
 public:
  static constexpr std::size_t kBlock = std::size_t{64} * 1024;  // bytes

  // The file is made when the first block is asked for. `max_blocks` is never exceeded.
  explicit ScratchFile(std::uint32_t max_blocks) : max_blocks_(max_blocks) {}
  ~ScratchFile();
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
  std::uint32_t used_ = 0;  // blocks that were given out at least once
  int fd_ = -1;
  bool refused_ = false;
};

}  // namespace podctl

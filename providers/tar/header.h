// One block of a tar archive: the ustar header (POSIX.1-1988) with GNU tar's long names and its
// binary sizes. Knows nothing of files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "providers/base/error.h"

namespace podctl::tar {

inline constexpr std::size_t kBlock = 512;  // bytes; everything in an archive is padded to it

enum class Kind : char {
  kFile = '0',
  kFolder = '5',
  kLongName = 'L',  // GNU tar: the data is the name of the next entry
};

struct Header {
  std::string name;  // at most 100 bytes are in the block itself
  std::uint64_t size = 0;
  unsigned mode = 0;
  Kind kind = Kind::kFile;
};

// The header's block, and before it those of a long name. A size of 8 GiB and more is written as
// GNU tar does.
std::string HeaderBlocks(const Header& header);
// What follows `size` bytes of data up to the next block.
std::uint64_t Padding(std::uint64_t size);
// The end of an archive.
std::string EndBlocks();

// Reads one block of kBlock bytes. An empty name: the end of the archive. kInvalidArgument when
// its checksum is wrong, or for a kind that Kind does not know.
Result<Header> ReadHeader(std::string_view block);

}  // namespace podctl::tar

#include "providers/tar/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>

#include "providers/base/text.h"

namespace podctl::tar {
namespace {

// The fields of a ustar header: where they begin, and how long they are.
constexpr std::size_t kName = 0;
constexpr std::size_t kNameLength = 100;
constexpr std::size_t kMode = 100;
constexpr std::size_t kSize = 124;
constexpr std::size_t kSizeLength = 12;
constexpr std::size_t kChecksum = 148;
constexpr std::size_t kChecksumLength = 8;
constexpr std::size_t kKind = 156;
constexpr std::size_t kMagic = 257;
constexpr std::size_t kPrefix = 345;
constexpr std::size_t kPrefixLength = 155;

constexpr std::uint64_t kLargestOctal = 077777777777;  // 8 GiB less one
constexpr unsigned kModeBits = 07777;

unsigned Checksum(std::string_view block) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    // It counts as blanks while it is summed up.
    const bool own = i >= kChecksum && i < kChecksum + kChecksumLength;
    sum += own ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

std::string Block(const Header& header) {
  std::array<char, kBlock> block{};
  const auto put = [&block](std::size_t at, std::string_view text) {
    std::memcpy(block.data() + at, text.data(), text.size());
  };
  put(kName, std::string_view(header.name).substr(0, kNameLength));
  put(kMode, fmt::format("{:07o}", header.mode & kModeBits));
  put(108, "0000000");  // user
  put(116, "0000000");  // group
  if (header.size <= kLargestOctal) {
    put(kSize, fmt::format("{:011o}", header.size));
  } else {
    block[kSize] = static_cast<char>(0x80);  // a binary number follows
    for (std::size_t i = 0; i < sizeof(header.size); ++i) {
      block[kSize + kSizeLength - 1 - i] = static_cast<char>(header.size >> (8 * i));
    }
  }
  put(136, "00000000000");  // time
  block[kKind] = static_cast<char>(header.kind);
  put(kMagic, std::string_view("ustar\00000", 8));
  put(kChecksum, fmt::format("{:06o}", Checksum({block.data(), block.size()})));
  block[kChecksum + kChecksumLength - 1] = ' ';
  return {block.data(), block.size()};
}

// Text up to the first NUL.
std::string TextAt(std::string_view block, std::size_t at, std::size_t length) {
  const std::string_view field = block.substr(at, length);
  return std::string(field.substr(0, field.find('\0')));
}

std::optional<std::uint64_t> NumberAt(std::string_view block, std::size_t at, std::size_t length) {
  const std::string_view field = block.substr(at, length);
  std::uint64_t number = 0;
  if ((static_cast<unsigned char>(field[0]) & 0x80U) != 0) {
    for (const char c : field.substr(length - sizeof(number))) {
      number = number << 8U | static_cast<unsigned char>(c);
    }
    const std::string_view above = field.substr(1, length - sizeof(number) - 1);
    const bool fits = std::all_of(above.begin(), above.end(), [](char c) { return c == '\0'; });
    return fits && number <= INT64_MAX ? std::make_optional(number) : std::nullopt;
  }
  for (const char c : field.substr(std::min(length, field.find_first_not_of(' ')))) {
    if (c == ' ' || c == '\0') break;
    if (c < '0' || c > '7') return std::nullopt;
    number = number * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return number;
}

Error Broken(const std::string& why) {
  return MakeError(ErrorCode::kInvalidArgument, "this is no tar archive: " + why);
}

}  // namespace

std::uint64_t Padding(std::uint64_t size) {
  return (kBlock - size % kBlock) % kBlock;
}

std::string EndBlocks() {
  return std::string(2 * kBlock, '\0');
}

std::string HeaderBlocks(const Header& header) {
  if (header.name.size() <= kNameLength) return Block(header);
  std::string blocks = Block({"././@LongLink", header.name.size() + 1, 0, Kind::kLongName});
  blocks += header.name;
  blocks.push_back('\0');
  blocks.append(Padding(header.name.size() + 1), '\0');
  return blocks + Block(header);
}

Result<Header> ReadHeader(std::string_view block) {
  if (block.size() != kBlock) return Broken("a block is cut");
  if (block.find_first_not_of('\0') == std::string_view::npos) return Header{};
  const auto sum = NumberAt(block, kChecksum, kChecksumLength);
  if (!sum || *sum != Checksum(block)) return Broken("a checksum is wrong");
  Header header;
  header.name = TextAt(block, kName, kNameLength);
  // GNU's own format has other things there, and another magic.
  const bool ustar = block.substr(kMagic, 6) == std::string_view("ustar\0", 6);
  const std::string prefix = ustar ? TextAt(block, kPrefix, kPrefixLength) : "";
  if (!prefix.empty()) header.name = prefix + "/" + header.name;
  const auto size = NumberAt(block, kSize, kSizeLength);
  const auto mode = NumberAt(block, kMode, 8);
  if (!size || !mode) return Broken("a number is none");
  if (header.name.empty()) return Broken("a name is empty");
  header.size = *size;
  header.mode = static_cast<unsigned>(*mode) & kModeBits;
  switch (block[kKind]) {
    case '0':
    case '\0':  // what the first tars wrote
      header.kind = Kind::kFile;
      return header;
    case '5':
      header.kind = Kind::kFolder;
      return header;
    case 'L':
      header.kind = Kind::kLongName;
      return header;
    default:
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("it sends `{}`, which is neither a file nor a folder",
                                   VisibleControls(header.name)));
  }
}

}  // namespace podctl::tar

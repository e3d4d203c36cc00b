#include "providers/base/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>

namespace podctl {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib.h: the largest window, with gzip's header
constexpr int kMemoryLevel = 8;       // zlib.h: the default
constexpr std::size_t kPiece = std::size_t{64} * 1024;

Bytef* In(std::string_view bytes) {
  // zlib reads only.
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

}  // namespace

std::string Gzip(std::string_view text) {
  z_stream stream{};
  PODCTL_CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                            Z_DEFAULT_STRATEGY) == Z_OK);
  std::string bytes(deflateBound(&stream, text.size()), '\0');
  stream.next_in = In(text);
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  const int end = deflate(&stream, Z_FINISH);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  PODCTL_CHECK(end == Z_STREAM_END);
  return bytes;
}

Result<std::string> Gunzip(std::string_view bytes, std::size_t most) {
  z_stream stream{};
  PODCTL_CHECK(inflateInit2(&stream, kGzipWindow) == Z_OK);
  stream.next_in = In(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  std::array<char, kPiece> piece{};
  int state = Z_OK;
  while (state == Z_OK && text.size() <= most) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    state = inflate(&stream, Z_NO_FLUSH);
    text.append(piece.data(), piece.size() - stream.avail_out);
  }
  const bool whole = state == Z_STREAM_END && stream.avail_in == 0;
  inflateEnd(&stream);
  if (text.size() > most) {
    return MakeError(ErrorCode::kResourceExhausted,
                     fmt::format("gzip holds more than {} bytes", most));
  }
  if (!whole) return MakeError(ErrorCode::kDataLoss, "not gzip, cut or damaged");
  return text;
}

std::string ZlibVersion() {
  return zlibVersion();
}

}  // namespace podctl

#include "providers/emulator/service/checksums.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>

namespace podctl::emulator {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

using Md5State = std::array<std::uint32_t, 4>;

void Md5Block(std::string_view block, Md5State* state) {
  constexpr std::array<std::array<int, 4>, 4> kTurns = {
      {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};
  static const std::array<std::uint32_t, 64> kSines = [] {
    std::array<std::uint32_t, 64> sines{};
    for (std::size_t i = 0; i < 64; ++i) {
      sines[i] = static_cast<std::uint32_t>(
          std::floor(std::abs(std::sin(static_cast<double>(i + 1))) * 4294967296.0));
    }
    return sines;
  }();
  const auto word = [&](std::size_t k) {
    std::uint32_t value = 0;
    for (std::size_t byte = 4; byte-- > 0;) {
      value = (value << 8U) | static_cast<unsigned char>(block[4 * k + byte]);
    }
    return value;
  };
  auto [a, b, c, d] = *state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t round = i / 16;
    const std::array<std::uint32_t, 4> mixed = {(b & c) | (~b & d), (d & b) | (~d & c), b ^ c ^ d,
                                                c ^ (b | ~d)};
    const std::array<std::size_t, 4> at = {i, (5 * i + 1) % 16, (3 * i + 5) % 16, 7 * i % 16};
    const std::uint32_t sum = a + mixed[round] + kSines[i] + word(at[round]);
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, kTurns[round][i % 4]);
  }
  *state = {(*state)[0] + a, (*state)[1] + b, (*state)[2] + c, (*state)[3] + d};
}

}  // namespace

std::optional<std::string> Base64Bytes(std::string_view text) {
  static const std::array<signed char, 256> kValues = [] {
    std::array<signed char, 256> values{};
    values.fill(-1);
    for (std::size_t i = 0; i < kDigits.size(); ++i) {
      values[static_cast<unsigned char>(kDigits[i])] = static_cast<signed char>(i);
    }
    values['-'] = values['+'];
    values['_'] = values['/'];
    return values;
  }();
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  unsigned buffer = 0;
  int bits = 0;
  for (const char c : text) {
    const signed char value = kValues[static_cast<unsigned char>(c)];
    if (value < 0) return std::nullopt;
    buffer = (buffer << 6U) | static_cast<unsigned>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>((buffer >> static_cast<unsigned>(bits)) & 0xFFU);
  }
  return bytes;
}

std::string Base64Text(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group =
          (group << 8U) | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      const bool is_padding = i + k > bytes.size();
      text += is_padding ? '=' : kDigits[(group >> (18U - 6U * k)) & 63U];
    }
  }
  return text;
}

// By a table, from the polynomial as it is written.
std::uint32_t Crc32cOf(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> kTable = [] {
    constexpr std::uint32_t kPolynomial = 0x1EDC6F41;
    const auto mirror = [](std::uint32_t value, int width) {
      std::uint32_t mirrored = 0;
      for (int bit = 0; bit < width; ++bit) {
        mirrored |= ((value >> static_cast<unsigned>(bit)) & 1U)
                    << static_cast<unsigned>(width - 1 - bit);
      }
      return mirrored;
    };
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      std::uint32_t rest = mirror(byte, 8) << 24U;
      for (int bit = 0; bit < 8; ++bit) {
        rest = (rest << 1U) ^ ((rest >> 31U) != 0 ? kPolynomial : 0U);
      }
      table[byte] = mirror(rest, 32);
    }
    return table;
  }();
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : bytes) {
    crc = (crc >> 8U) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFFU];
  }
  return crc ^ 0xFFFFFFFFU;
}

std::string Crc32cText(std::string_view bytes) {
  const std::uint32_t crc = Crc32cOf(bytes);
  std::string big;
  for (unsigned shift = 32; shift > 0;) {
    shift -= 8;
    big += static_cast<char>((crc >> shift) & 0xFFU);
  }
  return Base64Text(big);
}

std::string Md5Text(std::string_view bytes) {
  constexpr std::size_t kBlock = 64;
  Md5State state = {0x67452301U, 0xEFCDAB89U, 0x98BADCFEU, 0x10325476U};
  const std::size_t whole = bytes.size() / kBlock * kBlock;
  for (std::size_t at = 0; at < whole; at += kBlock) Md5Block(bytes.substr(at, kBlock), &state);
  std::string end(bytes.substr(whole));
  end += '\x80';
  while (end.size() % kBlock != 56) end += '\0';
  for (unsigned shift = 0; shift < 64; shift += 8) {
    end += static_cast<char>(((bytes.size() * 8U) >> shift) & 0xFFU);
  }
  for (std::size_t at = 0; at < end.size(); at += kBlock) {
    Md5Block(std::string_view(end).substr(at, kBlock), &state);
  }
  std::string sum;
  for (const std::uint32_t word : state) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      sum += static_cast<char>((word >> shift) & 0xFFU);
    }
  }
  return Base64Text(sum);
}

}  // namespace podctl::emulator

// Commands that a light worker answers without starting a process, so that thousands of workers can
// be asked at once: exactly what /bin/sh would have answered, or nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace podctl::emulator {

struct InlineAnswer {
  std::string text;  // repeated until `size` bytes have come
  std::uint64_t size = 0;
};

// `true`, `hostname`, `echo WORDS` and `yes WORD | head -c BYTES`, of plain words: letters, digits
// and _-.,:/@%+=. All of them succeed.
std::optional<InlineAnswer> AnswerInline(std::string_view command, std::string_view hostname);

}  // namespace podctl::emulator

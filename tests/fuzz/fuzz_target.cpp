#include "tests/fuzz/fuzz_target.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/value.h"

namespace podctl::fuzz {
namespace {

constexpr std::size_t kLongestMessage = 64u << 10;

bool IsOneLine(std::string_view line) {
  // What VisibleControls changes is a control character; tabs stay.
  return VisibleControls(line) == line;
}

}  // namespace

void Expect(bool kept, std::string_view promise, std::string_view text) {
  if (kept) return;
  const std::string shown = ToJson(Value(text.substr(0, 4000)));
  std::fprintf(stderr, "broken promise: %.*s\n  %s\n", static_cast<int>(promise.size()),
               promise.data(), shown.c_str());
  std::abort();
}

void ExpectShowable(std::string_view text, Shape shape) {
  if (shape == Shape::kOneLine) {
    Expect(text.size() <= kLongestMessage, "a message is no longer than people read", text);
  }
  std::string_view rest = text;
  while (shape == Shape::kLines && rest.find('\n') != std::string_view::npos) {
    const std::size_t end = rest.find('\n');
    Expect(IsOneLine(rest.substr(0, end)), "a message holds no control characters", text);
    rest.remove_prefix(end + 1);
  }
  Expect(IsOneLine(rest), "a message holds no control characters", text);
}

void ExpectShowable(const Error& error) {
  Expect(!error.message.empty(), "an error says what went wrong");
  ExpectShowable(error.message);
  ExpectShowable(error.hint);
}

}  // namespace podctl::fuzz

// JSON text: the state, saved plans and every answer of the API begin here.
#include "providers/base/json.h"

#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using podctl::fuzz::Expect;
  const auto read = podctl::ParseJson(podctl::fuzz::TextOf(data, size));
  if (!read) {
    podctl::fuzz::ExpectShowable(read.error());
    return 0;
  }
  for (const auto style : {podctl::JsonStyle::kCompact, podctl::JsonStyle::kIndented}) {
    const std::string written = podctl::ToJson(*read, style);
    const auto again = podctl::ParseJson(written);
    Expect(again.has_value(), "what is written can be read", written);
    Expect(*again == *read, "a value is read back equal", written);
  }
  return 0;
}

// What workers are asked for in most parts, and what then has to come back.
#pragma once

#include <string>

#include "tests/bench/fanout/client.h"

namespace podctl::bench {

// What every worker answers.
inline constexpr const char* kToken = "podctl-bench-ok";
inline constexpr const char* kAsk = "echo podctl-bench-ok";

// Just so many answers, and success.
inline Expected Answers(int workers) {
  Expected expected;
  expected.token = kToken;
  expected.tokens = static_cast<std::uint64_t>(workers);
  return expected;
}

}  // namespace podctl::bench

// Cases that take long, and whose kind shorter ones show, too: left to `./dev test --all`, and
// named where they are left out.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

// First of all in a case. `seconds`: measured in the whole suite, four programs at once on two
// cores.
#define PODCTL_LONG_CASE(seconds)                                            \
  do {                                                                       \
    if (std::getenv("PODCTL_TEST_ALL") == nullptr) {                         \
      GTEST_SKIP() << "it takes " #seconds " s: only with ./dev test --all"; \
    }                                                                        \
  } while (false)

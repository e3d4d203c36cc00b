#include <cstdlib>

#include "tests/conformance/rough_network_suite.h"
#include "tests/providers/ssh/transports_under_test.h"

#ifdef __SANITIZE_ADDRESS__
// libssh2 forgets to free the host key when a key exchange is cut behind it (seen with 1.10). To
// know such a leak by its library, all of the stack has to be known.
extern "C" const char* __asan_default_options() {  // NOLINT: the sanitizer's name
  return "fast_unwind_on_malloc=0";
}
extern "C" const char* __lsan_default_suppressions() {  // NOLINT: likewise
  return "leak:libssh2.so\n";
}
#endif

namespace podctl::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(FanOut, RoughNetworkSuite, ::testing::Values(&Make<OwnFanOut>));
INSTANTIATE_TEST_SUITE_P(OpenSsh, RoughNetworkSuite, ::testing::Values(&Make<OwnOpenSsh>));

// Every byte of a session, in both directions; under the sanitizers, which make a minute's work of
// each thousand, every fifth.
TEST(CutLineTest, FanOutSurvivesACutAtEveryByte) {
#ifdef __SANITIZE_ADDRESS__
  constexpr std::size_t kStep = 5;
#else
  constexpr std::size_t kStep = 1;
#endif
  const RudeSshServer server;
  OwnFanOut fan_out;
  CheckCuts(fan_out, server, kStep);
}

// A process for each cut: a few of them, or all with ./dev test --all.
TEST(CutLineTest, OpenSshSurvivesCuts) {
  const RudeSshServer server;
  OwnOpenSsh openssh;
  CheckCuts(openssh, server, std::getenv("PODCTL_TEST_ALL") != nullptr ? 1 : 131);
}

}  // namespace
}  // namespace podctl::testing

#include "providers/ssh/openssh/openssh_transport.h"

#include <gtest/gtest.h>

#include "tests/conformance/ssh_ending_suite.h"
#include "tests/conformance/ssh_transport_suite.h"
#include "tests/providers/ssh/transports_under_test.h"

namespace podctl::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(OpenSsh, SshTransportSuite, ::testing::Values(&Make<OwnOpenSsh>));

}  // namespace
}  // namespace podctl::testing

// The store over real sockets, against the strict double of GitLab and Gitea.
#include "providers/http/curl_transport.h"
#include "tests/conformance/state_store_suite.h"
#include "tests/state/stores/http/http_bench.h"

namespace podctl::testing {
namespace {

class WireBench final : public StoreBench {
 public:
  explicit WireBench(StateServer::Kind kind) : world_(kind), port_(world_.server) {}

  std::unique_ptr<StateStore> Open() override {
    return world_.Open(transport_, world_.Place(port_.url()));
  }
  std::optional<std::string> Stored() override { return world_.server.Stored(); }
  void Overwrite(const std::string& bytes) override { world_.server.Overwrite(bytes); }
  FakeClock& clock() override { return world_.clock; }

 private:
  HttpWorld world_;
  StateServerOnPort port_;
  http::CurlTransport transport_{"podctl-test"};
};

INSTANTIATE_TEST_SUITE_P(OnGitLab, StateStoreSuite, ::testing::Values([] {
                           return std::make_unique<WireBench>(StateServer::Kind::kGitLab);
                         }));
INSTANTIATE_TEST_SUITE_P(OnGitea, StateStoreSuite, ::testing::Values([] {
                           return std::make_unique<WireBench>(StateServer::Kind::kGitea);
                         }));

}  // namespace
}  // namespace podctl::testing

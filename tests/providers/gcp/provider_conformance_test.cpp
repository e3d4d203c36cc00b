// The client against the emulator: two programs that share no code but the JSON reader and agree
// only where both follow the API.
#include "providers/emulator/emulator.h"
#include "providers/gcp/tpu_provider.h"
#include "providers/http/curl_transport.h"
#include "tests/conformance/provider_suite.h"
#include "tests/providers/gcp/fake_gcloud.h"

namespace podctl::testing {
namespace {

class EmulatedCloud final : public ProviderUnderTest {
 public:
  explicit EmulatedCloud(std::unique_ptr<emulator::Emulator> emulator)
      : emulator_(std::move(emulator)),
        provider_(*gcp::ParseEndpoint(emulator_->url()), transport_, credentials_, clock_,
                  random_) {}
  Provider& provider() override { return provider_; }
  Clock& clock() override { return clock_; }

 private:
  std::unique_ptr<emulator::Emulator> emulator_;
  RealClock clock_;
  RealRandom random_;
  RealFileSystem files_;
  FixedEnvironment environment_{{}};
  FakeGcloud gcloud_;
  http::CurlTransport transport_{"podctl-test"};
  gcp::Credentials credentials_{{environment_, files_, gcloud_, transport_, clock_, random_}};
  gcp::TpuProvider provider_;
};

INSTANTIATE_TEST_SUITE_P(
    Emulator, ProviderSuite,
    ::testing::Values(ProviderFactory([]() -> std::unique_ptr<ProviderUnderTest> {
      emulator::Options options;
      options.listen_port = 0;
      options.workers = emulator::Options::Workers::kNone;
      options.operation_delay = std::chrono::milliseconds(20);
      auto emulator = emulator::Emulator::Start(options);
      if (!emulator) {
        ADD_FAILURE() << emulator.error().message;
        return nullptr;
      }
      return std::make_unique<EmulatedCloud>(*std::move(emulator));
    })));

}  // namespace
}  // namespace podctl::testing

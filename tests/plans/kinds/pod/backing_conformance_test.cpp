// What provides pods, against the emulator.
#include <algorithm>

#include "plans/kinds/pod/backings/queued.h"
#include "providers/base/json.h"
#include "providers/emulator/emulator.h"
#include "providers/gcp/queued_resource.h"
#include "providers/gcp/tpu_provider.h"
#include "providers/http/curl_transport.h"
#include "providers/http/retry.h"
#include "providers/slices.h"
#include "tests/conformance/backing_suite.h"
#include "tests/providers/gcp/fake_gcloud.h"

#ifdef __SANITIZE_ADDRESS__
// A run that is dropped in the middle leaves its loop behind, since a call may still hang in it.
extern "C" const char* __lsan_default_suppressions() {  // NOLINT: the sanitizer's name
  return "leak:podctl::Execute\n";
}
#endif

namespace podctl::testing {
namespace {

// Tells of each answer.
class Telling final : public http::Transport {
 public:
  explicit Telling(const std::function<void()>& tell) : tell_(tell) {}
  Result<http::Response> Send(const http::Request& request, std::stop_token stop) override {
    auto answer = transport_.Send(request, std::move(stop));
    if (tell_) tell_();
    return answer;
  }

 private:
  const std::function<void()>& tell_;
  http::CurlTransport transport_{"podctl-test"};
};

class EmulatedCloud : public BackedCloud {
 public:
  EmulatedCloud(std::unique_ptr<emulator::Emulator> emulator, Clock& clock, Random& random)
      : emulator_(std::move(emulator)),
        credentials_({environment_, files_, gcloud_, transport_, clock, random}),
        client_(*gcp::ParseEndpoint(emulator_->url()), transport_, credentials_, clock, random) {}

  Provider& provider() override { return provider_; }

  std::vector<std::string> Objects() override {
    std::vector<std::string> names;
    for (const auto& listed : {provider_.ListNodes("p", kZone, {}), queue().List("p", kZone, {})}) {
      EXPECT_TRUE(listed.has_value()) << listed.error().message;
      if (!listed) continue;
      for (const Value& object : *listed) names.push_back(object["name"].AsString());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  void LoseReplyOfCreate() override {
    Faults("POST", fmt::format(R"({{"call": "{}", "times": {}, "drop": "after"}})", create_call(),
                               create_sends()));
  }
  bool LostReply() override { return Faults("GET", "")["faults"].AsList().empty(); }

 protected:
  static constexpr const char* kZone = "europe-west4-a";

  virtual std::string create_call() const = 0;
  virtual int create_sends() const = 0;  // how often the client sends it before it gives up
  QueuedResources& queue() { return *provider_.queued(); }
  static NodeName Node() { return {"p", kZone, "a"}; }
  static Value Body() {
    Value node;
    node.Set("acceleratorType", "v3-32");
    node.Set("runtimeVersion", "tpu-vm-tf-2.11.0-pod");
    return node;
  }
  // Looks until `started` is over; the emulator does not let anybody wait.
  void Await(const Result<Operation>& started) {
    ASSERT_TRUE(started.has_value()) << started.error().message;
    while (true) {
      const auto now = provider_.GetOperation(started->name, {});
      ASSERT_TRUE(now.has_value()) << now.error().message;
      if (now->done) break;
    }
  }

 private:
  Value Faults(const std::string& method, const std::string& body) {
    http::Request request;
    request.method = method;
    request.url = emulator_->url() + "/emulator/faults";
    request.headers = {{"Content-Type", "application/json"}};
    request.body = body;
    const auto answer = transport_.Send(request, {});
    EXPECT_TRUE(answer && answer->status == 200) << (answer ? answer->body : "");
    return answer ? ParseJson(answer->body).value_or(Value()) : Value();
  }

  std::unique_ptr<emulator::Emulator> emulator_;
  RealFileSystem files_;
  FixedEnvironment environment_{{}};
  FakeGcloud gcloud_;
  Telling transport_{on_answer};
  gcp::Credentials credentials_;
  gcp::TpuProvider client_;
  SlicedProvider provider_{client_};
};

class NodeCloud final : public EmulatedCloud {
 public:
  using EmulatedCloud::EmulatedCloud;
  std::string keys() const override { return {}; }
  std::vector<std::string> Whole() const override { return {Node().Resource()}; }
  void MakeByHand() override { Await(provider().CreateNode(Node(), Body(), "", {})); }
  void DeleteByHand() override { Await(provider().DeleteNode(Node(), "", {})); }

 private:
  std::string create_call() const override { return "nodes.create"; }
  int create_sends() const override { return 1; }
};

class QueuedCloud final : public EmulatedCloud {
 public:
  using EmulatedCloud::EmulatedCloud;
  std::string keys() const override { return "    queuedResource: {spot: true}\n"; }
  std::vector<std::string> Whole() const override {
    return {Node().Resource(), Queued().Resource()};
  }
  // Of a node with another name, so that it is the queued resource that is in the way.
  void MakeByHand() override {
    const NodeName other{"p", kZone, "b"};
    Await(queue().Create(
        Queued(),
        gcp::QueuedBody(*ParseJson(R"({"spot": true})"), other, Body(), 1, ApiVersion::kV2),
        "10000000-0000-4000-8000-000000000000", {}));
    while (!provider().GetNode(other, {})) continue;
  }
  void DeleteByHand() override {
    Await(queue().Delete(Queued(), true, "10000000-0000-4000-8000-000000000001", {}));
  }

 private:
  static QueuedName Queued() { return {"p", kZone, "a"}; }
  std::string create_call() const override { return "queuedResources.create"; }
  int create_sends() const override { return http::RetryPolicy{}.attempts; }
};

template <typename Cloud>
std::unique_ptr<BackedCloud> Start(const CloudRequest& request, Clock& clock, Random& random) {
  emulator::Options options;
  options.listen_port = 0;
  options.workers =
      request.workers ? emulator::Options::Workers::kLight : emulator::Options::Workers::kNone;
  options.operation_delay = std::chrono::milliseconds(request.slow ? 40 : 0);
  auto emulator = emulator::Emulator::Start(options);
  if (!emulator) {
    ADD_FAILURE() << emulator.error().message;
    return nullptr;
  }
  return std::make_unique<Cloud>(*std::move(emulator), clock, random);
}

INSTANTIATE_TEST_SUITE_P(Node, BackingSuite, ::testing::Values(Start<NodeCloud>));
INSTANTIATE_TEST_SUITE_P(Queued, BackingSuite, ::testing::Values(Start<QueuedCloud>));

}  // namespace
}  // namespace podctl::testing

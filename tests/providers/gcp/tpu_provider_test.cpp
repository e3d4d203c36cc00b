// What TpuProvider puts on the wire and how it reads answers, over a scripted transport.
#include "providers/gcp/tpu_provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "providers/base/json.h"
#include "providers/base/redactor.h"
#include "tests/providers/gcp/fake_gcloud.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_transport.h"

namespace podctl::gcp {
namespace {

using ::testing::ElementsAre;
using testing::FakeClock;
using testing::FakeGcloud;
using testing::FakeRandom;
using testing::FakeTransport;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kOperation = R"({"name":"projects/p/locations/europe-west4-a/operations/o"})";
const NodeName kNode{"p", "europe-west4-a", "n"};
constexpr const char* kThere = R"({"name":"projects/p/locations/europe-west4-a/nodes/n"})";

class TpuProviderTest : public ::testing::Test {
 protected:
  TpuProvider Make(const std::string& endpoint = "https://tpu.googleapis.com/") {
    return TpuProvider(*ParseEndpoint(endpoint), transport_, credentials_, clock_, random_);
  }
  http::Request Sent(std::size_t k = 0) const { return transport_.requests().at(k); }
  std::size_t SentCount() const { return transport_.requests().size(); }

  FixedEnvironment environment_{{{"NO_GCE_CHECK", "true"}}};
  RealFileSystem files_;
  FakeGcloud gcloud_;
  FakeTransport transport_;
  FakeClock clock_;
  FakeRandom random_;
  Credentials credentials_{{environment_, files_, gcloud_, transport_, clock_, random_}};
};

class LoopbackProviderTest : public TpuProviderTest {
 protected:
  TpuProvider provider_ = Make("http://127.0.0.1:8470");
};

TEST_F(TpuProviderTest, SendsATokenOverHttps) {
  gcloud_.Print("ya29.token");
  transport_.Then(200, kThere);
  EXPECT_TRUE(Make().GetNode(kNode, {}).has_value());
  EXPECT_EQ(Sent().url,
            "https://tpu.googleapis.com/v2/projects/p/locations/europe-west4-a/nodes/n?alt=json");
  EXPECT_EQ(transport_.Header(0, "Authorization"), "Bearer ya29.token");
}

TEST_F(LoopbackProviderTest, AsksWhatAZoneHas) {
  CatalogueEntry entry{CatalogueEntry::What::kRuntimeVersion, "p", "z", "tpu-x", ApiVersion::kV2};
  transport_.Then(200, R"({"name":"projects/p/locations/z/runtimeVersions/tpu-x"})")
      .Then(404, R"({"error":{"code":404,"status":"NOT_FOUND","message":"none"}})")
      .Then(403, R"({"error":{"code":403,"status":"PERMISSION_DENIED","message":"not you"}})")
      .Then(200, R"({"runtimeVersions":[{"name":"projects/p/locations/z/runtimeVersions/b"},
                                        {"name":"projects/p/locations/z/runtimeVersions/a"}]})");
  EXPECT_TRUE(*provider_.Has(entry, {}));
  EXPECT_THAT(Sent().url, HasSubstr("/v2/projects/p/locations/z/runtimeVersions/tpu-x?"));
  entry.what = CatalogueEntry::What::kAcceleratorType;
  entry.version = ApiVersion::kV2Alpha1;
  EXPECT_FALSE(*provider_.Has(entry, {}));
  EXPECT_THAT(Sent(1).url, HasSubstr("/v2alpha1/projects/p/locations/z/acceleratorTypes/tpu-x?"));
  EXPECT_EQ(provider_.Has(entry, {}).error().code, ErrorCode::kPermissionDenied);
  entry.what = CatalogueEntry::What::kRuntimeVersion;
  EXPECT_THAT(*provider_.AllLike(entry, {}), ElementsAre("a", "b"));
}

TEST_F(TpuProviderTest, ATokenThatTheServiceRepeatsIsNotShown) {
  gcloud_.Print("ya29.token");
  transport_.Then(403,
                  R"({"error":{"code":403,"message":"bad token Bearer ya29.token, ya29.token"}})");
  EXPECT_EQ(Make().GetNode(kNode, {}).error().message, "bad token Bearer (token), (token)");
}

TEST_F(LoopbackProviderTest, ASensitiveValueThatTheServiceRepeatsIsNotShown) {
  HideInErrors("line \"one\"\ntwo\n");
  HideInErrors("hf_secret");
  HideInErrors("hf_secret_longer");
  HideInErrors("abc");
  HideInErrors("-----BEGIN\nMIIEvQIBADANBg\nshort\n");
  transport_
      .Then(400, R"({"error":{"code":400,"status":"INVALID_ARGUMENT","message":
          "bad metadata hf_secret, hf_secret_longer, abc, MIIEvQIBADANBg, -----BEGIN MIIEvQIBADANBg short, short, line \\\"one\\\"\\ntwo, line \"one\"\ntwo","details":[
          {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[
          {"field":"metadata","description":"hf_secret is bad"}]}]}})")
      .Then(200, R"({"name":"projects/p/locations/europe-west4-a/operations/o","done":true,
          "error":{"code":3,"message":"no hf_secret here"}})");
  const Error error = provider_.PatchNode(kNode, Value::EmptyMap(), {"labels"}, {}).error();
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message,
              HasSubstr("bad metadata (sensitive value), (sensitive value), abc, (sensitive "
                        "value), (sensitive value), short, "));
  EXPECT_THAT(error.message, Not(HasSubstr("one")));
  EXPECT_THAT(error.message, Not(HasSubstr("hf_secret")));
  const auto operation =
      provider_.GetOperation("projects/p/locations/europe-west4-a/operations/o", {});
  ASSERT_TRUE(operation);
  EXPECT_EQ(operation->error.front().message, "no (sensitive value) here");
}

TEST_F(TpuProviderTest, NeverSendsATokenOverPlainHttpElsewhere) {
  gcloud_.Print("ya29.token");
  for (const char* endpoint : {"http://tpu.googleapis.com/", "http://localhost.evil.com/"}) {
    const auto node = Make(endpoint).GetNode(kNode, {});
    ASSERT_FALSE(node.has_value());
    EXPECT_EQ(node.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_THAT(node.error().message, Not(HasSubstr("ya29")));
  }
  EXPECT_EQ(SentCount(), 0U);
  EXPECT_EQ(gcloud_.runs(), 0);
}

TEST_F(TpuProviderTest, NeedsNoTokenOnLoopbackAndDoesNotAskGcloud) {
  transport_.Then(200, kThere);
  EXPECT_TRUE(Make("http://localhost:8470/").GetNode(kNode, {}).has_value());
  EXPECT_EQ(transport_.Header(0, "Authorization"), "");
  EXPECT_EQ(gcloud_.runs(), 0);
}

TEST_F(TpuProviderTest, NamesTheProjectWhoseQuotaIsUsed) {
  environment_ = FixedEnvironment({{"NO_GCE_CHECK", "true"}, {"GOOGLE_CLOUD_QUOTA_PROJECT", "q"}});
  gcloud_.Print("ya29.token");
  transport_.Then(200, kThere);
  EXPECT_TRUE(Make().GetNode(kNode, {}).has_value());
  EXPECT_EQ(transport_.Header(0, "x-goog-user-project"), "q");
  EXPECT_TRUE(Make("http://127.0.0.1:8470/").GetNode(kNode, {}).has_value());
  EXPECT_EQ(transport_.Header(1, "x-goog-user-project"), "q");
}

TEST_F(TpuProviderTest, NamesNoQuotaProjectWhereThereIsNone) {
  gcloud_.Print("ya29.token");
  transport_.Then(200, kThere);
  EXPECT_TRUE(Make().GetNode(kNode, {}).has_value());
  for (const auto& [name, value] : Sent().headers) EXPECT_NE(name, "x-goog-user-project");
}

TEST_F(TpuProviderTest, SaysHowToLogInBeforeSendingAnything) {
  const auto node = Make().GetNode(kNode, {});
  ASSERT_FALSE(node.has_value());
  EXPECT_EQ(node.error().code, ErrorCode::kUnauthenticated);
  EXPECT_EQ(SentCount(), 0U);
}

TEST_F(TpuProviderTest, RenewsARefusedTokenOnce) {
  gcloud_.Print("old");
  gcloud_.Print("new");
  transport_.Then(401, R"({"error":{"code":401,"status":"UNAUTHENTICATED","message":"expired"}})");
  transport_.Then(200, kOperation);
  EXPECT_TRUE(Make().CreateNode(kNode, Value::EmptyMap(), "", {}).has_value());
  ASSERT_EQ(SentCount(), 2U);
  EXPECT_EQ(transport_.Header(0, "Authorization"), "Bearer old");
  EXPECT_EQ(transport_.Header(1, "Authorization"), "Bearer new");
}

TEST_F(TpuProviderTest, DoesNotAskForEverWithARefusedToken) {
  gcloud_.Print("old");
  gcloud_.Print("new");
  transport_.Then(401, R"({"error":{"code":401,"status":"UNAUTHENTICATED","message":"no good"}})");
  const auto node = Make().GetNode(kNode, {});
  ASSERT_FALSE(node.has_value());
  EXPECT_EQ(node.error().code, ErrorCode::kUnauthenticated);
  EXPECT_EQ(node.error().message, "no good");
  EXPECT_THAT(node.error().hint, HasSubstr("gcloud auth login"));
  EXPECT_EQ(SentCount(), 2U);
}

TEST_F(LoopbackProviderTest, EncodesEveryNameAsOnePart) {
  transport_.Then(200, R"({"name":"projects/p/q/locations/z?/nodes/n/../%41 #"})");
  EXPECT_TRUE(provider_.GetNode({"p/q", "z?", "n/../%41 #"}, {}).has_value());
  EXPECT_EQ(
      Sent().url,
      "http://127.0.0.1:8470/v2/projects/p%2Fq/locations/z%3F/nodes/n%2F..%2F%2541%20%23?alt=json");
}

TEST_F(LoopbackProviderTest, SpeaksEitherVersionThroughout) {
  transport_.Then([](const http::Request& request) -> Result<http::Response> {
    const bool looks = request.method == "GET" && request.url.find("/nodes/") != std::string::npos;
    return http::Response{200, {}, looks ? kThere : kOperation};
  });
  Provider& alpha = provider_.InVersion(ApiVersion::kV2Alpha1);
  EXPECT_TRUE(alpha.GetNode(kNode, {}).has_value());
  EXPECT_TRUE(alpha.CreateNode(kNode, Value::EmptyMap(), "", {}).has_value());
  EXPECT_TRUE(alpha.PatchNode(kNode, Value::EmptyMap(), {"labels"}, {}).has_value());
  EXPECT_TRUE(alpha.DeleteNode(kNode, "", {}).has_value());
  EXPECT_TRUE(alpha.StopNode(kNode, {}).has_value());
  EXPECT_TRUE(
      alpha.GetOperation("projects/p/locations/europe-west4-a/operations/o", {}).has_value());
  EXPECT_TRUE(alpha.GetGuestAttributes(kNode, "", {}).has_value());
  for (const http::Request& request : transport_.requests()) {
    EXPECT_THAT(request.url, HasSubstr("8470/v2alpha1/projects/p/locations/"));
  }
  const std::size_t sent = SentCount();
  EXPECT_TRUE(alpha.InVersion(ApiVersion::kV2).GetNode(kNode, {}).has_value());
  EXPECT_THAT(Sent(sent).url, HasSubstr("8470/v2/projects/p/locations/"));
  EXPECT_EQ(&alpha.InVersion(ApiVersion::kV2Alpha1), &alpha);
}

TEST_F(LoopbackProviderTest, SendsARequestIdWhereThereIsOne) {
  transport_.Then(200, kOperation);
  EXPECT_TRUE(provider_.CreateNode(kNode, Value::EmptyMap(), "some-uuid", {}).has_value());
  EXPECT_THAT(Sent(0).url, ::testing::EndsWith("/nodes?alt=json&nodeId=n&requestId=some-uuid"));
  EXPECT_TRUE(provider_.DeleteNode(kNode, "some-uuid", {}).has_value());
  EXPECT_THAT(Sent(1).url, ::testing::EndsWith("/nodes/n?alt=json&requestId=some-uuid"));
}

TEST_F(LoopbackProviderTest, RepeatsACreateThatTheServiceKnowsByItsId) {
  transport_.Then(503, "{}").Then(200, kOperation);
  EXPECT_TRUE(provider_.CreateNode(kNode, Value::EmptyMap(), "some-uuid", {}).has_value());
  ASSERT_EQ(SentCount(), 2U);
  EXPECT_EQ(Sent(0).url, Sent(1).url);
}

TEST_F(LoopbackProviderTest, StopsAndStartsWithAnEmptyMessage) {
  transport_.Then(200, kOperation);
  EXPECT_TRUE(provider_.StopNode(kNode, {}).has_value());
  EXPECT_TRUE(provider_.StartNode(kNode, {}).has_value());
  EXPECT_THAT(Sent(0).url, ::testing::EndsWith("/nodes/n:stop?alt=json"));
  EXPECT_THAT(Sent(1).url, ::testing::EndsWith("/nodes/n:start?alt=json"));
  for (int k : {0, 1}) {
    EXPECT_EQ(Sent(static_cast<std::size_t>(k)).method, "POST");
    EXPECT_EQ(Sent(static_cast<std::size_t>(k)).body, "{}");
  }
}

TEST_F(LoopbackProviderTest, AStopIsSentOnceAndLeftOpenWhenItsAnswerIsLost) {
  transport_.Then(503, "{}");
  EXPECT_EQ(provider_.StopNode(kNode, {}).error().code, ErrorCode::kReplyLost);
  EXPECT_EQ(SentCount(), 1U);
}

TEST_F(LoopbackProviderTest, ListsWhatAZoneCataloguePageByPage) {
  transport_.Then(200, R"({"acceleratorTypes":[{"type":"v3-8"}],"nextPageToken":"t"})")
      .Then(200, R"({"acceleratorTypes":[{"type":"v3-32"}]})")
      .Then(200, R"({"runtimeVersions":[{"version":"tpu-ubuntu2204-base"}]})");
  const auto types = provider_.ListAcceleratorTypes("p", "z", {});
  ASSERT_TRUE(types.has_value());
  ASSERT_EQ(types->size(), 2U);
  EXPECT_EQ(types->at(1)["type"].AsString(), "v3-32");
  EXPECT_THAT(Sent(1).url, HasSubstr("/v2/projects/p/locations/z/acceleratorTypes?"));
  EXPECT_THAT(Sent(1).url, HasSubstr("pageToken=t"));
  const auto versions = provider_.ListRuntimeVersions("p", "z", {});
  ASSERT_TRUE(versions.has_value());
  EXPECT_EQ(versions->at(0)["version"].AsString(), "tpu-ubuntu2204-base");
}

TEST_F(LoopbackProviderTest, RefusesEmptyNames) {
  for (const NodeName& name :
       {NodeName{"", "z", "n"}, NodeName{"p", "", "n"}, NodeName{"p", "z", ""}}) {
    EXPECT_EQ(provider_.GetNode(name, {}).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(provider_.DeleteNode(name, "", {}).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(provider_.CreateNode(name, {}, "", {}).error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(provider_.ListNodes("p", "", {}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(SentCount(), 0U);
}

TEST_F(LoopbackProviderTest, CreatesWithTheNodeAsTheBody) {
  transport_.Then(200, kOperation);
  Value node;
  node.Set("acceleratorType", "v3-32");
  const auto operation = provider_.CreateNode(kNode, node, "", {});
  ASSERT_TRUE(operation.has_value());
  EXPECT_EQ(operation->name, "projects/p/locations/europe-west4-a/operations/o");
  EXPECT_FALSE(operation->done);
  EXPECT_EQ(Sent().method, "POST");
  EXPECT_EQ(Sent().url,
            "http://127.0.0.1:8470/v2/projects/p/locations/europe-west4-a/nodes?alt=json&nodeId=n");
  EXPECT_EQ(Sent().body, R"({"acceleratorType":"v3-32"})");
  EXPECT_EQ(transport_.Header(0, "Content-Type"), "application/json");
}

// Whatever leaves open whether the node now exists must not be sent again, and must be told.
TEST_F(LoopbackProviderTest, ACreateInDoubtIsToldAndNotRepeated) {
  const std::vector<std::function<void(FakeTransport&)>> doubts = {
      [](FakeTransport& t) { t.Then(ErrorCode::kReplyLost); },
      [](FakeTransport& t) { t.Then(500); },
      [](FakeTransport& t) { t.Then(502, "<html>"); },
      [](FakeTransport& t) { t.Then(503); },
      [](FakeTransport& t) { t.Then(504); },
      [](FakeTransport& t) { t.Then(408); },
      [](FakeTransport& t) { t.Then(200, ""); },
      [](FakeTransport& t) { t.Then(200, "<html>"); },
      [](FakeTransport& t) { t.Then(200, "{}"); },
  };
  for (std::size_t i = 0; i < doubts.size(); ++i) {
    FakeTransport transport;
    doubts[i](transport);
    TpuProvider provider(*ParseEndpoint("http://127.0.0.1:1"), transport, credentials_, clock_,
                         random_);
    const auto operation = provider.CreateNode(kNode, Value::EmptyMap(), "", {});
    ASSERT_FALSE(operation.has_value()) << i;
    EXPECT_EQ(operation.error().code, ErrorCode::kReplyLost) << i;
    EXPECT_EQ(transport.requests().size(), 1U) << i;
  }
}

TEST_F(LoopbackProviderTest, ACreateThatWasRefusedIsNoDoubt) {
  transport_.Then(409, R"({"error":{"code":409,"status":"ALREADY_EXISTS","message":"exists"}})");
  EXPECT_EQ(provider_.CreateNode(kNode, {}, "", {}).error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(SentCount(), 1U);
}

TEST_F(LoopbackProviderTest, ACreateIsSentAgainWhenTheServerNeverSawIt) {
  transport_.Then(ErrorCode::kUnavailable).Then(429, "").Then(200, kOperation);
  EXPECT_TRUE(provider_.CreateNode(kNode, {}, "", {}).has_value());
  EXPECT_EQ(SentCount(), 3U);
}

TEST_F(LoopbackProviderTest, AUsedUpQuotaIsToldAtOnce) {
  transport_.Then(429, R"({"error":{"code":429,"status":"RESOURCE_EXHAUSTED",
      "message":"Quota limit 'x' has been exceeded. Limit: 0 in region us-east5."}})");
  EXPECT_EQ(provider_.CreateNode(kNode, {}, "", {}).error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(SentCount(), 1U);
}

TEST_F(LoopbackProviderTest, PatchesWithTheMaskInTheApisOwnForm) {
  transport_.Then(200, kOperation);
  Value node;
  node.SetPath("networkConfig.enableExternalIps", false);
  ASSERT_TRUE(
      provider_
          .PatchNode(kNode, node,
                     {"networkConfig.enableExternalIps", "data_disks", "dataDisks", "labels"}, {})
          .has_value());
  EXPECT_EQ(Sent().method, "PATCH");
  EXPECT_EQ(Sent().url,
            "http://127.0.0.1:8470/v2/projects/p/locations/europe-west4-a/nodes/n?alt=json&"
            "updateMask=network_config.enable_external_ips%2Cdata_disks%2Cdata_disks%2Clabels");
  EXPECT_EQ(Sent().body, R"({"networkConfig":{"enableExternalIps":false}})");
}

TEST_F(LoopbackProviderTest, NeverPatchesWithoutAMask) {
  EXPECT_EQ(provider_.PatchNode(kNode, {}, {}, {}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(SentCount(), 0U);
}

TEST_F(LoopbackProviderTest, RepeatsWhatIsSafe) {
  transport_.Then(ErrorCode::kReplyLost).Then(503).Then(200, kOperation);
  EXPECT_TRUE(provider_.PatchNode(kNode, {}, {"labels"}, {}).has_value());
  EXPECT_EQ(SentCount(), 3U);
}

TEST_F(LoopbackProviderTest, DeletesWithoutABody) {
  transport_.Then(200, kOperation);
  EXPECT_TRUE(provider_.DeleteNode(kNode, "", {}).has_value());
  EXPECT_EQ(Sent().method, "DELETE");
  EXPECT_EQ(Sent().body, "");
  EXPECT_EQ(transport_.Header(0, "Content-Type"), "");
}

TEST_F(LoopbackProviderTest, ListsEveryPage) {
  transport_.Then(200, R"({"nodes":[{"name":"projects/p/locations/z/nodes/a"},
      {"name":"projects/123/locations/z/nodes/b"}],"nextPageToken":"t/1="})");
  transport_.Then(200, R"({"nextPageToken":"t2"})");  // an empty page is no end
  transport_.Then(200, R"({"nodes":[{"name":"projects/p/locations/z/nodes/c",
      "newField":{"x":[1]}}],"newField":1})");
  const auto nodes = provider_.ListNodes("p", "z", {});
  ASSERT_TRUE(nodes.has_value());
  ASSERT_EQ(nodes->size(), 3U);
  EXPECT_EQ((*nodes)[2]["name"].AsString(), "projects/p/locations/z/nodes/c");
  EXPECT_EQ(Sent(0).url,
            "http://127.0.0.1:8470/v2/projects/p/locations/z/nodes?alt=json&pageSize=1000");
  EXPECT_THAT(Sent(1).url, HasSubstr("&pageToken=t%2F1%3D"));
  EXPECT_THAT(Sent(2).url, HasSubstr("&pageToken=t2"));
}

TEST_F(LoopbackProviderTest, AListOfEveryZoneShowsThoseOfAny) {
  transport_.Then(200, R"({"nodes":[{"name":"projects/p/locations/z/nodes/a"},
      {"name":"projects/p/locations/y/nodes/b"}]})");
  EXPECT_EQ(provider_.ListNodes("p", "-", {})->size(), 2U);
}

TEST_F(LoopbackProviderTest, RefusesAListInCircles) {
  transport_.Then(200, R"({"nodes":[],"nextPageToken":"same"})");
  EXPECT_EQ(provider_.ListNodes("p", "z", {}).error().code, ErrorCode::kInternal);
  EXPECT_EQ(SentCount(), 2U);
}

TEST_F(LoopbackProviderTest, RefusesAListThatNeverEnds) {
  int page = 0;
  transport_.Then([&](const http::Request&) -> Result<http::Response> {
    return http::Response{200, {}, R"({"nextPageToken":")" + std::to_string(++page) + "\"}"};
  });
  EXPECT_EQ(provider_.ListNodes("p", "z", {}).error().code, ErrorCode::kInternal);
  EXPECT_EQ(page, 21);
  transport_.Then([&](const http::Request&) -> Result<http::Response> {
    const std::string number = std::to_string(++page);
    return http::Response{
        200,
        {},
        R"({"nodes":[{"name":"projects/p/locations/z/nodes/n"}],"nextPageToken":")" + number +
            "\"}"};
  });
  page = 0;
  EXPECT_EQ(provider_.ListNodes("p", "z", {}).error().code, ErrorCode::kInternal);
  EXPECT_EQ(page, 1000);
}

TEST_F(LoopbackProviderTest, DoesNotWaitForAListForEver) {
  int page = 0;
  transport_.Then([&](const http::Request&) -> Result<http::Response> {
    clock_.Advance(std::chrono::seconds(50));
    const std::string number = std::to_string(++page);
    return http::Response{
        200,
        {},
        R"({"nodes":[{"name":"projects/p/locations/z/nodes/n"}],"nextPageToken":")" + number +
            "\"}"};
  });
  const auto nodes = provider_.ListNodes("p", "z", {});
  ASSERT_FALSE(nodes);
  EXPECT_EQ(nodes.error().code, ErrorCode::kDeadlineExceeded);
  EXPECT_EQ(nodes.error().message, "the service's list of nodes is not complete after 10m");
  EXPECT_EQ(page, 13);
}

// Else it would look as if every node had been deleted.
TEST_F(LoopbackProviderTest, RefusesWhatIsNoList) {
  std::string body;
  transport_.Then([&](const http::Request&) -> Result<http::Response> {
    return http::Response{200, {}, body};
  });
  for (const char* each :
       {R"({"error":{"code":500,"message":"x"}})", R"({"foo":1})", R"({"nodes":null})",
        R"({"nodes":[null]})", R"({"nodes":"x"})", R"({"nodes":{"a":1}})", R"({"nodes":[{}]})",
        R"({"nodes":[{"name":5}]})", R"({"nextPageToken":{"x":1}})", R"({"nodes":[{"name":"n"}]})",
        R"({"nodes":[{"name":"projects/p/locations/z/nodes/"}]})",
        R"({"nodes":[{"name":"projects/p/locations/other/nodes/n"}]})",
        R"({"nodes":[{"name":"projects/other/locations/z/nodes/n"}]})"}) {
    body = each;
    const auto nodes = provider_.ListNodes("p", "z", {});
    ASSERT_FALSE(nodes.has_value()) << body;
    EXPECT_EQ(nodes.error().message, "the answer of the service is no list of nodes");
  }
  body = "{}";
  EXPECT_TRUE(provider_.ListNodes("p", "z", {}).has_value());
}

// A list with a hole would look as if nodes had been deleted.
TEST_F(LoopbackProviderTest, RefusesAListWithUnreadZones) {
  transport_.Then(200, R"({"nodes":[{"name":"a"}],"unreachable":["projects/p/locations/z"]})");
  const auto nodes = provider_.ListNodes("p", "z", {});
  ASSERT_FALSE(nodes.has_value());
  EXPECT_EQ(nodes.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(nodes.error().message, HasSubstr("projects/p/locations/z"));
}

TEST_F(LoopbackProviderTest, AsksForAnOperationByItsName) {
  transport_.Then(200, R"({"name":"projects/p/locations/z/operations/o","done":true})");
  EXPECT_TRUE(provider_.GetOperation("projects/p/locations/z/operations/o", {})->done);
  EXPECT_EQ(Sent().url, "http://127.0.0.1:8470/v2/projects/p/locations/z/operations/o?alt=json");
}

TEST_F(LoopbackProviderTest, RefusesAnotherResourceThanItAskedFor) {
  std::string body;
  transport_.Then([&](const http::Request&) -> Result<http::Response> {
    return http::Response{200, {}, body};
  });
  for (const char* each :
       {"{}", R"({"name":"n"})", R"({"name":"projects/p/locations/europe-west4-a/nodes/m"})",
        R"({"name":"projects/q/locations/europe-west4-a/nodes/n"})",
        R"({"name":"projects/p/locations/us-central2-b/nodes/n"})", R"({"name":5})"}) {
    body = each;
    const auto node = provider_.GetNode(kNode, {});
    ASSERT_FALSE(node.has_value()) << body;
    EXPECT_EQ(node.error().code, ErrorCode::kInternal);
    EXPECT_THAT(node.error().message,
                HasSubstr("asked for projects/p/locations/europe-west4-a/nodes/n, the service"));
    EXPECT_FALSE(provider_.GetOperation("projects/p/locations/z/operations/o", {})) << body;
    EXPECT_FALSE(provider_.queued()->Get({"p", "z", "q"}, {})) << body;
  }
  body = R"({"name":"projects/1234567/locations/europe-west4-a/nodes/n"})";
  EXPECT_TRUE(provider_.GetNode(kNode, {})) << "the service may call a project by its number";
}

// Far more workers than there can be take memory for nothing.
TEST_F(LoopbackProviderTest, RefusesANodeWithMoreWorkersThanAnyHas) {
  std::string endpoints = "{}";
  for (int i = 0; i < 20'000; ++i) endpoints += ",{}";
  const std::string node =
      R"({"name":"projects/p/locations/europe-west4-a/nodes/n","networkEndpoints":[)" + endpoints +
      "]}";
  std::string body = node;
  transport_.Then([&](const http::Request&) -> Result<http::Response> {
    return http::Response{200, {}, body};
  });
  EXPECT_THAT(provider_.GetNode(kNode, {}).error().message,
              HasSubstr("has 20001 network endpoints, and no node has more than 20000"));
  body = R"({"nodes":[)" + node + "]}";
  EXPECT_EQ(provider_.ListNodes("p", "europe-west4-a", {}).error().code, ErrorCode::kInternal);
  body = R"({"guestAttributes":[)" + endpoints + "]}";
  EXPECT_EQ(provider_.GetGuestAttributes(kNode, "", {}).error().code, ErrorCode::kInternal);
}

TEST_F(LoopbackProviderTest, RefusesAnOperationThatMayOrMayNotBeDone) {
  transport_.Then(200, R"({"name":"projects/p/locations/z/operations/o","done":"true"})");
  EXPECT_EQ(provider_.GetOperation("projects/p/locations/z/operations/o", {}).error().code,
            ErrorCode::kInternal);
  EXPECT_EQ(provider_.CreateNode(kNode, {}, "", {}).error().code, ErrorCode::kReplyLost);
}

TEST_F(LoopbackProviderTest, RefusesNamesThatAreNoOperations) {
  for (const char* name :
       {"", "o", "operations/o", "projects/p/locations/z/nodes/n",
        "projects/p/locations/z/operations/", "projects//locations/z/operations/o",
        "projects/p/locations/z/operations/o/x", "projects/p/locations/z/operations/..",
        "projects/../locations/z/operations/o", "projects/p/locations/z/operations/o\n"}) {
    EXPECT_EQ(provider_.GetOperation(name, {}).error().code, ErrorCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(SentCount(), 0U);
}

// It would be kept in the state, and asked for by every later command.
TEST_F(LoopbackProviderTest, AnAnswerWithoutAnOperationOfItsPlaceIsALostOne) {
  const std::string place = "projects/p/locations/europe-west4-a/";
  std::string name;
  transport_.Then([&](const http::Request&) -> Result<http::Response> {
    return http::Response{200, {}, R"({"name":")" + name + R"("})"};
  });
  for (const std::string& odd :
       {place + "nodes/a", place + "operations/..", place + "operations/.",
        place + "operations/a\\n", place + "operations/a b", place + "operations/a/b",
        place + "operations/a%2f", place + "operations/\u202ea", std::string("operations/a"),
        place + "operations/" + std::string(300, 'a'),
        std::string("projects/q/locations/europe-west4-a/operations/a"),
        std::string("projects/p/locations/us-central2-b/operations/a")}) {
    name = odd;
    const Value node = Value::EmptyMap();
    EXPECT_EQ(provider_.CreateNode(kNode, node, "", {}).error().code, ErrorCode::kReplyLost) << odd;
    EXPECT_FALSE(provider_.PatchNode(kNode, node, {"description"}, {})) << odd;
    EXPECT_FALSE(provider_.DeleteNode(kNode, "", {})) << odd;
    EXPECT_FALSE(provider_.StopNode(kNode, {})) << odd;
    EXPECT_FALSE(provider_.queued()->Delete({"p", "europe-west4-a", "q"}, true, "i", {})) << odd;
  }
  for (const std::string& good :
       {place + "operations/operation-17-ab_c.d",
        std::string("projects/12/locations/europe-west4-a/operations/a")}) {
    name = good;
    EXPECT_TRUE(provider_.DeleteNode(kNode, "", {})) << good;
  }
}

TEST_F(LoopbackProviderTest, ReadsGuestAttributesInWorkerOrder) {
  transport_.Then(200, R"({"guestAttributes":[
      {"queryPath":"hostkeys/","queryValue":{"items":[
        {"namespace":"hostkeys","key":"ssh-ed25519","value":"AAAA0"},
        {"namespace":"hostkeys","key":"ssh-rsa","value":"AAAA1"}]}},
      {"queryPath":"hostkeys/"}]})");
  const auto workers = provider_.GetGuestAttributes(kNode, "hostkeys/", {});
  ASSERT_TRUE(workers.has_value());
  ASSERT_EQ(workers->size(), 2U);
  ASSERT_EQ((*workers)[0].size(), 2U);
  EXPECT_EQ((*workers)[0][1].space, "hostkeys");
  EXPECT_EQ((*workers)[0][1].key, "ssh-rsa");
  EXPECT_EQ((*workers)[0][1].value, "AAAA1");
  EXPECT_TRUE((*workers)[1].empty());
  EXPECT_EQ(Sent().method, "POST");
  EXPECT_THAT(Sent().url, HasSubstr("/nodes/n:getGuestAttributes?alt=json"));
  EXPECT_EQ(Sent().body, R"({"queryPath":"hostkeys/"})");
}

TEST_F(LoopbackProviderTest, AnAnswerThatIsNoJsonIsNotTheApi) {
  transport_.Then(200, "<html>login</html>");
  const auto node = provider_.GetNode(kNode, {});
  ASSERT_FALSE(node.has_value());
  EXPECT_EQ(node.error().code, ErrorCode::kInternal);
  EXPECT_EQ(node.error().message, "the answer of 127.0.0.1:8470 is not a JSON object");
}

TEST(Endpoint, IsCheckedAndCompleted) {
  EXPECT_EQ(ParseEndpoint("http://127.0.0.1:8470")->base_url, "http://127.0.0.1:8470/");
  EXPECT_EQ(ParseEndpoint("https://host/prefix/")->base_url, "https://host/prefix/");
  for (const char* text : {"", "tpu.googleapis.com", "ftp://host/", "https://host/?x=1",
                           "https://host/#x", "http://user:secret@host/", "http://ho st/"}) {
    const auto endpoint = ParseEndpoint(text);
    ASSERT_FALSE(endpoint.has_value()) << text;
    EXPECT_EQ(endpoint.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(endpoint.error().message, Not(HasSubstr("secret")));
  }
}

}  // namespace
}  // namespace podctl::gcp

// The fake keeps the promises of every Provider, and breaks them only on order.
#include "tests/support/fake_provider.h"

#include "tests/conformance/provider_suite.h"
#include "tests/support/fake_clock.h"

namespace podctl::testing {
namespace {

class FakeCloud final : public ProviderUnderTest {
 public:
  Provider& provider() override { return provider_; }
  Clock& clock() override { return clock_; }

 private:
  FakeProvider provider_;
  FakeClock clock_;
};

INSTANTIATE_TEST_SUITE_P(Fake, ProviderSuite, ::testing::Values(ProviderFactory([] {
                           return std::make_unique<FakeCloud>();
                         })));

const NodeName kNode{"p", "europe-west4-a", "n"};

TEST(FakeProvider, ALostReplyActsAllTheSame) {
  FakeProvider provider;
  provider.LoseReply("create");
  EXPECT_EQ(provider.CreateNode(kNode, {}, "", {}).error().code, ErrorCode::kReplyLost);
  EXPECT_EQ((*provider.Node(kNode))["state"].AsString(), "CREATING");
  EXPECT_EQ(provider.CreateNode(kNode, {}, "", {}).error().code, ErrorCode::kAlreadyExists);
}

TEST(FakeProvider, OperationsAdvanceWithEachLook) {
  FakeProvider provider(FakeProvider::Options{.looks = 3});
  const auto operation = provider.CreateNode(kNode, {}, "", {});
  EXPECT_FALSE(provider.GetOperation(operation->name, {})->done);
  EXPECT_EQ((*provider.GetNode(kNode, {}))["state"].AsString(), "CREATING");
  EXPECT_TRUE(provider.GetOperation(operation->name, {})->done);
}

TEST(FakeProvider, FailsTheKthCall) {
  FakeProvider provider;
  provider.FailCall(2, MakeError(ErrorCode::kInternal, "second"));
  EXPECT_TRUE(provider.ListNodes("p", "z", {}).has_value());
  EXPECT_EQ(provider.CreateNode(kNode, {}, "", {}).error().message, "second");
  EXPECT_EQ(provider.NodeCount(), 0U);
  EXPECT_TRUE(provider.CreateNode(kNode, {}, "", {}).has_value());
  EXPECT_EQ(provider.MutatingCalls(), 2);
}

TEST(FakeProvider, FailsTheNextCallsOfAMethod) {
  FakeProvider provider;
  provider.FailNext("get", MakeError(ErrorCode::kUnavailable, "down"), 2);
  EXPECT_TRUE(provider.ListNodes("p", "z", {}).has_value());
  EXPECT_EQ(provider.GetNode(kNode, {}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(provider.GetNode(kNode, {}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(provider.GetNode(kNode, {}).error().code, ErrorCode::kNotFound);
}

TEST(FakeProvider, AFailedCreateLeavesNothingUnlessTold) {
  FakeProvider provider(FakeProvider::Options{.looks = 0});
  provider.FailOperation("create", FakeProvider::NoCapacity());
  EXPECT_EQ(provider.CreateNode(kNode, {}, "", {})->error.at(0).code,
            ErrorCode::kResourceExhausted);
  EXPECT_EQ(provider.NodeCount(), 0U);
  provider.FailOperation("create", FakeProvider::NoCapacity(), /*leaves_node=*/true);
  EXPECT_FALSE(provider.CreateNode(kNode, {}, "", {})->error.empty());
  EXPECT_EQ(provider.NodeCount(), 1U);
}

TEST(FakeProvider, SomebodyElseIsFaster) {
  FakeProvider provider;
  provider.PutNode(kNode, Value::EmptyMap());
  provider.Before("patch", [](FakeProvider& world) {
    world.EditNode(kNode, [](Value& node) { node.SetPath("metadata.theirs", "1"); });
  });
  Value change;
  change.SetPath("labels.mine", "1");
  EXPECT_TRUE(provider.PatchNode(kNode, change, {"labels"}, {}).has_value());
  provider.FinishOperations();
  EXPECT_EQ((*provider.Node(kNode))["metadata"]["theirs"].AsString(), "1");
  EXPECT_EQ((*provider.Node(kNode))["labels"]["mine"].AsString(), "1");
}

TEST(FakeProvider, RecordsWhatItWasAsked) {
  FakeProvider provider;
  provider.PutNode(kNode, Value::EmptyMap());
  EXPECT_TRUE(provider.PatchNode(kNode, Value::EmptyMap(), {"labels"}, {}).has_value());
  ASSERT_EQ(provider.Calls("patch").size(), 1U);
  EXPECT_EQ(provider.Calls("patch")[0].target, kNode.Resource());
  EXPECT_EQ(provider.Calls("patch")[0].mask, std::vector<std::string>{"labels"});
}

}  // namespace
}  // namespace podctl::testing

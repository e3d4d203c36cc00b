// What every Provider promises, whoever stands behind it. A test file makes it run by
//   INSTANTIATE_TEST_SUITE_P(Name, ProviderSuite, ::testing::Values(ProviderFactory{...}));
// in an executable of its own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "providers/os/clock.h"
#include "providers/provider.h"

namespace podctl::testing {

// A provider with an empty cloud behind it, and the clock by which its operations advance.
class ProviderUnderTest {
 public:
  virtual ~ProviderUnderTest() = default;
  virtual Provider& provider() = 0;
  virtual Clock& clock() = 0;
};

using ProviderFactory = std::function<std::unique_ptr<ProviderUnderTest>()>;

class ProviderSuite : public ::testing::TestWithParam<ProviderFactory> {
 protected:
  void SetUp() override {
    under_test_ = GetParam()();
    ASSERT_NE(under_test_, nullptr);
  }
  Provider& provider() { return under_test_->provider(); }

  static NodeName Name(const std::string& node, const std::string& zone = "europe-west4-a") {
    return {"my-project", zone, node};
  }
  static Value Pod() {
    Value node;
    node.Set("acceleratorType", "v3-32");
    node.Set("runtimeVersion", "tpu-vm-tf-2.11.0-pod");
    node.SetPath("networkConfig.enableExternalIps", true);
    node.SetPath("labels.team", "vision");
    node.SetPath("metadata.ssh-keys", "alice:ssh-ed25519 AAAA alice");
    node.SetPath("metadata.x", "1");
    return node;
  }

  // Waits for what a mutation started; fails the test when it did not end well.
  void ExpectDone(const Result<Operation>& started) {
    ASSERT_TRUE(started.has_value()) << started.error().message;
    ASSERT_NE(started->name, "");
    const auto done = Wait(started->name);
    ASSERT_TRUE(done.has_value()) << done.error().message;
    EXPECT_TRUE(done->done);
    EXPECT_TRUE(done->error.empty()) << done->error[0].message;
  }
  Result<Operation> Wait(const std::string& operation) {
    constexpr int kMostLooks = 3000;
    auto seen = provider().GetOperation(operation, {});
    for (int look = 0; look < kMostLooks && seen && !seen->done; ++look) {
      under_test_->clock().SleepFor(std::chrono::milliseconds(20), {});
      seen = provider().GetOperation(operation, {});
    }
    return seen;
  }
  void Create(const NodeName& name) { ExpectDone(provider().CreateNode(name, Pod(), "", {})); }
  Value Get(const NodeName& name) {
    const auto node = provider().GetNode(name, {});
    EXPECT_TRUE(node.has_value()) << node.error().message;
    if (!node) return {};
    return *node;
  }
  std::set<std::string> Names(const std::string& zone) {
    std::set<std::string> names;
    const auto nodes = provider().ListNodes("my-project", zone, {});
    EXPECT_TRUE(nodes.has_value()) << nodes.error().message;
    if (nodes) {
      for (const Value& node : *nodes) names.insert(node["name"].AsString());
    }
    return names;
  }

 private:
  std::unique_ptr<ProviderUnderTest> under_test_;
};

TEST_P(ProviderSuite, AnEmptyCloudHoldsNothing) {
  EXPECT_TRUE(Names("europe-west4-a").empty());
  const auto name = Name("none");
  EXPECT_EQ(provider().GetNode(name, {}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(provider().DeleteNode(name, "", {}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(provider().PatchNode(name, Pod(), {"labels"}, {}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(provider().GetGuestAttributes(name, "", {}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(provider().GetOperation(name.Parent() + "/operations/operation-0", {}).error().code,
            ErrorCode::kNotFound);
}

TEST_P(ProviderSuite, ACreatedNodeIsReadyWithWhatWasAskedFor) {
  Create(Name("research"));
  const Value node = Get(Name("research"));
  EXPECT_EQ(node["name"].AsString(), "projects/my-project/locations/europe-west4-a/nodes/research");
  EXPECT_EQ(node["state"].AsString(), "READY");
  EXPECT_EQ(node["acceleratorType"].AsString(), "v3-32");
  EXPECT_EQ(node["runtimeVersion"].AsString(), "tpu-vm-tf-2.11.0-pod");
  EXPECT_EQ(node["labels"], Pod()["labels"]);
  EXPECT_EQ(node["metadata"], Pod()["metadata"]);
  EXPECT_TRUE(node["networkConfig"]["enableExternalIps"].AsBool());
  EXPECT_FALSE(node["id"].AsString().empty());
  ASSERT_EQ(node["networkEndpoints"].AsList().size(), 4U);  // v3-32: four workers
  for (const Value& endpoint : node["networkEndpoints"].AsList()) {
    EXPECT_FALSE(endpoint["ipAddress"].AsString().empty());
  }
}

TEST_P(ProviderSuite, ServerFilledFieldsAreInTheServersForm) {
  Create(Name("research"));
  const Value node = Get(Name("research"));
  EXPECT_THAT(node["networkConfig"]["network"].AsString(),
              ::testing::MatchesRegex("projects/[^/]+/global/networks/default"));
  EXPECT_EQ(node["apiVersion"].AsString(), "V2");
  EXPECT_TRUE(node["schedulingConfig"].is_map());
}

TEST_P(ProviderSuite, AnOperationTellsItsNodeWhenDone) {
  const auto started = provider().CreateNode(Name("research"), Pod(), "", {});
  ExpectDone(started);
  const auto done = provider().GetOperation(started->name, {});
  ASSERT_TRUE(done.has_value());
  EXPECT_TRUE(done->done);
  EXPECT_EQ(done->response["name"].AsString(), Name("research").Resource());
}

TEST_P(ProviderSuite, OperationsAreListedWithWhatTheyDidAndWhen) {
  Create(Name("research"));
  Create(Name("other"));
  Value change;
  change.SetPath("metadata.y", "2");
  const auto patched = provider().PatchNode(Name("research"), change, {"metadata"}, {});
  ExpectDone(patched);
  const auto operations = provider().ListOperations("my-project", "europe-west4-a", {});
  ASSERT_TRUE(operations.has_value()) << operations.error().message;
  EXPECT_EQ(operations->size(), 3U);
  std::string created;
  for (const Operation& operation : *operations) {
    if (operation.target != Name("research").Resource()) continue;
    EXPECT_TRUE(operation.done);
    if (operation.verb == "create") created = operation.create_time;
  }
  const auto it = std::find_if(operations->begin(), operations->end(), [&](const auto& operation) {
    return operation.name == patched->name;
  });
  ASSERT_NE(it, operations->end());
  EXPECT_EQ(it->verb, "update");
  EXPECT_EQ(it->target, Name("research").Resource());
  EXPECT_EQ(it->response["metadata"], change["metadata"]);
  EXPECT_LT(created, it->create_time);
  EXPECT_TRUE(provider().ListOperations("my-project", "us-central1-a", {})->empty());
}

TEST_P(ProviderSuite, ANameIsTakenOnce) {
  Create(Name("research"));
  const Value before = Get(Name("research"));
  Value other = Pod();
  other.Set("acceleratorType", "v3-8");
  EXPECT_EQ(provider().CreateNode(Name("research"), other, "", {}).error().code,
            ErrorCode::kAlreadyExists);
  EXPECT_EQ(Get(Name("research"))["id"], before["id"]);
  EXPECT_EQ(Get(Name("research"))["acceleratorType"].AsString(), "v3-32");
}

TEST_P(ProviderSuite, ANameIsTakenOnceAlsoInARace) {
  std::atomic<int> won{0};
  std::atomic<int> taken{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&] {
        const auto started = provider().CreateNode(Name("research"), Pod(), "", {});
        if (started) {
          ++won;
        } else if (started.error().code == ErrorCode::kAlreadyExists) {
          ++taken;
        }
      });
    }
  }
  EXPECT_EQ(won, 1);
  EXPECT_EQ(taken, 5);
}

TEST_P(ProviderSuite, AListHoldsTheNodesOfItsZone) {
  Create(Name("a"));
  Create(Name("b"));
  Value single = Pod();
  single.Set("acceleratorType", "v3-8");  // which that zone has, unlike v3-32
  ExpectDone(provider().CreateNode(Name("c", "us-central1-a"), single, "", {}));
  EXPECT_EQ(Names("europe-west4-a"),
            (std::set<std::string>{Name("a").Resource(), Name("b").Resource()}));
  EXPECT_EQ(Names("us-central1-a"), (std::set<std::string>{Name("c", "us-central1-a").Resource()}));
  EXPECT_TRUE(provider().ListNodes("other-project", "europe-west4-a", {})->empty());
}

TEST_P(ProviderSuite, AListHoldsMoreNodesThanAPage) {
  constexpr int kNodes = 1020;  // a page has 1000
  for (int i = 0; i < kNodes; ++i) {
    const auto started = provider().CreateNode(Name("n" + std::to_string(i)), Pod(), "", {});
    ASSERT_TRUE(started.has_value()) << started.error().message;
  }
  EXPECT_EQ(Names("europe-west4-a").size(), static_cast<std::size_t>(kNodes));
}

TEST_P(ProviderSuite, APatchReplacesTheMaskedMapAndNothingElse) {
  Create(Name("research"));
  const Value before = Get(Name("research"));
  Value change;
  change.SetPath("metadata.y", "2");
  change.SetPath("labels.ignored", "x");  // outside the mask
  ExpectDone(provider().PatchNode(Name("research"), change, {"metadata"}, {}));
  const Value after = Get(Name("research"));
  EXPECT_EQ(after["metadata"], change["metadata"]);
  EXPECT_EQ(after["labels"], before["labels"]);
  EXPECT_EQ(after["networkConfig"], before["networkConfig"]);
  EXPECT_EQ(after["id"], before["id"]);
  EXPECT_EQ(after["state"].AsString(), "READY");
}

TEST_P(ProviderSuite, APatchClearsWhatIsMaskedAndAbsent) {
  Create(Name("research"));
  Value change;
  change.Set("description", "for a day");
  ExpectDone(provider().PatchNode(Name("research"), change, {"description", "labels"}, {}));
  EXPECT_EQ(Get(Name("research"))["description"].AsString(), "for a day");
  EXPECT_TRUE(Get(Name("research"))["labels"].AsMap().empty());
}

TEST_P(ProviderSuite, APatchReachesIntoAMessage) {
  Create(Name("research"));
  const Value before = Get(Name("research"));
  Value change;
  change.SetPath("networkConfig.enableExternalIps", false);
  ExpectDone(
      provider().PatchNode(Name("research"), change, {"networkConfig.enableExternalIps"}, {}));
  const Value after = Get(Name("research"));
  EXPECT_FALSE(after["networkConfig"]["enableExternalIps"].AsBool());
  EXPECT_EQ(after["networkConfig"]["network"], before["networkConfig"]["network"]);
}

TEST_P(ProviderSuite, APatchMayBeRepeated) {
  Create(Name("research"));
  Value change;
  change.SetPath("labels.team", "speech");
  ExpectDone(provider().PatchNode(Name("research"), change, {"labels"}, {}));
  ExpectDone(provider().PatchNode(Name("research"), change, {"labels"}, {}));
  EXPECT_EQ(Get(Name("research"))["labels"], change["labels"]);
}

TEST_P(ProviderSuite, APatchIsRefusedWithoutAMaskAndForWhatCannotChange) {
  Create(Name("research"));
  EXPECT_EQ(provider().PatchNode(Name("research"), Pod(), {}, {}).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(provider().PatchNode(Name("research"), Pod(), {"runtimeVersion"}, {}).error().code,
            ErrorCode::kInvalidArgument);
}

TEST_P(ProviderSuite, ADeletedNodeIsGoneAndItsNameIsFree) {
  Create(Name("research"));
  const Value before = Get(Name("research"));
  ExpectDone(provider().DeleteNode(Name("research"), "", {}));
  EXPECT_EQ(provider().GetNode(Name("research"), {}).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(Names("europe-west4-a").empty());
  EXPECT_EQ(provider().DeleteNode(Name("research"), "", {}).error().code, ErrorCode::kNotFound);
  Create(Name("research"));
  EXPECT_FALSE(Get(Name("research"))["id"] == before["id"]);
}

TEST_P(ProviderSuite, ASingleHostNodeIsStoppedAndStarted) {
  Value single = Pod();
  single.Set("acceleratorType", "v3-8");
  ExpectDone(provider().CreateNode(Name("research"), single, "", {}));
  const Value before = Get(Name("research"));
  ExpectDone(provider().StopNode(Name("research"), {}));
  EXPECT_EQ(Get(Name("research"))["state"].AsString(), "STOPPED");
  EXPECT_FALSE(provider().StopNode(Name("research"), {}).has_value());
  ExpectDone(provider().StartNode(Name("research"), {}));
  EXPECT_EQ(Get(Name("research"))["state"].AsString(), "READY");
  EXPECT_FALSE(provider().StartNode(Name("research"), {}).has_value());
  EXPECT_EQ(Get(Name("research"))["id"], before["id"]);
}

TEST_P(ProviderSuite, ANodeOfSeveralHostsIsNotStopped) {
  Create(Name("research"));
  EXPECT_FALSE(provider().StopNode(Name("research"), {}).has_value());
  EXPECT_EQ(Get(Name("research"))["state"].AsString(), "READY");
  EXPECT_EQ(provider().StopNode(Name("none"), {}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(provider().StartNode(Name("none"), {}).error().code, ErrorCode::kNotFound);
}

TEST_P(ProviderSuite, GuestAttributesHaveOneEntryForEachWorker) {
  Create(Name("research"));
  const auto workers = provider().GetGuestAttributes(Name("research"), "hostkeys/", {});
  ASSERT_TRUE(workers.has_value()) << workers.error().message;
  ASSERT_EQ(workers->size(), 4U);
  for (const WorkerAttributes& worker : *workers) {
    for (const GuestAttribute& attribute : worker) EXPECT_EQ(attribute.space, "hostkeys");
  }
}

TEST_P(ProviderSuite, NothingHappensOnceStopped) {
  Create(Name("research"));
  std::stop_source stop;
  stop.request_stop();
  const std::stop_token token = stop.get_token();
  EXPECT_EQ(provider().CreateNode(Name("other"), Pod(), "", token).error().code,
            ErrorCode::kCancelled);
  EXPECT_EQ(provider().DeleteNode(Name("research"), "", token).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(provider().GetNode(Name("research"), token).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(provider().ListNodes("my-project", "europe-west4-a", token).error().code,
            ErrorCode::kCancelled);
  EXPECT_EQ(Names("europe-west4-a"), std::set<std::string>{Name("research").Resource()});
  EXPECT_EQ(Get(Name("research"))["state"].AsString(), "READY");
}

}  // namespace podctl::testing

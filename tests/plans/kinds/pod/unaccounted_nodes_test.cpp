// Nodes that by their label a state made, and that it does not know.
#include "plans/kinds/pod/unaccounted_nodes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/record.h"
#include "providers/slices.h"
#include "tests/support/addresses.h"
#include "tests/support/golden.h"

namespace podctl {
namespace {

using testing::ExpectGolden;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class UnaccountedNodesTest : public ::testing::Test {
 protected:
  void SetUp() override { state_.lineage = "9f3c2a4e-5b6d-4c7e-8f90-a1b2c3d4e5f6"; }

  static NodeName Name(const std::string& node) { return {"my-project", "us-central2-b", node}; }
  Value Node(const std::string& id, const std::string& queued = {}) const {
    Value node = WithLineage(Value::EmptyMap(), state_.lineage);
    node.Set("name", Name(id).Resource());
    if (!queued.empty()) {
      node.Set("queuedResource", "projects/4711/locations/us-central2-b/queuedResources/" + queued);
    }
    return node;
  }
  void Put(const std::string& id, Value node) { survey_.nodes[Name(id)] = std::move(node); }
  void PutSlices(const std::string& prefix) {
    std::map<int, Value> slices;
    for (const int slice : {0, 1}) {
      NodeName one = SliceName(Name(prefix), slice);
      Value node = Node(one.node, prefix);
      node.Set("multisliceNode", true);
      slices[slice] = node;
      Put(one.node, std::move(node));
    }
    Put(prefix, JoinSlices(Name(prefix), slices));
  }
  PodRecord& Record(const std::string& pod) {
    PodRecord& record = Pods(state_)[PodAddress(pod)];
    record.project = "my-project";
    record.zone = "us-central2-b";
    record.current = {pod, "", Present{}};
    return record;
  }
  std::vector<Diagnostic> Told() const {
    return WarnOfUnknownNodes(
        survey_, state_, [] { return std::vector<NodeName>(); }, " -f team.yaml");
  }
  static std::string Text(const std::vector<Diagnostic>& all) {
    std::string text;
    for (const Diagnostic& one : all) text += fmt::format("{}\n{}\n\n", one.summary, one.detail);
    return text;
  }

  State state_;
  PodSurvey survey_;
};

TEST_F(UnaccountedNodesTest, AreNamedWithTheWaysOut) {
  Put("research", Node("research"));
  Put("from-queue", Node("from-queue", "its-request"));
  PutSlices("wide");
  Record("other").current.locator = "other";
  Record("research").current.locator = "elsewhere";  // so that this name is taken
  std::string text = Text(Told());
  PodRecord& late = Record("late");
  late.current = {"late", "", Creating{{"", "2026-11-20T14:30:00Z", 7}}};
  const auto kept = WhyKept(PodAddress("late"), late, "2026-11-20T15:29:59Z", " -f team.yaml");
  ASSERT_TRUE(kept);
  text += Text({*kept});
  ExpectGolden("state/unaccounted_nodes.txt", text);
}

TEST_F(UnaccountedNodesTest, AreNoneThatARecordStandsFor) {
  Put("a", Node("a"));
  PutSlices("wide");
  Put("old", Node("old"));
  ASSERT_THAT(Told(), SizeIs(3));
  PodRecord& record = Record("a");
  record.deposed = {{"old", "", Present{}}};
  // All that its queued resource makes, under whatever names.
  Record("many").auxiliary = {{"wide", "", Present{}}};
  EXPECT_THAT(Told(), IsEmpty());
}

// A project has an id and a number, so that one node may have two names.
TEST_F(UnaccountedNodesTest, AreNoneThatARecordKnowsByAnotherName) {
  Value node = Node("a");
  node.Set("id", "4711");
  Put("a", node);
  PodRecord& record = Record("a");
  record.project = "4711";
  ASSERT_THAT(Told(), SizeIs(1));
  record.current.uid = "4711";
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(UnaccountedNodesTest, OfVeryManyTheRestIsCounted) {
  for (int i = 0; i < 25; ++i) Put(fmt::format("n{:02}", i), Node(fmt::format("n{:02}", i)));
  const auto told = Told();
  ASSERT_THAT(told, SizeIs(21));
  EXPECT_THAT(told.back().summary, HasSubstr("5 nodes more were made with this state"));
  EXPECT_THAT(told.back().detail, HasSubstr("labels.podctl-lineage=" + state_.lineage));
}

TEST_F(UnaccountedNodesTest, AStateThatNobodySavedHasMadeNone) {
  Put("a", Value::EmptyMap());
  state_.lineage.clear();
  EXPECT_THAT(Told(), IsEmpty());
}

}  // namespace
}  // namespace podctl

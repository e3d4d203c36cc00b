// A run is killed, or its machine loses power, at every step it takes; the next run makes it good.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>
#include <string>

#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using testing::FakeFileSystem;
using testing::FakeProvider;
using testing::Harness;

enum class Death { kProcess, kPowerNothingKept, kPowerAllKept };

// One pod to patch (with a restart and a step), one to replace, one to replace by a node that is
// made first, one to delete, one to create; and one that only has another name.
class CrashTest : public ::testing::TestWithParam<Death> {
 protected:
  static void Begin(Harness* harness) {
    harness->own_keys = {"alice:ssh-ed25519 AAAA alice"};
    harness->Pods(Harness::Pod("patched", "    libtpuFlags: {f: 1}\n") +
                  Harness::Pod("replaced", "    dependsOn: [pod.patched]\n") +
                  Harness::Pod("deleted") + Harness::Pod("first", kFirst) + Harness::Pod("before"));
    harness->ApplyAll();
    harness->Edit("patched", [](Value& node) { node.SetPath("metadata.theirs", "x"); });
    harness->SpecText(
        "project: p\nzone: europe-west4-a\nmoved: [{from: pod.before, to: pod.after}]\npods:\n" +
        Harness::Pod("patched",
                     "    libtpuFlags: {f: 2}\n    bootstrap: [{name: x, run: echo}]\n") +
        Harness::Pod("first", std::string(kFirst) + "    cidrBlock: 10.2.0.0/29\n") +
        Harness::Pod("after") +
        Harness::Pod("replaced", "    dependsOn: [pod.patched]\n    cidrBlock: 10.1.0.0/29\n") +
        Harness::Pod("created", "    libtpuFlags: {f: 1}\n"));
  }

  static constexpr const char* kFirst = "    lifecycle: {createBeforeDestroy: true}\n";

  static void Die(Harness* harness, Death death) {
    switch (death) {
      case Death::kProcess:
        return harness->files.Restart();
      case Death::kPowerNothingKept:
        return harness->files.CutPower(0, FakeFileSystem::TornBytes::kHalf);
      case Death::kPowerAllKept:
        return harness->files.CutPower(~std::uint64_t{0}, FakeFileSystem::TornBytes::kZeroed);
    }
  }

  static std::size_t CreatesOf(const Harness& harness, const std::string& node) {
    std::size_t count = 0;
    for (const auto& call : harness.cloud.Calls("create")) {
      count += call.target == Harness::Name(node).Resource() ? 1 : 0;
    }
    return count;
  }

  static void ExpectConverged(Harness* harness, const std::map<std::string, std::string>& uids) {
    EXPECT_EQ(harness->cloud.NodeCount(), 5U);
    EXPECT_TRUE(harness->Node("first").is_null());
    EXPECT_EQ(harness->Node("first-2")["cidrBlock"].AsString(), "10.2.0.0/29");
    EXPECT_EQ(Pods(harness->Stored()).at(Addr("pod.after")).current.locator, "before");
    EXPECT_TRUE(harness->Node("deleted").is_null());
    EXPECT_EQ(harness->Node("replaced")["cidrBlock"].AsString(), "10.1.0.0/29");
    const Value metadata = harness->Node("patched")["metadata"];
    EXPECT_EQ(metadata["theirs"].AsString(), "x");
    EXPECT_EQ(metadata["ssh-keys"].AsString(), "alice:ssh-ed25519 AAAA alice");
    EXPECT_EQ(metadata["tensorflow-env-vars"].AsString(), "-e LIBTPU_INIT_ARGS=--f=2");
    for (const auto& [node, uid] : uids) {
      EXPECT_EQ(NodeUid(harness->Node(node)), uid) << node << " was made a second time";
    }
    const State stored = harness->Stored();
    for (const auto& [address, record] : Pods(stored)) {
      EXPECT_FALSE(record.pending().has_value()) << address;
      EXPECT_TRUE(record.deposed.empty()) << address;
    }
  }
};

TEST_P(CrashTest, TheNextRunMakesItGood) {
  int steps = 0;
  {
    Harness whole;
    Begin(&whole);
    const int before = whole.files.Steps();
    whole.ApplyAll();
    steps = whole.files.Steps() - before;
  }
  ASSERT_GT(steps, 40);
  // Every step for a killed process; a cut of power costs the same again, so every third.
  const int stride = GetParam() == Death::kProcess ? 1 : 3;
  for (int k = 0; k < steps; k += stride) {
    SCOPED_TRACE(k);
    Harness harness;
    Begin(&harness);
    harness.cloud.ForgetCalls();
    // What is proved after its death a dead run cannot know. Pods are proved side by side.
    std::mutex mutex;
    std::map<std::string, std::set<int>> proved;
    harness.workers.OnReadiness([&](const auto& call) {
      const std::lock_guard lock(mutex);
      if (!harness.files.Stopped())
        proved[call.pod].insert(call.workers.begin(), call.workers.end());
    });
    harness.files.StopAfter(k);
    static_cast<void>(harness.Apply());
    Die(&harness, GetParam());
    // What stands as wanted already must not be touched again.
    std::map<std::string, std::string> uids;
    uids["patched"] = NodeUid(harness.Node("patched"));
    uids["before"] = NodeUid(harness.Node("before"));
    if (!harness.Node("first-2").is_null()) uids["first-2"] = NodeUid(harness.Node("first-2"));
    if (!harness.Node("created").is_null()) uids["created"] = NodeUid(harness.Node("created"));
    if (!harness.Node("replaced")["cidrBlock"].is_null()) {
      uids["replaced"] = NodeUid(harness.Node("replaced"));
    }
    harness.ApplyAll();
    ExpectConverged(&harness, uids);
    const std::lock_guard lock(mutex);
    for (const char* pod : {"created", "replaced", "first"}) {
      EXPECT_EQ(proved[pod], (std::set<int>{0, 1, 2, 3})) << pod << " may have unusable workers";
    }
    EXPECT_LE(CreatesOf(harness, "created"), 1U);
    EXPECT_LE(CreatesOf(harness, "replaced"), 1U);
    EXPECT_LE(CreatesOf(harness, "first-2"), 1U);
    if (HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Deaths, CrashTest,
                         ::testing::Values(Death::kProcess, Death::kPowerNothingKept,
                                           Death::kPowerAllKept));

// The answer to the create is lost together with the process.
TEST(Crash, ACreateWhoseAnswerNobodyHeardIsAdopted) {
  Harness harness(FakeProvider::Options{.looks = 50});
  harness.Pods(Harness::Pod("a", "    libtpuFlags: {f: 1}\n"));
  harness.cloud.Before("create", [&](FakeProvider&) { harness.files.StopAfter(0); });
  static_cast<void>(harness.Apply());
  harness.files.Restart();
  EXPECT_EQ(Pods(harness.Stored()).at(Addr("pod.a")).pending()->operation, "");
  harness.ApplyAll();
  EXPECT_EQ(harness.Requests(), std::vector<std::string>{"create a"});
  EXPECT_TRUE(harness.workers.Calls().empty());  // its runtime started with the flags
}

}  // namespace
}  // namespace podctl

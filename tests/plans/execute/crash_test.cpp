// A run is killed, or its machine loses power, at every step it takes; the next run makes it good.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>
#include <string>

#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "tests/plans/desk.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using testing::Desk;
using testing::FakeFileSystem;
using testing::FakeProvider;

enum class Death { kProcess, kPowerNothingKept, kPowerAllKept };

// One pod to patch (with a restart and a step), one to replace, one to replace by a node that is
// made first, one to delete, one to create; and one that only has another name.
class CrashTest : public ::testing::TestWithParam<Death> {
 protected:
  static void Begin(Desk* desk) {
    desk->own_keys = {"alice:ssh-ed25519 AAAA alice"};
    desk->Pods(Desk::Pod("patched", "    libtpuFlags: {f: 1}\n") +
               Desk::Pod("replaced", "    dependsOn: [pod.patched]\n") + Desk::Pod("deleted") +
               Desk::Pod("first", kFirst) + Desk::Pod("before"));
    desk->ApplyAll();
    desk->Edit("patched", [](Value& node) { node.SetPath("metadata.theirs", "x"); });
    desk->SpecText(
        "project: p\nzone: europe-west4-a\nmoved: [{from: pod.before, to: pod.after}]\npods:\n" +
        Desk::Pod("patched", "    libtpuFlags: {f: 2}\n    bootstrap: [{name: x, run: echo}]\n") +
        Desk::Pod("first", std::string(kFirst) + "    cidrBlock: 10.2.0.0/29\n") +
        Desk::Pod("after") +
        Desk::Pod("replaced", "    dependsOn: [pod.patched]\n    cidrBlock: 10.1.0.0/29\n") +
        Desk::Pod("created", "    libtpuFlags: {f: 1}\n"));
  }

  static constexpr const char* kFirst = "    lifecycle: {createBeforeDestroy: true}\n";

  static void Die(Desk* desk, Death death) {
    switch (death) {
      case Death::kProcess:
        return desk->files.Restart();
      case Death::kPowerNothingKept:
        return desk->files.CutPower(0, FakeFileSystem::TornBytes::kHalf);
      case Death::kPowerAllKept:
        return desk->files.CutPower(~std::uint64_t{0}, FakeFileSystem::TornBytes::kZeroed);
    }
  }

  static std::size_t CreatesOf(const Desk& desk, const std::string& node) {
    std::size_t count = 0;
    for (const auto& call : desk.cloud.Calls("create")) {
      count += call.target == Desk::Name(node).Resource() ? 1 : 0;
    }
    return count;
  }

  static void ExpectConverged(Desk* desk, const std::map<std::string, std::string>& uids) {
    EXPECT_EQ(desk->cloud.NodeCount(), 5U);
    EXPECT_TRUE(desk->Node("first").is_null());
    EXPECT_EQ(desk->Node("first-2")["cidrBlock"].AsString(), "10.2.0.0/29");
    EXPECT_EQ(Pods(desk->Stored()).at(Addr("pod.after")).current.locator, "before");
    EXPECT_TRUE(desk->Node("deleted").is_null());
    EXPECT_EQ(desk->Node("replaced")["cidrBlock"].AsString(), "10.1.0.0/29");
    const Value metadata = desk->Node("patched")["metadata"];
    EXPECT_EQ(metadata["theirs"].AsString(), "x");
    EXPECT_EQ(metadata["ssh-keys"].AsString(), "alice:ssh-ed25519 AAAA alice");
    EXPECT_EQ(metadata["tensorflow-env-vars"].AsString(), "-e LIBTPU_INIT_ARGS=--f=2");
    for (const auto& [node, uid] : uids) {
      EXPECT_EQ(NodeUid(desk->Node(node)), uid) << node << " was made a second time";
    }
    const State stored = desk->Stored();
    for (const auto& [address, record] : Pods(stored)) {
      EXPECT_FALSE(record.pending().has_value()) << address;
      EXPECT_TRUE(record.deposed.empty()) << address;
    }
  }
};

TEST_P(CrashTest, TheNextRunMakesItGood) {
  int steps = 0;
  {
    Desk whole;
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
    Desk desk;
    Begin(&desk);
    desk.cloud.ForgetCalls();
    // What is proved after its death a dead run cannot know. Pods are proved side by side.
    std::mutex mutex;
    std::map<std::string, std::set<int>> proved;
    desk.workers.OnReadiness([&](const auto& call) {
      const std::lock_guard lock(mutex);
      if (!desk.files.Stopped()) proved[call.pod].insert(call.workers.begin(), call.workers.end());
    });
    desk.files.StopAfter(k);
    static_cast<void>(desk.Apply());
    Die(&desk, GetParam());
    // What stands as wanted already must not be touched again.
    std::map<std::string, std::string> uids;
    uids["patched"] = NodeUid(desk.Node("patched"));
    uids["before"] = NodeUid(desk.Node("before"));
    if (!desk.Node("first-2").is_null()) uids["first-2"] = NodeUid(desk.Node("first-2"));
    if (!desk.Node("created").is_null()) uids["created"] = NodeUid(desk.Node("created"));
    if (!desk.Node("replaced")["cidrBlock"].is_null()) {
      uids["replaced"] = NodeUid(desk.Node("replaced"));
    }
    desk.ApplyAll();
    ExpectConverged(&desk, uids);
    const std::lock_guard lock(mutex);
    for (const char* pod : {"created", "replaced", "first"}) {
      EXPECT_EQ(proved[pod], (std::set<int>{0, 1, 2, 3})) << pod << " may have unusable workers";
    }
    EXPECT_LE(CreatesOf(desk, "created"), 1U);
    EXPECT_LE(CreatesOf(desk, "replaced"), 1U);
    EXPECT_LE(CreatesOf(desk, "first-2"), 1U);
    if (HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Deaths, CrashTest,
                         ::testing::Values(Death::kProcess, Death::kPowerNothingKept,
                                           Death::kPowerAllKept));

// The answer to the create is lost together with the process.
TEST(Crash, ACreateWhoseAnswerNobodyHeardIsAdopted) {
  Desk desk(FakeProvider::Options{.looks = 50});
  desk.Pods(Desk::Pod("a", "    libtpuFlags: {f: 1}\n"));
  desk.cloud.Before("create", [&](FakeProvider&) { desk.files.StopAfter(0); });
  static_cast<void>(desk.Apply());
  desk.files.Restart();
  EXPECT_EQ(Pods(desk.Stored()).at(Addr("pod.a")).pending()->operation, "");
  desk.ApplyAll();
  EXPECT_EQ(desk.Requests(), std::vector<std::string>{"create a"});
  EXPECT_TRUE(desk.workers.Calls().empty());  // its runtime started with the flags
}

}  // namespace
}  // namespace podctl

// The lines of `ssh-keys` that are podctl's: published, missed, put back and taken away, beside
// everybody else's.
#include "plans/kinds/pod/published_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using testing::Actions;
using testing::ChangeOf;
using ::testing::ElementsAre;
using testing::FakeProvider;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Lines;

constexpr const char* kAlice = "alice:ssh-ed25519 AAAA alice";
constexpr const char* kBob = "bob:ssh-ed25519 BBBB bob";
const std::string kCarolKey =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIErOKoHBbRNfFjiqVkbyeOfxNWle862JNr0h1VytILw2";
const std::string kTheirs = "zoe:ssh-rsa ZZZZ  by hand \r\n# a remark";

class PublishedKeysTest : public ::testing::Test {
 protected:
  void SetUp() override {
    harness_.own_keys = {kAlice};
    harness_.Pods(Harness::Pod("a"));
    harness_.ApplyAll();
    harness_.cloud.ForgetCalls();
  }
  std::string Keys() { return harness_.Node("a")["metadata"]["ssh-keys"].AsString(); }
  void SetKeys(const std::string& text) {
    harness_.Edit("a", [&](Value& node) {
      Value metadata = Value::EmptyMap();
      metadata.Set("theirs", "x");
      if (!text.empty()) metadata.Set("ssh-keys", text);
      node.Set("metadata", metadata);
    });
  }
  std::vector<std::string> Planned() {
    const Plan plan = harness_.MakePlan();
    return plan.Empty() ? std::vector<std::string>() : Lines(ChangeOf(plan, "pod.a").attributes);
  }
  std::string FirstPlanned() {
    const auto lines = Planned();
    return lines.empty() ? "nothing is planned" : lines.front();
  }
  void Team(const std::string& list) {
    harness_.Pods(Harness::Pod("a", "    ssh: {publishKeys: [" + list + "]}\n"));
  }

  Harness harness_;
};

TEST_F(PublishedKeysTest, AKeyThatIsTakenAwayIsDriftAndIsPutBackBesideTheOthers) {
  SetKeys(kTheirs);
  const Plan plan = harness_.MakePlan();
  ASSERT_EQ(plan.drift.size(), 1U);
  EXPECT_THAT(Lines(plan.drift[0].attributes),
              ElementsAre("metadata.ssh-keys[alice]: ssh-ed25519 " + KeyWords(kAlice).substr(12) +
                          " -> (none)"));
  EXPECT_THAT(Actions(plan), ElementsAre("update pod.a"));
  EXPECT_THAT(Planned(), ElementsAre("metadata.ssh-keys[alice]: (none) -> " + KeyWords(kAlice)));
  harness_.ApplyAll();
  EXPECT_EQ(Keys(), kTheirs + "\n" + kAlice);
  EXPECT_EQ(harness_.Node("a")["metadata"]["theirs"].AsString(), "x");
  EXPECT_THAT(harness_.Requests(), ElementsAre("patch a metadata"));
}

TEST_F(PublishedKeysTest, ASecondTeammateAddsAKeyAndNobodyFlaps) {
  harness_.own_keys = {kBob};
  EXPECT_THAT(Planned(), ElementsAre("metadata.ssh-keys[bob]: (none) -> " + KeyWords(kBob)));
  EXPECT_TRUE(harness_.MakePlan().drift.empty()) << "nobody took anything";
  harness_.ApplyAll();
  EXPECT_EQ(Keys(), std::string(kAlice) + "\n" + kBob);
  harness_.own_keys = {kAlice};
  EXPECT_TRUE(harness_.MakePlan().Empty());
  harness_.ApplyAll();
  harness_.own_keys = {};  // who has no key at all
  EXPECT_TRUE(harness_.MakePlan().Empty());
  EXPECT_THAT(Pods(harness_.Stored()).at(Addr("pod.a")).own_keys, ElementsAre(kAlice, kBob));
}

TEST_F(PublishedKeysTest, AnothersLostKeyIsShownAndNotGivenBack) {
  harness_.own_keys = {kBob};
  harness_.ApplyAll();
  SetKeys(kBob);
  const Plan plan = harness_.MakePlan();
  ASSERT_EQ(plan.drift.size(), 1U);
  EXPECT_THAT(Lines(plan.drift[0].attributes)[0], HasSubstr("metadata.ssh-keys[alice]: "));
  EXPECT_TRUE(plan.Empty());
  ASSERT_TRUE(harness_.Apply().ok());
  EXPECT_EQ(Keys(), kBob);
  EXPECT_TRUE(harness_.MakePlan().drift.empty()) << "it has been told once";
}

TEST_F(PublishedKeysTest, AnyOfMyKeysWillDo) {
  harness_.own_keys = {"alice:ssh-rsa NEW alice", kAlice};
  EXPECT_TRUE(harness_.MakePlan().Empty());
  SetKeys("");
  harness_.ApplyAll();
  EXPECT_EQ(Keys(), "alice:ssh-rsa NEW alice");
}

TEST_F(PublishedKeysTest, ANodeThatWasMadeAnewByHandGetsTheKey) {
  harness_.Edit("a", [](Value& node) {
    node.Set("id", "another");
    node.Erase("metadata");
  });
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("update pod.a"));
  harness_.ApplyAll();
  EXPECT_EQ(Keys(), kAlice);
}

TEST_F(PublishedKeysTest, AKeyOfTheTeamComesAndGoes) {
  SetKeys(kTheirs + "\n" + kAlice);
  Team("\"carol:" + kCarolKey + " carol@laptop\"");
  EXPECT_THAT(FirstPlanned(), HasSubstr("metadata.ssh-keys[carol]: (none) -> ssh-ed25519 SHA256:"));
  harness_.ApplyAll();
  EXPECT_EQ(Keys(), kTheirs + "\n" + kAlice + "\ncarol:" + kCarolKey + " carol@laptop");
  harness_.own_keys = {kBob};
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("a"));
  EXPECT_THAT(FirstPlanned(), HasSubstr("carol@laptop -> (none)"));
  harness_.ApplyAll();
  EXPECT_EQ(Keys(), kTheirs + "\n" + kAlice + "\n" + kBob);
}

TEST_F(PublishedKeysTest, NobodysKeyIsPublishedWhereTheSpecSaysSo) {
  harness_.Pods(Harness::Pod("a", "    ssh: {publishKey: false}\n"));
  SetKeys(kTheirs);
  harness_.ApplyAll();
  EXPECT_EQ(Keys(), kTheirs);
  EXPECT_THAT(harness_.Requests(), IsEmpty());
}

TEST_F(PublishedKeysTest, WhatIsIgnoredOrWrittenWholeIsLeftAlone) {
  SetKeys(kTheirs);
  for (const char* ignored : {"metadata.ssh-keys", "metadata"}) {
    harness_.Pods(
        Harness::Pod("a", std::string("    lifecycle: {ignoreChanges: [") + ignored + "]}\n"));
    EXPECT_TRUE(harness_.MakePlan().Empty()) << ignored;
    EXPECT_TRUE(harness_.MakePlan().drift.empty()) << ignored;
  }
  harness_.Pods(Harness::Pod("a", "    metadata: {ssh-keys: \"whole:t K\"}\n"));
  harness_.ApplyAll();
  EXPECT_EQ(Keys(), "whole:t K");
  // From the whole entry back to lines: what the spec wrote goes, what came since stays.
  SetKeys("whole:t K\n" + kTheirs);
  harness_.Pods(Harness::Pod("a"));
  harness_.ApplyAll();
  EXPECT_EQ(Keys(), kTheirs + "\n" + kAlice);
}

TEST_F(PublishedKeysTest, WhoAddsALineAtTheSameTimeKeepsIt) {
  SetKeys("");
  harness_.cloud.Before("patch", [](FakeProvider& cloud) {
    cloud.PatchAsSomebodyElse(Harness::Name("a"), {"metadata"}, [&](Value& node) {
      node.SetPath("metadata.ssh-keys", "zoe:ssh-rsa ZZZZ zoe");
    });
  });
  harness_.ApplyAll();
  EXPECT_EQ(Keys(), std::string("zoe:ssh-rsa ZZZZ zoe\n") + kAlice);
}

TEST_F(PublishedKeysTest, ANewKeyReplacesNoOtherPod) {
  harness_.Pods(
      Harness::Pod("a") +
      Harness::Pod("b", "    lifecycle: {replaceTriggeredBy: [pod.a, pod.a.metadata]}\n"));
  harness_.ApplyAll();
  harness_.own_keys = {kBob};
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("update pod.a", "update pod.b"));
}

TEST_F(PublishedKeysTest, WithoutALookTheStateIsBelieved) {
  harness_.plan_options.refresh = false;
  EXPECT_TRUE(harness_.MakePlan().Empty());
  SetKeys("");
  EXPECT_TRUE(harness_.MakePlan().Empty());
  harness_.own_keys = {kBob};
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("update pod.a"));
}

TEST_F(PublishedKeysTest, DriftThatIsTakenIntoTheStateIsForgotten) {
  SetKeys("");
  harness_.own_keys = {};
  harness_.plan_options.mode = PlanMode::kRefreshOnly;
  EXPECT_EQ(harness_.MakePlan().drift.size(), 1U);
  ASSERT_TRUE(harness_.Apply().ok());
  EXPECT_TRUE(harness_.MakePlan().drift.empty());
  EXPECT_THAT(Pods(harness_.Stored()).at(Addr("pod.a")).own_keys, IsEmpty());
}

// Whoever goes on with a teammate's request waits for workers that do not know the key yet.
TEST_F(PublishedKeysTest, ACreateThatATeammateBeganLetsInWhoGoesOnWithIt) {
  harness_.Pods(Harness::Pod("a") + Harness::Pod("b", "    queuedResource: {}\n"));
  harness_.InterruptWhileWaiting();
  harness_.cloud.queue.capacity = true;

  harness_.own_keys = {kBob};
  harness_.plan_options.targets = {"pod.b"};
  std::string when_looked_over;
  harness_.workers.OnReadiness([&](const testing::FakeStepRunner::Call&) {
    when_looked_over = harness_.Node("b")["metadata"]["ssh-keys"].AsString();
  });
  ASSERT_TRUE(harness_.Apply().ok());
  EXPECT_EQ(when_looked_over, std::string(kAlice) + "\n" + kBob);
  EXPECT_TRUE(harness_.MakePlan().Empty());
}

TEST_F(PublishedKeysTest, WhoPublishesNoKeyForgetsThoseThatAreThere) {
  harness_.Pods(Harness::Pod("a", "    ssh: {publishKey: false}\n    labels: {x: y}\n"));
  harness_.ApplyAll();
  EXPECT_EQ(Keys(), kAlice) << "what is there stays";
  EXPECT_THAT(Pods(harness_.Stored()).at(Addr("pod.a")).own_keys, IsEmpty());
}

TEST_F(PublishedKeysTest, AKeyOfTheTeamThatIsTakenAwayIsDriftToo) {
  Team("\"carol:" + kCarolKey + " carol@laptop\"");
  harness_.ApplyAll();
  SetKeys(kAlice);
  const Plan plan = harness_.MakePlan();
  ASSERT_EQ(plan.drift.size(), 1U);
  EXPECT_THAT(Lines(plan.drift[0].attributes)[0], HasSubstr("metadata.ssh-keys[carol]: "));
  harness_.ApplyAll();
  EXPECT_THAT(Keys(), HasSubstr(kCarolKey));
}

// Who applies another's saved plan adds a key of their own, and the state knows it afterwards.
TEST(PublishedKeys, TheKeyOfWhoAppliesIsRemembered) {
  PodSpec pod;
  pod.own_keys = {kAlice};
  pod.applier_keys = {kBob};
  Value metadata = Value::EmptyMap();
  metadata.Set("ssh-keys", KeysAtCreate(pod));
  PodRecord record;
  RememberKeys(pod, metadata, &record);
  EXPECT_THAT(record.own_keys, ElementsAre(kAlice, kBob));
}

// Under OS Login nobody reads the entry: it is neither written, missed nor put back.
TEST(PublishedKeys, UnderOsLoginThereAreNone) {
  PodSpec pod;
  pod.own_keys = {kAlice};
  pod.ssh.os_login_user = "sa_1";
  PodRecord record;
  record.own_keys = {kAlice};
  record.ssh.os_login_user = "sa_1";
  const Value node = Value::EmptyMap();
  EXPECT_EQ(KeysAtCreate(pod), "");
  EXPECT_THAT(DiffKeys(pod, &record, node), IsEmpty());
  EXPECT_THAT(DriftOfKeys(pod, record, node), IsEmpty());
  Value metadata = Value::EmptyMap();
  MergeKeys(pod, record, &metadata);
  EXPECT_EQ(metadata, Value::EmptyMap());
}

TEST(PublishedKeys, AUserOfSeveralKeysIsToldApart) {
  const auto lines = KeyAttributes("a:ssh-rsa AAAA\na:ssh-rsa BBBB");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].path, "metadata.ssh-keys[a]");
  EXPECT_THAT(lines[1].path, HasSubstr("metadata.ssh-keys[a SHA256:"));
  // A saved plan may hold anything.
  EXPECT_EQ(KeyAttributes("no key\nnone").size(), 2U);
}

}  // namespace
}  // namespace podctl

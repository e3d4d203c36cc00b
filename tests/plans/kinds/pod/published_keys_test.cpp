// The lines of `ssh-keys` that are podctl's: published, missed, put back and taken away, beside
// everybody else's.
#include "plans/kinds/pod/published_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "tests/plans/desk.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using testing::Actions;
using testing::ChangeOf;
using testing::Desk;
using ::testing::ElementsAre;
using testing::FakeProvider;
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
    desk_.own_keys = {kAlice};
    desk_.Pods(Desk::Pod("a"));
    desk_.ApplyAll();
    desk_.cloud.ForgetCalls();
  }
  std::string Keys() { return desk_.Node("a")["metadata"]["ssh-keys"].AsString(); }
  void SetKeys(const std::string& text) {
    desk_.Edit("a", [&](Value& node) {
      Value metadata = Value::EmptyMap();
      metadata.Set("theirs", "x");
      if (!text.empty()) metadata.Set("ssh-keys", text);
      node.Set("metadata", metadata);
    });
  }
  std::vector<std::string> Planned() {
    const Plan plan = desk_.MakePlan();
    return plan.Empty() ? std::vector<std::string>() : Lines(ChangeOf(plan, "pod.a").attributes);
  }
  std::string FirstPlanned() {
    const auto lines = Planned();
    return lines.empty() ? "nothing is planned" : lines.front();
  }
  void Team(const std::string& list) {
    desk_.Pods(Desk::Pod("a", "    ssh: {publishKeys: [" + list + "]}\n"));
  }

  Desk desk_;
};

TEST_F(PublishedKeysTest, AKeyThatIsTakenAwayIsDriftAndIsPutBackBesideTheOthers) {
  SetKeys(kTheirs);
  const Plan plan = desk_.MakePlan();
  ASSERT_EQ(plan.drift.size(), 1U);
  EXPECT_THAT(Lines(plan.drift[0].attributes),
              ElementsAre("metadata.ssh-keys[alice]: ssh-ed25519 " + KeyWords(kAlice).substr(12) +
                          " -> (none)"));
  EXPECT_THAT(Actions(plan), ElementsAre("update pod.a"));
  EXPECT_THAT(Planned(), ElementsAre("metadata.ssh-keys[alice]: (none) -> " + KeyWords(kAlice)));
  desk_.ApplyAll();
  EXPECT_EQ(Keys(), kTheirs + "\n" + kAlice);
  EXPECT_EQ(desk_.Node("a")["metadata"]["theirs"].AsString(), "x");
  EXPECT_THAT(desk_.Requests(), ElementsAre("patch a metadata"));
}

TEST_F(PublishedKeysTest, ASecondTeammateAddsAKeyAndNobodyFlaps) {
  desk_.own_keys = {kBob};
  EXPECT_THAT(Planned(), ElementsAre("metadata.ssh-keys[bob]: (none) -> " + KeyWords(kBob)));
  EXPECT_TRUE(desk_.MakePlan().drift.empty()) << "nobody took anything";
  desk_.ApplyAll();
  EXPECT_EQ(Keys(), std::string(kAlice) + "\n" + kBob);
  desk_.own_keys = {kAlice};
  EXPECT_TRUE(desk_.MakePlan().Empty());
  desk_.ApplyAll();
  desk_.own_keys = {};  // who has no key at all
  EXPECT_TRUE(desk_.MakePlan().Empty());
  EXPECT_THAT(Pods(desk_.Stored()).at(Addr("pod.a")).own_keys, ElementsAre(kAlice, kBob));
}

TEST_F(PublishedKeysTest, AnothersLostKeyIsShownAndNotGivenBack) {
  desk_.own_keys = {kBob};
  desk_.ApplyAll();
  SetKeys(kBob);
  const Plan plan = desk_.MakePlan();
  ASSERT_EQ(plan.drift.size(), 1U);
  EXPECT_THAT(Lines(plan.drift[0].attributes)[0], HasSubstr("metadata.ssh-keys[alice]: "));
  EXPECT_TRUE(plan.Empty());
  ASSERT_TRUE(desk_.Apply().ok());
  EXPECT_EQ(Keys(), kBob);
  EXPECT_TRUE(desk_.MakePlan().drift.empty()) << "it has been told once";
}

TEST_F(PublishedKeysTest, AnyOfMyKeysWillDo) {
  desk_.own_keys = {"alice:ssh-rsa NEW alice", kAlice};
  EXPECT_TRUE(desk_.MakePlan().Empty());
  SetKeys("");
  desk_.ApplyAll();
  EXPECT_EQ(Keys(), "alice:ssh-rsa NEW alice");
}

TEST_F(PublishedKeysTest, ANodeThatWasMadeAnewByHandGetsTheKey) {
  desk_.Edit("a", [](Value& node) {
    node.Set("id", "another");
    node.Erase("metadata");
  });
  EXPECT_THAT(Actions(desk_.MakePlan()), ElementsAre("update pod.a"));
  desk_.ApplyAll();
  EXPECT_EQ(Keys(), kAlice);
}

TEST_F(PublishedKeysTest, AKeyOfTheTeamComesAndGoes) {
  SetKeys(kTheirs + "\n" + kAlice);
  Team("\"carol:" + kCarolKey + " carol@laptop\"");
  EXPECT_THAT(FirstPlanned(), HasSubstr("metadata.ssh-keys[carol]: (none) -> ssh-ed25519 SHA256:"));
  desk_.ApplyAll();
  EXPECT_EQ(Keys(), kTheirs + "\n" + kAlice + "\ncarol:" + kCarolKey + " carol@laptop");
  desk_.own_keys = {kBob};
  desk_.ApplyAll();
  desk_.Pods(Desk::Pod("a"));
  EXPECT_THAT(FirstPlanned(), HasSubstr("carol@laptop -> (none)"));
  desk_.ApplyAll();
  EXPECT_EQ(Keys(), kTheirs + "\n" + kAlice + "\n" + kBob);
}

TEST_F(PublishedKeysTest, NobodysKeyIsPublishedWhereTheSpecSaysSo) {
  desk_.Pods(Desk::Pod("a", "    ssh: {publishKey: false}\n"));
  SetKeys(kTheirs);
  desk_.ApplyAll();
  EXPECT_EQ(Keys(), kTheirs);
  EXPECT_THAT(desk_.Requests(), IsEmpty());
}

TEST_F(PublishedKeysTest, WhatIsIgnoredOrWrittenWholeIsLeftAlone) {
  SetKeys(kTheirs);
  for (const char* ignored : {"metadata.ssh-keys", "metadata"}) {
    desk_.Pods(Desk::Pod("a", std::string("    lifecycle: {ignoreChanges: [") + ignored + "]}\n"));
    EXPECT_TRUE(desk_.MakePlan().Empty()) << ignored;
    EXPECT_TRUE(desk_.MakePlan().drift.empty()) << ignored;
  }
  desk_.Pods(Desk::Pod("a", "    metadata: {ssh-keys: \"whole:t K\"}\n"));
  desk_.ApplyAll();
  EXPECT_EQ(Keys(), "whole:t K");
  // From the whole entry back to lines: what the spec wrote goes, what came since stays.
  SetKeys("whole:t K\n" + kTheirs);
  desk_.Pods(Desk::Pod("a"));
  desk_.ApplyAll();
  EXPECT_EQ(Keys(), kTheirs + "\n" + kAlice);
}

TEST_F(PublishedKeysTest, WhoAddsALineAtTheSameTimeKeepsIt) {
  SetKeys("");
  desk_.cloud.Before("patch", [](FakeProvider& cloud) {
    cloud.PatchAsSomebodyElse(Desk::Name("a"), {"metadata"}, [&](Value& node) {
      node.SetPath("metadata.ssh-keys", "zoe:ssh-rsa ZZZZ zoe");
    });
  });
  desk_.ApplyAll();
  EXPECT_EQ(Keys(), std::string("zoe:ssh-rsa ZZZZ zoe\n") + kAlice);
}

TEST_F(PublishedKeysTest, ANewKeyReplacesNoOtherPod) {
  desk_.Pods(Desk::Pod("a") +
             Desk::Pod("b", "    lifecycle: {replaceTriggeredBy: [pod.a, pod.a.metadata]}\n"));
  desk_.ApplyAll();
  desk_.own_keys = {kBob};
  EXPECT_THAT(Actions(desk_.MakePlan()), ElementsAre("update pod.a", "update pod.b"));
}

TEST_F(PublishedKeysTest, WithoutALookTheStateIsBelieved) {
  desk_.plan_options.refresh = false;
  EXPECT_TRUE(desk_.MakePlan().Empty());
  SetKeys("");
  EXPECT_TRUE(desk_.MakePlan().Empty());
  desk_.own_keys = {kBob};
  EXPECT_THAT(Actions(desk_.MakePlan()), ElementsAre("update pod.a"));
}

TEST_F(PublishedKeysTest, DriftThatIsTakenIntoTheStateIsForgotten) {
  SetKeys("");
  desk_.own_keys = {};
  desk_.plan_options.mode = PlanMode::kRefreshOnly;
  EXPECT_EQ(desk_.MakePlan().drift.size(), 1U);
  ASSERT_TRUE(desk_.Apply().ok());
  EXPECT_TRUE(desk_.MakePlan().drift.empty());
  EXPECT_THAT(Pods(desk_.Stored()).at(Addr("pod.a")).own_keys, IsEmpty());
}

// Whoever goes on with a teammate's request waits for workers that do not know the key yet.
TEST_F(PublishedKeysTest, ACreateThatATeammateBeganLetsInWhoGoesOnWithIt) {
  desk_.Pods(Desk::Pod("a") + Desk::Pod("b", "    queuedResource: {}\n"));
  desk_.InterruptWhileWaiting();
  desk_.cloud.queue.capacity = true;

  desk_.own_keys = {kBob};
  desk_.plan_options.targets = {"pod.b"};
  std::string when_looked_over;
  desk_.workers.OnReadiness([&](const testing::FakeStepRunner::Call&) {
    when_looked_over = desk_.Node("b")["metadata"]["ssh-keys"].AsString();
  });
  ASSERT_TRUE(desk_.Apply().ok());
  EXPECT_EQ(when_looked_over, std::string(kAlice) + "\n" + kBob);
  EXPECT_TRUE(desk_.MakePlan().Empty());
}

TEST_F(PublishedKeysTest, WhoPublishesNoKeyForgetsThoseThatAreThere) {
  desk_.Pods(Desk::Pod("a", "    ssh: {publishKey: false}\n    labels: {x: y}\n"));
  desk_.ApplyAll();
  EXPECT_EQ(Keys(), kAlice) << "what is there stays";
  EXPECT_THAT(Pods(desk_.Stored()).at(Addr("pod.a")).own_keys, IsEmpty());
}

TEST_F(PublishedKeysTest, AKeyOfTheTeamThatIsTakenAwayIsDriftToo) {
  Team("\"carol:" + kCarolKey + " carol@laptop\"");
  desk_.ApplyAll();
  SetKeys(kAlice);
  const Plan plan = desk_.MakePlan();
  ASSERT_EQ(plan.drift.size(), 1U);
  EXPECT_THAT(Lines(plan.drift[0].attributes)[0], HasSubstr("metadata.ssh-keys[carol]: "));
  desk_.ApplyAll();
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

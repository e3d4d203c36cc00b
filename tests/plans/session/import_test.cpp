// A node that somebody else made becomes ours: the spec that is written, and what is refused.
#include "plans/session/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plans/kinds/pod/lineage_label.h"
#include "tests/plans/session/session_desk.h"

namespace podctl {
namespace {

using testing::Desk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SessionDesk;

class ImportSession : public ::testing::Test, protected SessionDesk {
 protected:
  ImportSession() {
    Value node = Value::EmptyMap();
    node.Set("acceleratorType", "v3-32");
    node.Set("runtimeVersion", "tpu-vm-tf-2.11.0-pod");
    cloud.PutNode(Desk::Name("made-by-hand"), node);
    wishes_.address = "pod.a";
    wishes_.id = "made-by-hand";
    wishes_.load = testing::WithKinds();
    wishes_.load.project = "p";
    wishes_.load.zone = "europe-west4-a";
    wishes_.state = {kStatePath, false};
    wishes_.lock = {[] { return LockInfo{}; }, {}};
  }
  std::variant<Imported, NoImport> Run() { return Import(ToPlan(), clock, random, wishes_, *this); }
  Imported Done() {
    auto made = Run();
    if (auto* done = std::get_if<Imported>(&made)) return std::move(*done);
    const auto& error = std::get<NoImport>(made).error;
    ADD_FAILURE() << (error ? error->message : Join(told, ", "));
    return {};
  }
  Error Refused() {
    auto made = Run();
    if (const auto* none = std::get_if<NoImport>(&made); none != nullptr && none->error) {
      return *none->error;
    }
    ADD_FAILURE() << "it was imported";
    return {};
  }

  // Somebody asks for the node `late` through the queued resource `q`, which waits.
  void Ask(const std::string& lineage) {
    cloud.queue.capacity = false;
    Value node = Value::EmptyMap();
    node.Set("acceleratorType", "v3-32");
    node.Set("runtimeVersion", "tpu-vm-tf-2.11.0-pod");
    if (!lineage.empty()) node = WithLineage(std::move(node), lineage);
    Value spec = Value::EmptyMap();
    spec.Set("nodeId", "late");
    spec.Set("parent", "projects/p/locations/europe-west4-a");
    spec.Set("node", node);
    Value body = Value::EmptyMap();
    body.SetPath("tpu.nodeSpec", Value(Value::List{spec}));
    ASSERT_TRUE(cloud.queue.Create({"p", "europe-west4-a", "q"}, body, "id", {}));
  }

  ImportWishes wishes_;
};

TEST_F(ImportSession, TheSpecThatItReturnsMatchesTheNode) {
  const Imported done = Done();
  EXPECT_THAT(done.text, HasSubstr("acceleratorType: v3-32"));
  EXPECT_THAT(done.differs, IsEmpty());
  EXPECT_FALSE(done.waits);
  EXPECT_EQ(podctl::Pods(Stored()).at(Addr("pod.a")).current.locator, "made-by-hand");
  EXPECT_EQ(cloud.MutatingCalls(), 0);
  Spec(done.text);
  EXPECT_TRUE(Planned(Wishes()).plan.Empty());
}

TEST_F(ImportSession, WritesItBelowThePodsOfAFile) {
  Pods(Desk::Pod("b"));
  wishes_.load.paths = {kSpecPath};
  wishes_.write_spec = kSpecPath;
  const Imported done = Done();
  EXPECT_EQ(done.target, kSpecPath);
  EXPECT_EQ(*files.FileText(kSpecPath), done.text);
  EXPECT_THAT(done.text, HasSubstr("  b:\n"));
  EXPECT_THAT(done.text, HasSubstr("  a:\n"));
}

TEST_F(ImportSession, TakesAPodThatTheSpecHasAndSaysWhatItWantsOtherwise) {
  Pods(Desk::Pod("a", "    nodeId: made-by-hand\n    labels: {team: x}\n"));
  wishes_.load.paths = {kSpecPath};
  const Imported done = Done();
  EXPECT_EQ(done.text, "");
  EXPECT_THAT(done.differs, ElementsAre("labels.team"));
}

TEST_F(ImportSession, WhatIsThereAlreadyIsRefused) {
  Done();
  EXPECT_EQ(Refused().message, "pod.a is in the state already");
  wishes_.address = "pod.b";
  EXPECT_EQ(Refused().message, "the node `made-by-hand` is pod.a in the state already");
}

TEST_F(ImportSession, ANodeIsTheSameByItsProjectsNumber) {
  Done();
  const NodeName numbered{"123", "europe-west4-a", "made-by-hand"};
  const Value node = *cloud.Node(Desk::Name("made-by-hand"));
  cloud.PutNode(numbered, node);
  cloud.EditNode(numbered, [&](Value& same) { same.Set("id", node["id"]); });
  wishes_.address = "pod.b";
  wishes_.id = numbered.Resource();
  EXPECT_EQ(Refused().message, "the node `made-by-hand` is pod.a in the state already");
}

TEST_F(ImportSession, TheSpecOfWhatIsImportedCanBeWrittenLater) {
  const std::string text = Done().text;
  const std::string before = *files.FileText(kStatePath);
  wishes_.write_spec = kSpecPath;
  const Imported done = Done();
  EXPECT_TRUE(done.known);
  EXPECT_EQ(*files.FileText(kSpecPath), done.text);
  EXPECT_THAT(done.text, HasSubstr("nodeId: made-by-hand"));
  EXPECT_EQ(*files.FileText(kStatePath), before);
  EXPECT_TRUE(Planned(Wishes()).plan.Empty());
}

TEST_F(ImportSession, AnotherNodesSpecIsNotWrittenUnderItsAddress) {
  Done();
  cloud.PutNode(Desk::Name("another"), Value::EmptyMap());
  wishes_.id = "another";
  wishes_.write_spec = kSpecPath;
  EXPECT_EQ(Refused().message, "pod.a is another node in the state: `made-by-hand`");
  EXPECT_FALSE(files.FileText(kSpecPath));
}

TEST_F(ImportSession, SaysWithWhichOtherStateTheNodeWasMade) {
  EXPECT_EQ(Done().made_with, "") << "podctl did not make it";
  const Value theirs = WithLineage(*cloud.Node(Desk::Name("made-by-hand")), "theirs");
  cloud.PutNode(Desk::Name("theirs"), theirs);
  wishes_.address = "pod.b";
  wishes_.id = "theirs";
  const Imported done = Done();
  EXPECT_EQ(done.made_with, "theirs");
  // From now on it is known by its uid, and its label stays.
  Spec(
      "project: p\nzone: europe-west4-a\npods:\n  a: {nodeId: made-by-hand, acceleratorType: "
      "v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod}\n  b: {nodeId: theirs, acceleratorType: "
      "v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod}\n");
  EXPECT_TRUE(Planned(Wishes()).plan.Empty());
}

TEST_F(ImportSession, WhatItsOwnStateMadeIsNoOthers) {
  Done();
  const Value ours = WithLineage(*cloud.Node(Desk::Name("made-by-hand")), Stored().lineage);
  cloud.PutNode(Desk::Name("ours"), ours);
  wishes_.address = "pod.b";
  wishes_.id = "ours";
  EXPECT_EQ(Done().made_with, "");
}

TEST_F(ImportSession, AnAddressThatIsNoneIsHelped) {
  wishes_.address = "a";
  EXPECT_EQ(Refused().hint, "did you mean `pod.a`?");
}

TEST_F(ImportSession, ANodeThatIsNotThereIsHelped) {
  wishes_.id = "made-by-hant";
  const Error error = Refused();
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(error.hint, "did you mean `made-by-hand`?");
}

TEST_F(ImportSession, ASpecThatIsWrongIsToldAndNothingIsChanged) {
  Pods(Desk::Pod("b", "    runtimeVerson: x\n"));
  wishes_.load.paths = {kSpecPath};
  const auto made = Run();
  ASSERT_TRUE(std::holds_alternative<NoImport>(made));
  EXPECT_FALSE(std::get<NoImport>(made).error);
  EXPECT_THAT(told, ElementsAre(HasSubstr("runtimeVerson")));
  EXPECT_THAT(cloud.Calls(), IsEmpty());
}

TEST_F(ImportSession, ALockOfAnotherIsRespected) {
  Lock();
  EXPECT_EQ(Refused().code, ErrorCode::kLocked);
  EXPECT_EQ(files.FileText(kStatePath), std::nullopt);
}

TEST_F(ImportSession, AnInterruptLeavesTheStateAlone) {
  // In the middle of the last question; everything has been asked then.
  cloud.Before("attributes", [this](testing::FakeProvider&) { drain.request_stop(); });
  EXPECT_EQ(Refused().code, ErrorCode::kCancelled);
  EXPECT_EQ(files.FileText(kStatePath), std::nullopt);
}

TEST_F(ImportSession, ARequestThatWaitsIsTakenBeforeItsNode) {
  Ask({});
  wishes_.id = "late";
  const Imported done = Done();
  EXPECT_TRUE(done.waits);
  ASSERT_TRUE(done.queued);
  EXPECT_EQ(done.queued->id, "q");
  EXPECT_TRUE(podctl::Pods(Stored()).at(Addr("pod.a")).pending());
}

// Its node will bear that label, and would be taken for theirs.
TEST_F(ImportSession, ARequestOfAnotherStateIsTakenWithItsNodeOnly) {
  Ask("theirs");
  wishes_.id = "late";
  const Error error = Refused();
  EXPECT_THAT(error.message, HasSubstr("while it waits: podctl asked for it with another state, of "
                                       "lineage theirs"));
  EXPECT_EQ(error.hint, "import it once its node is there");
}

}  // namespace
}  // namespace podctl

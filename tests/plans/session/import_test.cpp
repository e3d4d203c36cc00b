// A node that somebody else made becomes ours: the spec that is written, and what is refused.
#include "plans/session/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plans/kinds/pod/lineage_label.h"
#include "plans/session/import_all.h"
#include "plans/session/temporary.h"
#include "providers/slices.h"
#include "tests/plans/session/session_harness.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SessionHarness;

class ImportSession : public ::testing::Test, protected SessionHarness {
 protected:
  ImportSession() {
    Value node = Value::EmptyMap();
    node.Set("acceleratorType", "v3-32");
    node.Set("runtimeVersion", "tpu-vm-tf-2.11.0-pod");
    cloud.PutNode(Harness::Name("made-by-hand"), node);
    request_.address = "pod.a";
    request_.id = "made-by-hand";
    request_.load = testing::WithKinds();
    request_.load.project = "p";
    request_.load.zone = "europe-west4-a";
    request_.state = {kStatePath, false};
    request_.lock = {[] { return LockInfo{}; }, {}};
  }
  std::variant<Imported, NoImport> Run() {
    return Import(ToPlan(), clock, random, request_, *this);
  }
  Imported Done() {
    auto made = Run();
    if (auto* done = std::get_if<Imported>(&made)) return std::move(*done);
    const auto& error = std::get<NoImport>(made).error;
    ADD_FAILURE() << (error ? error->message : Join(reported, ", "));
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

  ImportRequest request_;
};

TEST_F(ImportSession, TheSpecThatItReturnsMatchesTheNode) {
  const Imported done = Done();
  EXPECT_THAT(done.text, HasSubstr("acceleratorType: v3-32"));
  EXPECT_THAT(done.differs, IsEmpty());
  EXPECT_FALSE(done.waits);
  EXPECT_EQ(podctl::Pods(Stored()).at(Addr("pod.a")).current.locator, "made-by-hand");
  EXPECT_EQ(cloud.MutatingCalls(), 0);
  Spec(done.text);
  EXPECT_TRUE(Planned(Request()).plan.Empty());
}

TEST_F(ImportSession, WritesItBelowThePodsOfAFile) {
  Pods(Harness::Pod("b"));
  request_.load.paths = {kSpecPath};
  request_.write_spec = kSpecPath;
  const Imported done = Done();
  EXPECT_EQ(done.target, kSpecPath);
  EXPECT_EQ(*files.FileText(kSpecPath), done.text);
  EXPECT_THAT(done.text, HasSubstr("  b:\n"));
  EXPECT_THAT(done.text, HasSubstr("  a:\n"));
}

TEST_F(ImportSession, TakesAPodThatTheSpecHasAndSaysWhatItWantsOtherwise) {
  Pods(Harness::Pod("a", "    nodeId: made-by-hand\n    labels: {team: x}\n"));
  request_.load.paths = {kSpecPath};
  const Imported done = Done();
  EXPECT_EQ(done.text, "");
  EXPECT_THAT(done.differs, ElementsAre("labels.team"));
}

TEST_F(ImportSession, WhatIsThereAlreadyIsRefused) {
  Done();
  EXPECT_EQ(Refused().message, "pod.a is in the state already");
  request_.address = "pod.b";
  EXPECT_EQ(Refused().message, "the node `made-by-hand` is pod.a in the state already");
}

TEST_F(ImportSession, ANodeIsTheSameByItsProjectsNumber) {
  Done();
  const NodeName numbered{"123", "europe-west4-a", "made-by-hand"};
  const Value node = *cloud.Node(Harness::Name("made-by-hand"));
  cloud.PutNode(numbered, node);
  cloud.EditNode(numbered, [&](Value& same) { same.Set("id", node["id"]); });
  request_.address = "pod.b";
  request_.id = numbered.Resource();
  EXPECT_EQ(Refused().message, "the node `made-by-hand` is pod.a in the state already");
}

TEST_F(ImportSession, TheSpecOfWhatIsImportedCanBeWrittenLater) {
  const std::string text = Done().text;
  const std::string before = *files.FileText(kStatePath);
  request_.write_spec = kSpecPath;
  const Imported done = Done();
  EXPECT_TRUE(done.known);
  EXPECT_EQ(*files.FileText(kSpecPath), done.text);
  EXPECT_THAT(done.text, HasSubstr("nodeId: made-by-hand"));
  EXPECT_EQ(*files.FileText(kStatePath), before);
  EXPECT_TRUE(Planned(Request()).plan.Empty());
}

TEST_F(ImportSession, AnotherNodesSpecIsNotWrittenUnderItsAddress) {
  Done();
  cloud.PutNode(Harness::Name("another"), Value::EmptyMap());
  request_.id = "another";
  request_.write_spec = kSpecPath;
  EXPECT_EQ(Refused().message, "pod.a is another node in the state: `made-by-hand`");
  EXPECT_FALSE(files.FileText(kSpecPath));
}

TEST_F(ImportSession, SaysWithWhichOtherStateTheNodeWasMade) {
  EXPECT_EQ(Done().made_with, "") << "podctl did not make it";
  const Value theirs = WithLineage(*cloud.Node(Harness::Name("made-by-hand")), "theirs");
  cloud.PutNode(Harness::Name("theirs"), theirs);
  request_.address = "pod.b";
  request_.id = "theirs";
  const Imported done = Done();
  EXPECT_EQ(done.made_with, "theirs");
  // From now on it is known by its uid, and its label stays.
  Spec(
      "project: p\nzone: europe-west4-a\npods:\n  a: {nodeId: made-by-hand, acceleratorType: "
      "v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod}\n  b: {nodeId: theirs, acceleratorType: "
      "v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod}\n");
  EXPECT_TRUE(Planned(Request()).plan.Empty());
}

TEST_F(ImportSession, WhatItsOwnStateMadeIsNoOthers) {
  Done();
  const Value ours = WithLineage(*cloud.Node(Harness::Name("made-by-hand")), Stored().lineage);
  cloud.PutNode(Harness::Name("ours"), ours);
  request_.address = "pod.b";
  request_.id = "ours";
  EXPECT_EQ(Done().made_with, "");
}

TEST_F(ImportSession, WritesOverNothingOfPodctlsOwn) {
  const std::string state = kStatePath;
  files.SetFile("/project/reviewed.plan", "{\"kind\": \"podctl plan\"}");
  for (const std::string& path :
       {state, state + ".lock", state + ".history/x", state + ".backup",
        std::string("/project/reviewed.plan"), std::string("/project/sub/podctl.state.json")}) {
    request_.write_spec = path;
    const auto before = files.FileText(path);
    EXPECT_THAT(Refused().message,
                ::testing::AnyOf(HasSubstr("is podctl's own"), HasSubstr("is a saved plan")))
        << path;
    EXPECT_EQ(files.FileText(path), before);
  }
}

TEST_F(ImportSession, WhatAKilledRunLeftGoes) {
  request_.write_spec = "/project/podctl.yaml";
  const std::string dead =
      "/project/" + TemporaryName("/project/podctl.yaml", "temporary spec", "999999999", "");
  files.SetFile(dead, "pods:");
  files.SetFile("/project/podctl.yaml.1.tmp", "somebody's");
  Done();
  EXPECT_FALSE(files.FileText(dead));
  EXPECT_EQ(files.FileText("/project/podctl.yaml.1.tmp"), "somebody's");
  EXPECT_TRUE(files.FileText("/project/podctl.yaml"));
}

TEST_F(ImportSession, MetadataThatIsNoTextIsLeftAlone) {
  Value node = Value::EmptyMap();
  node.Set("acceleratorType", "v3-32");
  node.Set("runtimeVersion", "tpu-vm-tf-2.11.0-pod");
  node.SetPath("metadata.startup-script", 5);
  node.Set("description", 7);
  cloud.PutNode(Harness::Name("made-by-hand"), node);
  const Imported done = Done();
  EXPECT_THAT(done.text, ::testing::Not(HasSubstr("startup-script:")));
  EXPECT_THAT(done.text, HasSubstr("no text, and which podctl leaves alone: startup-script"));
  EXPECT_THAT(done.text, ::testing::Not(HasSubstr("description")));
  EXPECT_THAT(done.differs, IsEmpty());
}

TEST_F(ImportSession, AnAddressThatIsNoneIsHelped) {
  request_.address = "a";
  EXPECT_EQ(Refused().hint, "did you mean `pod.a`?");
}

TEST_F(ImportSession, ANodeThatIsNotThereIsHelped) {
  request_.id = "made-by-hant";
  const Error error = Refused();
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(error.hint, "did you mean `made-by-hand`?");
}

TEST_F(ImportSession, ASpecThatIsWrongIsToldAndNothingIsChanged) {
  Pods(Harness::Pod("b", "    runtimeVerson: x\n"));
  request_.load.paths = {kSpecPath};
  const auto made = Run();
  ASSERT_TRUE(std::holds_alternative<NoImport>(made));
  EXPECT_FALSE(std::get<NoImport>(made).error);
  EXPECT_THAT(reported, ElementsAre(HasSubstr("runtimeVerson")));
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
  request_.id = "late";
  const Imported done = Done();
  EXPECT_TRUE(done.waits);
  ASSERT_TRUE(done.queued);
  EXPECT_EQ(done.queued->id, "q");
  EXPECT_TRUE(podctl::Pods(Stored()).at(Addr("pod.a")).pending());
}

// Its node will bear that label, and would be taken for theirs.
TEST_F(ImportSession, ARequestOfAnotherStateIsTakenWithItsNodeOnly) {
  Ask("theirs");
  request_.id = "late";
  const Error error = Refused();
  EXPECT_THAT(error.message, HasSubstr("while it waits: podctl asked for it with another state, of "
                                       "lineage theirs"));
  EXPECT_EQ(error.hint, "import it once its node is there");
}

// ---- All of a project.

class ImportAllSession : public ::testing::Test,
                         protected SessionHarness,
                         protected ImportListener {
 protected:
  static constexpr const char* kEurope = "europe-west4-a";
  static constexpr const char* kAmerica = "us-central2-b";

  ImportAllSession() {
    request_.zone = "-";
    request_.load = testing::WithKinds();
    request_.load.project = "p";
    request_.state = {kStatePath, false};
    request_.lock = {[] { return LockInfo{}; }, {}};
  }
  void Put(const std::string& zone, const std::string& id) {
    cloud.PutNode({"p", zone, id}, Node());
  }
  static Value Node() {
    return Value::Map{{"acceleratorType", "v3-32"}, {"runtimeVersion", "tpu-vm-tf-2.11.0-pod"}};
  }
  void Ask(const std::string& id, Value spec) {
    spec.Set("parent", "projects/p/locations/europe-west4-a");
    spec.Set("node", Node());
    Value body = Value::EmptyMap();
    body.SetPath("tpu.nodeSpec", Value(Value::List{spec}));
    ASSERT_TRUE(cloud.queue.Create({"p", kEurope, id}, body, id, {}));
  }

  ImportedAll Run() {
    drain = std::stop_source();
    auto made = ImportAll(ToPlan(), clock, random, request_, *this);
    if (auto* all = std::get_if<ImportedAll>(&made)) return std::move(*all);
    const auto& error = std::get<NoImport>(made).error;
    ADD_FAILURE() << (error ? error->message : Join(reported, ", "));
    return {};
  }
  static std::vector<std::string> Addresses(const ImportSurvey& survey) {
    std::vector<std::string> addresses;
    for (const Candidate& each : survey.candidates) addresses.push_back(each.address.Text());
    return addresses;
  }
  static std::vector<std::string> Left(const ImportSurvey& survey) {
    std::vector<std::string> left;
    for (const NotImported& each : survey.left) {
      left.push_back(each.resource.substr(each.resource.rfind('/') + 1) + ": " + each.why);
    }
    return left;
  }
  std::vector<std::string> InState() {
    std::vector<std::string> addresses;
    const State state = Stored();
    for (const auto& [address, record] : podctl::Pods(state)) addresses.push_back(address.Text());
    return addresses;
  }

  bool Approve(const ImportSurvey&) override {
    ++asked_;
    return approves_;
  }
  void OnTaken(const Imported&) override {
    if (--lives_ == 0) drain.request_stop();
    if (spec_when_taken_.empty()) spec_when_taken_ = files.FileText(kSpecPath).value_or("none");
  }
  void OnSpec(const Diagnostics& warnings) override { SessionHarness::OnSpec(warnings); }
  void OnTakeover(const std::string& note) override { SessionHarness::OnTakeover(note); }

  ImportAllRequest request_;
  bool approves_ = true;
  int asked_ = 0;
  int lives_ = -1;               // pods until an interrupt
  std::string spec_when_taken_;  // the file when the first was taken
};

TEST_F(ImportAllSession, OneSpecMatchesTheNodesOfAllZones) {
  Put(kEurope, "train");
  Put(kAmerica, "train");
  Put(kAmerica, "test");
  const ImportedAll all = Run();
  EXPECT_THAT(Addresses(all.survey),
              ElementsAre("pod.train-europe-west4-a", "pod.test", "pod.train-us-central2-b"));
  EXPECT_EQ(all.text,
            "project: p\n\npods:\n"
            "  train-europe-west4-a:\n    nodeId: train\n    zone: europe-west4-a\n"
            "    acceleratorType: v3-32\n    runtimeVersion: tpu-vm-tf-2.11.0-pod\n"
            "  test:\n    zone: us-central2-b\n"
            "    acceleratorType: v3-32\n    runtimeVersion: tpu-vm-tf-2.11.0-pod\n"
            "  train-us-central2-b:\n    nodeId: train\n    zone: us-central2-b\n"
            "    acceleratorType: v3-32\n    runtimeVersion: tpu-vm-tf-2.11.0-pod\n");
  EXPECT_EQ(all.done.size(), 3U);
  EXPECT_FALSE(all.error);
  EXPECT_EQ(cloud.MutatingCalls(), 0);
  Spec(all.text);
  EXPECT_TRUE(Planned(Request()).plan.Empty());
}

TEST_F(ImportAllSession, OneZoneStandsAboveItsPods) {
  Put(kEurope, "train");
  Put(kAmerica, "train");
  request_.zone = kAmerica;
  EXPECT_THAT(Run().text, ::testing::StartsWith("project: p\nzone: us-central2-b\n\npods:\n"
                                                "  train:\n    acceleratorType"));
}

TEST_F(ImportAllSession, WhatWillNotStayAndWhatIsAnothersIsNamedAndLeftAlone) {
  for (const char* id : {"going", "coming", "lost", "theirs", "mine"}) Put(kEurope, id);
  const auto become = [&](const std::string& id, const std::string& state) {
    cloud.EditNode({"p", kEurope, id}, [&](Value& node) { node.Set("state", state); });
  };
  become("going", "DELETING");
  become("coming", "CREATING");
  become("lost", "PREEMPTED");
  cloud.EditNode({"p", kEurope, "theirs"},
                 [](Value& node) { node = WithLineage(std::move(node), "another"); });
  Ask("over", Value::Map{{"nodeId", "never"}});
  cloud.queue.Put({"p", kEurope, "over"}, "FAILED", "no more capacity");
  const ImportedAll all = Run();
  EXPECT_THAT(InState(), ElementsAre("pod.mine"));
  EXPECT_THAT(Left(all.survey),
              ElementsAre("coming: it is still being created", "going: it is being deleted",
                          "lost: it is PREEMPTED",
                          "theirs: podctl made it with another state, of lineage another",
                          "over: it is FAILED: no more capacity"));
  std::string ways;
  for (const NotImported& each : all.survey.left) ways += each.way;
  EXPECT_EQ(ways, "podctl import pod.theirs p/europe-west4-a/theirs");
}

TEST_F(ImportAllSession, ANodeThatNoSpecDescribesKeepsNobodyFromTheOthers) {
  Put(kEurope, "usual");
  cloud.PutNode({"p", kEurope, "strange"}, Value::Map{{"acceleratorType", "v3-32"}});
  const ImportedAll all = Run();
  EXPECT_THAT(InState(), ElementsAre("pod.usual"));
  EXPECT_THAT(Left(all.survey), ElementsAre("strange: podctl cannot write a spec that matches it"));
  EXPECT_THAT(reported, IsEmpty());
}

TEST_F(ImportAllSession, NamesakesKeepNobodyFromTheOthers) {
  Put(kEurope, "good");
  Put(kEurope, "here");
  cloud.queue.capacity = false;
  for (const char* id : {"q1", "q2"}) Ask(id, Value::Map{{"nodeId", "late"}});
  const ImportedAll all = Run();
  EXPECT_THAT(Addresses(all.survey), ElementsAre("pod.good", "pod.here"));
  EXPECT_THAT(Left(all.survey), ElementsAre("q1: another queued resource asks for the same node",
                                            "q2: another queued resource asks for the same node"));
  EXPECT_EQ(all.done.size(), 2U);
}

TEST_F(ImportAllSession, WhatIsTooLargeForOneFileSaysHowToSplitIt) {
  Value node = Node();
  node.SetPath("metadata.startup-script", std::string(200'000, 'x'));
  for (int i = 0; i < 22; ++i) cloud.PutNode({"p", kEurope, "n" + std::to_string(i)}, node);
  auto made = ImportAll(ToPlan(), clock, random, request_, *this);
  const auto* none = std::get_if<NoImport>(&made);
  ASSERT_TRUE(none != nullptr && none->error);
  EXPECT_THAT(none->error->message, HasSubstr("the spec of 22 pods has 4.2 MiB"));
  EXPECT_THAT(none->error->hint, HasSubstr("--zone ZONE"));
}

TEST_F(ImportAllSession, NothingIsDoneWithoutApproval) {
  Put(kEurope, "train");
  approves_ = false;
  request_.write_spec = kSpecPath;
  EXPECT_TRUE(Run().declined);
  EXPECT_EQ(files.FileText(kStatePath), std::nullopt);
  EXPECT_EQ(files.FileText(kSpecPath), std::nullopt);
}

TEST_F(ImportAllSession, NobodyIsAskedWhereAllIsKnown) {
  Put(kEurope, "train");
  request_.write_spec = kSpecPath;
  Run();
  const std::string before = *files.FileText(kStatePath);
  const ImportedAll again = Run();
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(again.survey.known, 1U);
  EXPECT_THAT(again.done, IsEmpty());
  EXPECT_EQ(*files.FileText(kStatePath), before);
}

TEST_F(ImportAllSession, ARunThatWasCutShortIsGoneOnWith) {
  for (const char* id : {"a", "b", "c"}) Put(kEurope, id);
  lives_ = 1;
  const ImportedAll cut = Run();
  ASSERT_TRUE(cut.error);
  EXPECT_EQ(cut.error->code, ErrorCode::kCancelled);
  EXPECT_THAT(InState(), ElementsAre("pod.a"));
  // Nobody has seen the spec that the first would have printed.
  const ImportedAll rest = Run();
  EXPECT_THAT(InState(), ElementsAre("pod.a", "pod.b", "pod.c"));
  EXPECT_TRUE(rest.done.front().known);
  Spec(rest.text);
  EXPECT_TRUE(Planned(Request()).plan.Empty());
}

TEST_F(ImportAllSession, TheFileIsWholeBeforeTheFirstIsTaken) {
  Pods(Harness::Pod("mine"));
  Put(kEurope, "a");
  Put(kEurope, "b");
  request_.load.paths = {kSpecPath};
  request_.write_spec = kSpecPath;
  lives_ = 1;
  EXPECT_TRUE(Run().error);
  EXPECT_THAT(InState(), ElementsAre("pod.a"));
  const std::string written = *files.FileText(kSpecPath);
  EXPECT_THAT(written, HasSubstr("  mine:\n"));
  EXPECT_THAT(written, HasSubstr("  b:\n"));
  EXPECT_EQ(spec_when_taken_, written);
  const ImportedAll rest = Run();
  EXPECT_THAT(Addresses(rest.survey), ElementsAre("pod.b"));
  EXPECT_EQ(rest.text, "");
  EXPECT_EQ(*files.FileText(kSpecPath), written);
  EXPECT_THAT(InState(), ElementsAre("pod.a", "pod.b"));
}

TEST_F(ImportAllSession, APodOfTheSpecKeepsItsName) {
  Pods(Harness::Pod("research", "    nodeId: train\n"));
  Put(kEurope, "train");
  Put(kAmerica, "research");
  request_.load.paths = {kSpecPath};
  const ImportedAll all = Run();
  EXPECT_THAT(Addresses(all.survey), ElementsAre("pod.research", "pod.research-us-central2-b"));
  EXPECT_TRUE(all.survey.candidates.front().in_spec);
  EXPECT_EQ(all.text,
            "pods:\n  research-us-central2-b:\n    nodeId: research\n    zone: us-central2-b\n"
            "    acceleratorType: v3-32\n    runtimeVersion: tpu-vm-tf-2.11.0-pod\n");
}

TEST_F(ImportAllSession, AMultisliceIsOnePodAndARequestThatWaitsIsOne) {
  SlicedProvider sliced(cloud);
  provider = &sliced;
  Value several = Value::EmptyMap();
  several.SetPath("multisliceParams.nodeCount", Value(2));
  several.SetPath("multisliceParams.nodeIdPrefix", Value("many"));
  Ask("many", several);
  for (int look = 0; look < 8; ++look) {
    static_cast<void>(cloud.queue.Get({"p", kEurope, "many"}, {}));
  }
  cloud.FinishOperations();
  cloud.queue.capacity = false;
  Ask("later", Value::Map{{"nodeId", "late"}});
  const ImportedAll all = Run();
  EXPECT_THAT(Addresses(all.survey), ElementsAre("pod.late", "pod.many"))
      << Join(Left(all.survey), "; ");
  EXPECT_THAT(all.text, HasSubstr("  many:\n"));
  EXPECT_THAT(all.text, HasSubstr("slices: 2\n"));
  const State state = Stored();
  EXPECT_EQ(podctl::Pods(state).at(Addr("pod.many")).queued->slices, 2);
  EXPECT_TRUE(podctl::Pods(state).at(Addr("pod.late")).pending());
}

TEST_F(ImportAllSession, WithoutAProjectItSaysWhatToGive) {
  request_.load.project.reset();
  const auto made = ImportAll(ToPlan(), clock, random, request_, *this);
  ASSERT_TRUE(std::holds_alternative<NoImport>(made));
  EXPECT_EQ(std::get<NoImport>(made).error->message, "the project is not known");
}

}  // namespace
}  // namespace podctl

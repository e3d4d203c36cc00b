// What a spec takes from other states (`stateOf`).
#include "plans/session/whole_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "plans/kinds/output/record.h"
#include "plans/kinds/output/spec.h"
#include "plans/kinds/pod/spec.h"
#include "providers/os/clock.h"
#include "state/state_json.h"
#include "state/stores/local_store.h"
#include "tests/support/addresses.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class WholeSpecTest : public ::testing::Test {
 protected:
  void SetUp() override {
    files_.SetFolder("/project");
    Other({{"network", "projects/p/global/networks/n"},
           {"team", "vision"},
           {"odd", "a b;c"},
           {"cut", "a\nb"},
           {"like", "${pod.a.state}"}});
  }
  // The state of another spec.
  void Other(const std::map<std::string, std::string>& outputs) {
    State state;
    state.lineage = "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa";
    state.digest_key = "00112233445566778899aabbccddeeff";
    for (const auto& [name, value] : outputs) {
      OutputRecord record;
      record.value = value;
      state.records.emplace(OutputAddress(name), record);
    }
    OutputRecord secret;
    secret.digest = OutputDigest("s", state.digest_key);
    state.records.emplace(OutputAddress("secret"), secret);
    files_.SetFile("/project/infra.json", StateToJson(state));
  }
  // What is wrong, a line each.
  std::vector<std::string> Load(const std::string& pod, const std::string& top = kStateOf) {
    files_.SetFile("/project/podctl.yaml",
                   "project: p\nzone: europe-west4-a\n" + top +
                       "pods:\n  a: {acceleratorType: v3-8, runtimeVersion: r}\n"
                       "  b:\n    acceleratorType: v3-8\n    runtimeVersion: r\n" +
                       pod);
    LoadOptions load = testing::WithKinds();
    load.paths = {"/project/podctl.yaml"};
    opened_.clear();
    const SpecDoors doors{files_, environment_, [this](const std::string& place) {
                            opened_.push_back(place);
                            return std::make_unique<LocalStore>(
                                place, files_, clock_, random_, LockHolder::ThisProcess(),
                                RememberedKinds(), LocalStoreOptions{});
                          }};
    whole_ = LoadWholeSpec(load, doors, [](const Spec& spec) {
      return spec.state.empty() ? "/project/podctl.state.json" : spec.state;
    });
    std::vector<std::string> problems;
    for (const Diagnostic& each : whole_.problems.items()) {
      std::string hint = each.suggestion.empty() ? each.detail : each.suggestion;
      problems.push_back(each.summary + (hint.empty() ? "" : " | " + hint));
    }
    return problems;
  }
  const PodSpec& B() {
    pods_ = DeclaredPods(whole_.spec);
    return *pods_.at(1);
  }

  static constexpr const char* kStateOf = "stateOf: {infra: infra.json}\n";

  testing::FakeFileSystem files_;
  testing::FakeClock clock_;
  testing::FakeRandom random_;
  FixedEnvironment environment_{{}};
  WholeSpec whole_;
  std::vector<std::string> opened_;
  std::vector<const PodSpec*> pods_;
};

TEST_F(WholeSpecTest, AnOutputStandsWhereAReferenceMay) {
  EXPECT_THAT(Load("    networkConfig: {network: \"${state.infra.outputs.network}\"}\n"
                   "    metadata: {team: \"t ${state.infra.outputs.odd}\"}\n"
                   "    bootstrap: [{name: s, run: \"echo ${state.infra.outputs.team}\"}]\n"),
              IsEmpty());
  EXPECT_EQ(B().node["networkConfig"]["network"], Value("projects/p/global/networks/n"));
  EXPECT_EQ(B().metadata.at("team").text, "t a b;c");
  EXPECT_EQ(B().bootstrap.front().run, "echo vision");
  EXPECT_THAT(opened_, ElementsAre("/project/infra.json"));
}

TEST_F(WholeSpecTest, AValueIsNoTemplate) {
  EXPECT_THAT(Load("    metadata: {x: \"${state.infra.outputs.like}\"}\n"), IsEmpty());
  EXPECT_EQ(B().metadata.at("x").text, "$${pod.a.state}");
}

// What others write may be no more than a word where a shell reads it.
TEST_F(WholeSpecTest, AValueThatWouldDoMoreIsRefused) {
  EXPECT_THAT(Load("    bootstrap: [{name: s, run: \"echo ${state.infra.outputs.odd}\"}]\n"),
              ElementsAre(HasSubstr("holds characters that a shell would read")));
  EXPECT_THAT(Load("    metadata: {startup-script: \"echo ${state.infra.outputs.odd}\"}\n"),
              ElementsAre(HasSubstr("holds characters that a shell would read")));
  EXPECT_THAT(Load("    metadata: {x: \"${state.infra.outputs.cut}\"}\n"),
              ElementsAre(HasSubstr("which holds the control character")));
}

TEST_F(WholeSpecTest, NothingIsReadForASpecThatIsWrong) {
  EXPECT_THAT(Load("    runtimVersion: x\n"), Contains(HasSubstr("unknown key")));
  EXPECT_THAT(opened_, IsEmpty());
  EXPECT_FALSE(whole_.states_failed);
}

TEST_F(WholeSpecTest, WhatIsWrongWithAReferenceIsTold) {
  EXPECT_THAT(Load("    labels: {x: \"${state.infr.outputs.team}\"}\n"),
              ElementsAre("there is no state `infr` | did you mean `infra`?"));
  EXPECT_THAT(Load("    labels: {x: \"${state.infra.team}\"}\n"),
              ElementsAre("`${state.infra.team}` names no output | write "
                          "`${state.infra.outputs.NAME}`"));
  EXPECT_THAT(Load("    labels: {x: \"${state.infra.outputs.taem}\"}\n"),
              ElementsAre("the state `infra` has no output `taem` | did you mean "
                          "`${state.infra.outputs.team}`?"));
  EXPECT_THAT(Load("    labels: {x: \"${state.infra.outputs.secret}\"}\n"),
              ElementsAre(HasSubstr("the output `secret` of the state `infra` is sensitive")));
  EXPECT_THAT(Load("    desiredState: ${state.infra.outputs.team}\n"),
              ElementsAre(HasSubstr("`desiredState` cannot refer to another state")));
  EXPECT_THAT(Load("    labels: {x: \"${state.infra.outputs.team}\"}\n", ""),
              ElementsAre("there is no state `infra` | name it under `stateOf`"));
}

TEST_F(WholeSpecTest, WhatIsWrongWithAStateIsTold) {
  EXPECT_THAT(Load("", "stateOf: {infra: gone.json}\n"),
              ElementsAre(HasSubstr("there is no state `infra` at /project/gone.json")));
  EXPECT_TRUE(whole_.states_failed);
  EXPECT_EQ(whole_.problems.items().front().place.line, 3);
  files_.SetFile("/project/cut.json", "{");
  EXPECT_THAT(Load("", "stateOf: {infra: cut.json}\n"),
              ElementsAre(AllOf(HasSubstr("the state `infra` cannot be read"), HasSubstr("damaged"),
                                HasSubstr("| Check the place under `stateOf`"),
                                Not(HasSubstr("state restore")))));
  EXPECT_THAT(Load("", "state: infra.json\nstateOf: {infra: ./infra.json}\n"),
              ElementsAre(HasSubstr("`infra` is the spec's own state")));
  EXPECT_THAT(Load("", "stateOf: {a.b: infra.json}\n"),
              ElementsAre(HasSubstr("`a.b` is no name for a state")));
}

}  // namespace
}  // namespace podctl

#include "tests/e2e/struck_run.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <set>
#include <sstream>
#include <thread>

#include "providers/base/json.h"
#include "tests/support/folders.h"

namespace podctl::testing {
namespace {

// Enough to keep two cores busy with runs that wait for a second each; a sanitized podctl keeps
// them busy by itself.
#ifdef __SANITIZE_ADDRESS__
constexpr int kLanes = 16;
#else
constexpr int kLanes = 40;
#endif
constexpr int kMostFailures = 3;

// No trial sees another's nodes.
std::string NewProject() {
  static std::atomic<int> last = 0;
  return "trial-" + std::to_string(++last);
}

std::string Pod(const std::string& name, const std::string& keys) {
  return "  " + name + ": {runtimeVersion: tpu-vm-tf-2.11.0, " + keys + "}\n";
}

}  // namespace

const std::vector<Scenario>& Scenarios() {
  static const std::vector<Scenario> scenarios = {
      {.name = "create", .after = Pod("research", "acceleratorType: v2-8")},
      {.name = "patch",
       .before = Pod("research", "acceleratorType: v2-8, labels: {team: vision}"),
       .after = Pod("research", "acceleratorType: v2-8, labels: {team: speech}")},
      {.name = "replace",
       .before = Pod("research", "acceleratorType: v2-8"),
       .after = Pod("research", "acceleratorType: v3-8"),
       .creates = 2},
      {.name = "destroy",
       .before = Pod("research", "acceleratorType: v2-8"),
       .after = Pod("research", "acceleratorType: v2-8"),
       .run = {"destroy", "--auto-approve"},
       .plan = {"plan", "--destroy", "--detailed-exitcode"},
       .nodes = 0},
      {.name = "everything",
       .before = Pod("patched", "acceleratorType: v2-8, labels: {team: vision}") +
                 Pod("replaced", "acceleratorType: v2-8, dependsOn: [pod.patched]") +
                 Pod("deleted", "acceleratorType: v2-8"),
       .after = Pod("patched", "acceleratorType: v2-8, labels: {team: speech}") +
                Pod("replaced", "acceleratorType: v3-8, dependsOn: [pod.patched]") +
                Pod("created", "acceleratorType: v2-8"),
       .nodes = 3,
       .creates = 5,
       .stride = 6},
      {.name = "replace-first",
       .before = Pod("research", "acceleratorType: v2-8"),
       .after = Pod("research", "acceleratorType: v3-8, lifecycle: {createBeforeDestroy: true}"),
       .creates = 2},
      {.name = "move",
       .before = Pod("research", "acceleratorType: v2-8"),
       .after =
           Pod("other", "acceleratorType: v2-8") + "moved: [{from: pod.research, to: pod.other}]\n",
       .stride = 2},
      // What is left of a plan file is whole; it can be made anew, and applied.
      {.name = "save-plan",
       .after = Pod("research", "acceleratorType: v2-8"),
       .run = {"plan", "--out", "saved.plan"},
       .plan = {"apply", "saved.plan"},
       .stride = 2},
      {.name = "apply-plan",
       .before = Pod("research", "acceleratorType: v2-8"),
       .after = Pod("research", "acceleratorType: v3-8"),
       .prepare = {"plan", "--out", "saved.plan"},
       .run = {"apply", "saved.plan"},
       .recover = {"apply", "--auto-approve"},
       .creates = 2,
       .stride = 2},
      {.name = "bootstrap",
       .before = Pod("research", "acceleratorType: v2-8"),
       .after = Pod("research",
                    "acceleratorType: v2-8, bootstrap: [{name: mark, run: echo mark >> marks}]"),
       .stride = 2,
       .workers = true},
  };
  return scenarios;
}

StruckRun::StruckRun(const Scenario& scenario, const Sandbox& world)
    : scenario_(scenario), project_(NewProject()) {
  box_.UseEmulatorOf(world);
  // What is written aside when the state's folder takes nothing.
  box_.WriteFile("temporary/README", "where the state goes in need\n");
  box_.SetVariable("TMPDIR", box_.Path("temporary"));
  // A folder for the state alone, so that faults can be told to strike there.
  box_.WriteFile("state/README", "where the state lives\n");
  if (!scenario.before.empty()) {
    Write(scenario.before);
    box_.Apply();
    serial_before_ = StateNow()["serial"].AsInt();
  }
  Write(scenario.after);
  if (!scenario.prepare.empty()) {
    const RunResult prepared = box_.Run(scenario.prepare);
    EXPECT_EQ(prepared.code, 0) << prepared;
  }
}

// The emulator would keep the nodes of thousands of trials.
StruckRun::~StruckRun() {
  for (const std::string& node : LiveNodes()) box_.Http("DELETE", Nodes() + "/" + node);
}

void StruckRun::Write(const std::string& pods) {
  box_.WriteFile("podctl.yaml", "project: " + project_ +
                                    "\nzone: europe-west4-a\nstate: state/podctl.state.json\n" +
                                    box_.SpecDefaults() + "pods:\n" + pods);
}

std::string StruckRun::Nodes() const {
  return "/v2/projects/" + project_ + "/locations/europe-west4-a/nodes";
}

Value StruckRun::StateNow() const {
  return ParseJson(box_.ReadFile("state/podctl.state.json")).value_or(Value());
}

std::vector<std::string> StruckRun::LiveNodes() {
  std::vector<std::string> ids;
  const Value answer = box_.Http("GET", Nodes()).body;
  for (const Value& node : answer["nodes"].AsList()) {
    const std::string name = node["name"].AsString();
    ids.push_back(name.substr(name.rfind('/') + 1));
  }
  return ids;
}

RunResult StruckRun::Run(const Strike& strike) {
  Arguments words = {podctl::testing::BinaryFolder() + "/syscall_fault",
                     "--at",
                     std::to_string(strike.at),
                     "--do",
                     strike.what,
                     "--report",
                     box_.Path("report")};
  if (strike.sticky) words.push_back("--sticky");
  if (strike.acting) words.push_back("--acting");
  if (strike.state_only) words.insert(words.end(), {"--under", box_.Path("state")});
  words.insert(words.end(), {"--", podctl::testing::BinaryFolder() + "/podctl"});
  words.insert(words.end(), scenario_.run.begin(), scenario_.run.end());
  RunResult run = box_.RunProgram(words);
  std::istringstream report(box_.ReadFile("report"));
  std::string word;
  report >> word >> counted_ >> word;
  std::getline(report >> std::ws, struck_);
  EXPECT_GT(counted_, 0) << "the run was not traced: " << run;
  return run;
}

RunResult StruckRun::RunUnder(const Arguments& words) {
  Arguments all = words;
  all.emplace_back(podctl::testing::BinaryFolder() + "/podctl");
  all.insert(all.end(), scenario_.run.begin(), scenario_.run.end());
  return box_.RunProgram(all);
}

void StruckRun::ExpectHonesty(const RunResult& run) {
  if (run.code == 0) {
    const RunResult plan = box_.Run(scenario_.plan);
    EXPECT_EQ(plan.code, 0) << run << plan;
    return;
  }
  EXPECT_EQ(run.code, 1) << run;
  EXPECT_NE(run.err.find("Error"), std::string::npos) << run;
  const std::string mark = "`podctl state push ";
  const auto at = run.err.find(mark);
  if (at == std::string::npos) return;
  const std::string rest = run.err.substr(at + mark.size());
  const RunResult push = box_.Run({"state", "push", rest.substr(0, rest.find('`'))});
  EXPECT_EQ(push.code, 0) << run << push;
}

void StruckRun::ExpectStateTellsOfEveryNode() {
  const bool there = box_.Exists("state/podctl.state.json");
  EXPECT_TRUE(there || scenario_.before.empty()) << "the state is gone";
  if (there) {
    const RunResult list = box_.Run({"state", "list"});
    EXPECT_EQ(list.code, 0) << list;
  }
  const Value state = StateNow();
  EXPECT_GE(state["serial"].AsInt(), serial_before_);
  std::set<std::string> known;
  for (const auto& [address, record] : state["resources"].AsMap()) {
    for (const Value& object : record["objects"].AsList()) {
      known.insert(object["locator"].AsString());
    }
  }
  for (const std::string& node : LiveNodes()) {
    EXPECT_TRUE(known.contains(node)) << node << " lives, and the state knows nothing of it:\n"
                                      << ToJson(state);
  }
}

bool StruckRun::StepIsApplied() const {
  return !Remembered(StateNow(), "bootstrap.research.mark")["workers"].AsMap().empty();
}

void StruckRun::ExpectRecovery() {
  const bool applied = StepIsApplied();
  const bool lock_left = !box_.ReadFile("state/podctl.state.json.lock").empty();
  if (box_.Exists("saved.plan")) {
    const RunResult shown = box_.Run({"show", "saved.plan"});
    EXPECT_EQ(shown.code, 0) << shown;
  }
  const RunResult next = box_.Run(scenario_.recover.empty() ? scenario_.run : scenario_.recover);
  EXPECT_EQ(next.code, 0) << next;
  EXPECT_EQ(next.err.find("took over") != std::string::npos, lock_left) << next;
  const RunResult plan = box_.Run(scenario_.plan);
  EXPECT_EQ(plan.code, 0) << plan;
  EXPECT_EQ(static_cast<int>(LiveNodes().size()), scenario_.nodes);
  int creates = 0;
  const Value answer =
      box_.Http("GET", "/v2/projects/" + project_ + "/locations/europe-west4-a/operations").body;
  for (const Value& operation : answer["operations"].AsList()) {
    if (operation["metadata"]["verb"] == "create") ++creates;
  }
  EXPECT_EQ(creates, scenario_.creates) << ToJson(answer);
  if (scenario_.workers) {
    // A step that was under way is run again; one that the state calls applied is not.
    const RunResult marks = box_.Run({"exec", "research", "--", "cat marks"});
    const int runs = CountLines(marks.out, "", "mark");
    EXPECT_GE(runs, 1) << marks;
    EXPECT_LE(runs, applied ? 1 : 2) << marks;
  }
  const RunResult left = box_.RunProgram({"ls", "-A", box_.Path("state")});
  EXPECT_EQ(left.out.find(".tmp"), std::string::npos) << left;
  EXPECT_EQ(left.out.find(".lock"), std::string::npos) << left;
}

void InLanes(int count, const std::function<void(int)>& trial) {
  std::atomic<int> next = 0;
  std::vector<std::thread> lanes;
  for (int lane = 0; lane < std::min(kLanes, count); ++lane) {
    lanes.emplace_back([&] {
      for (int i = next++; i < count; i = next++) {
        trial(i);
        // A few failures tell as much as hundreds.
        if (::testing::Test::HasFailure() && next > kMostFailures) next = count;
      }
    });
  }
  for (std::thread& lane : lanes) lane.join();
}

bool WholeEnumeration() {
  const char* all = std::getenv("PODCTL_TEST_ALL");
  return all != nullptr && *all != '\0';
}

}  // namespace podctl::testing

// A harness in which somebody writes specs and lets podctl plan and apply them, on fakes of all
// doors: a cloud, workers, a disk and a clock that tests can break. Each Plan, Apply and Destroy is
// a run of its own, which knows of earlier ones only what is on the disk and in the cloud.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/executor.h"
#include "plans/engine/planner.h"
#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "providers/base/diagnostic.h"
#include "state/store.h"
#include "tests/support/addresses.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/fake_provider.h"
#include "tests/support/fake_step_runner.h"
#include "tests/support/log_store.h"

namespace podctl::testing {

// What happened, a line each: "start pod.a", "done pod.a", "error pod.a: …", "skip pod.b: pod.a",
// "note pod.a: …".
class EventLog final : public EventSink {
 public:
  void OnStart(const Change& change) override { Add("start " + change.address); }
  void OnProgress(const Change& change, Elapsed, const Progress& progress) override;
  void OnComplete(const Change& change, Elapsed, const std::string& id) override {
    ids[change.address.Text()] = id;
    Add("done " + change.address);
  }
  void OnError(const Change& change, Elapsed, const Error& error) override {
    Add("error " + change.address + ": " + error.message);
  }
  void OnSkip(const Change& change, const Address& cause) override {
    Add("skip " + change.address + ": " + (cause.empty() ? "" : cause.Text()));
  }
  void OnStepLine(const Change& change, int worker, const std::string& label,
                  std::string_view line) override;
  void OnNote(const Address& address, const std::string& text) override {
    Add("note " + address + ": " + text);
  }
  // Where in the log a line stands; fails the test when it is not there.
  std::size_t At(const std::string& line) const;
  std::size_t Count(const std::string& line) const;

  std::vector<std::string> lines;
  std::vector<std::string> output;         // "research/3 hello"
  std::map<std::string, std::string> ids;  // of what is done, by address
  Progress last_progress;
  std::set<std::string> statuses;  // of what is waited for
  int heartbeats = 0;
  std::function<void(const std::string& line)> on_line;  // called with each line

 private:
  void Add(const std::string& line) {
    lines.push_back(line);
    if (on_line) on_line(line);
  }
};

class Harness {
 public:
  explicit Harness(FakeProvider::Options cloud_options = {}) : cloud(cloud_options) {
    files.SetFolder("/project");
  }

  // `pods`: the text below `pods:`, indented by two; project p, zone europe-west4-a.
  void Pods(const std::string& pods);
  void SpecText(const std::string& text) { specs_.SetFile("/project/podctl.yaml", text); }
  // A pod of four workers (v3-32) with further keys, indented by four.
  static std::string Pod(const std::string& name, const std::string& keys = "");

  // Fails the test when the spec or the plan has errors; TryPlan returns those of the plan.
  Plan MakePlan();
  Diagnostics TryPlan();
  ExecuteResult Apply() { return Run(false); }
  ExecuteResult Destroy() { return Run(true); }
  // Apply, which must succeed, and after which nothing is left to do.
  void ApplyAll();

  // An apply that is interrupted while a queued resource waits for capacity. There is none since.
  void InterruptWhileWaiting();

  // One run whatever becomes of it; nothing is expected of it but that it ends.
  struct Attempt {
    std::optional<Error> refused;  // it could not begin: the lock, the state, the API
    Diagnostics diagnostics;       // of the spec and of the plan; with errors nothing was begun
    Plan plan;
    std::optional<ExecuteResult> result;
  };
  Attempt TryApply(bool destroy = false);

  State Stored();  // what is on the disk; fails the test when that is no state
  static NodeName Name(const std::string& node) { return {"p", "europe-west4-a", node}; }
  Value Node(const std::string& node);  // null when there is none
  void Edit(const std::string& node, const std::function<void(Value&)>& edit) {
    cloud.EditNode(Name(node), edit);
  }
  // "create research", "patch research labels,metadata", "delete research", in their order.
  std::vector<std::string> Requests() const;

  FakeFileSystem files;
  FakeProvider cloud;
  FakeStepRunner workers;
  FakeClock clock;
  FakeRandom random;
  // What podctl is given for them; a simulation puts trouble in between.
  Provider* provider_door = &cloud;
  StepRunner* steps_door = &workers;
  Random* random_door = &random;
  ExecuteOptions options;
  PlanOptions plan_options;        // of every plan from now on
  EventLog events;                 // of the last run
  std::vector<std::string> notes;  // of the last run's settling
  std::stop_source drain;
  std::stop_source leave;
  std::vector<std::string> own_keys;  // lines of `ssh-keys`, given to every pod as cmd does
  std::map<std::string, std::string> environment;
  std::function<void(Plan*)> alter_plan;  // before it is carried out: into one that nobody makes
  ChangeLog* log = nullptr;  // set: the state is kept in a store that writes each change down

 private:
  struct Prepared {
    std::unique_ptr<StateStore> store;
    std::unique_ptr<StateLock> lock;
    State state;
    Generation generation;
    Observation observation;
    Plan plan;
    Diagnostics diagnostics;
  };
  std::unique_ptr<StateStore> OpenStore();
  // An error when it cannot begin. Diagnostics with errors come without a plan.
  Result<Prepared> TryPrepare(bool destroy);
  std::optional<Prepared> Prepare(bool destroy);
  ExecuteResult Execute(Prepared* run);
  ExecuteResult Run(bool destroy);

  BuiltInKinds kinds_{{files}};
  FakeFileSystem specs_;  // a disk of its own: only the state's is broken
};

// The change of an address; fails the test when the plan has none.
const Change& ChangeOf(const Plan& plan, const std::string& address);
// "create pod.a", "run bootstrap.a.x", …, Keep left out, in order.
std::vector<std::string> Actions(const Plan& plan);
// "labels.team: vision -> speech", "(unknown)" and "(none)" for what is not there.
std::vector<std::string> Lines(const std::vector<AttributeChange>& attributes);

}  // namespace podctl::testing

#include "plans/kinds/step/shown.h"

#include <set>
#include <string>

#include "plans/engine/overlay.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/step/change.h"

namespace podctl {
namespace {

Value WorkerList(const std::set<int>& workers) {
  Value::List list;
  for (int worker : workers) list.emplace_back(worker);
  return Value(std::move(list));
}

std::set<int> AppliedWorkers(const StepRecord* record) {
  std::set<int> workers;
  if (record == nullptr) return workers;
  for (const auto& [worker, applied] : record->workers) workers.insert(worker);
  return workers;
}

std::string StepName(const Address& address) {
  return address.name.substr(address.name.rfind('.') + 1);
}

const char* KindName(Step::Kind kind) {
  switch (kind) {
    case Step::Kind::kScript:
      return "script";
    case Step::Kind::kRestartRuntime:
      return "restart-tpu-runtime";
    case Step::Kind::kReadiness:
      return "readiness";
    case Step::Kind::kRequestXrt:
      return "request-xrt";
  }
  return "";
}

ShownObject StepAfter(const Address& address, const StepChange& run, const StepRecord* record) {
  ShownObject after;
  after.values = Value::EmptyMap();
  after.values.Set("pod", PodAddress(PodNameOf(address)).Text());
  after.values.Set("step", StepName(address));
  after.values.Set("kind", KindName(run.step.kind));
  std::set<int> workers = AppliedWorkers(record);
  if (run.workers) {
    after.values.Set("run_on", WorkerList({run.workers->begin(), run.workers->end()}));
    workers.insert(run.workers->begin(), run.workers->end());
    after.values.Set("workers", WorkerList(workers));
  } else {
    after.unknown.Set("run_on", true);
    after.unknown.Set("workers", true);
  }
  const auto hide = [&](const char* key, Value value) {
    if (run.sensitive) after.sensitive.Set(key, true);
    after.values.Set(key, run.sensitive ? Value(kRedacted) : std::move(value));
  };
  if (run.step.kind == Step::Kind::kScript) hide("script", run.step.script);
  if (run.step.kind == Step::Kind::kRequestXrt) after.values.Set("xrt_version", run.step.script);
  Value env = Value::EmptyMap();
  for (const auto& [name, text] : run.step.env) env.MutableMap()[name] = Value(text);
  hide("env", std::move(env));
  Value::List files;
  for (const StepFile& file : run.step.files) {
    Value entry;
    entry.Set("source", file.source);
    entry.Set("destination", file.destination);
    files.push_back(std::move(entry));
  }
  after.values.Set("files", std::move(files));
  return after;
}

}  // namespace

ShownObject ObjectOf(const Address& address, const StepRecord& record) {
  ShownObject object;
  object.values = Value::EmptyMap();
  object.values.Set("pod", record.pod.Text());
  object.values.Set("step", StepName(address));
  object.values.Set("workers", WorkerList(AppliedWorkers(&record)));
  return object;
}

ShownSides SidesOfStep(const Change& change, const State& state) {
  const Address& address = change.address;
  const StepRecord* known = Steps(state).Get(address);
  ShownSides sides;
  if (known != nullptr) sides.before = ObjectOf(address, *known);
  sides.after = StepAfter(address, *AsStep(change), known);
  return sides;
}

}  // namespace podctl

// `--json` of plan and apply: one event a line, in the vocabulary of terraform's machine-readable
// UI ("@level", "@message", "@timestamp", "type"), so that tools made for it can read along.
#pragma once

#include <string>

#include "cmd/output_filter.h"
#include "cmd/reporter.h"
#include "plans/engine/change.h"
#include "plans/engine/executor.h"
#include "providers/base/diagnostic.h"
#include "providers/os/clock.h"
#include "state/state.h"

namespace podctl {

class JsonEvents final : public WatchAccount {
 public:
  JsonEvents(Streams& streams, Clock& clock) : streams_(streams), clock_(clock) {}  // lent

  void ShowVersion();  // the first line of a run
  void ShowDiagnostic(const Diagnostic& diagnostic);
  // resource_drift, planned_change, change_summary. `state` is what the plan was made from.
  // `failed`: something speaks against the plan; then an empty one is not told as no changes.
  void ShowPlan(const Plan& plan, const State& state, bool failed);
  void ShowDigest(const std::string& digest);  // of a plan
  void ShowSummary(const ExecuteResult& result, const std::string& operation);
  // By name; what is sensitive without its value. Nothing where there are none.
  void ShowOutputs(const Value& outputs);
  void Log(const std::string& message, const std::string& level = "info");
  void Say(const std::string& text) override { Log(text); }
  void ShowSummary(const ExecuteResult& result) override { ShowSummary(result, "apply"); }

  void OnStart(const Change& change) override;
  void OnProgress(const Change& change, Elapsed elapsed, const Progress& progress) override;
  void OnComplete(const Change& change, Elapsed elapsed, const std::string& id) override;
  void OnError(const Change& change, Elapsed elapsed, const Error& error) override;
  void OnSkip(const Change& change, const Address& cause) override;
  void OnStepLine(const Change& change, int worker, const std::string& label,
                  std::string_view line) override;
  void OnNote(const Address& address, const std::string& text) override;
  void OnInterrupt() override;

 private:
  void ShowDrift(const Drift& drift);
  void ShowPlanned(const Change& planned, const State& state);
  void Write(const std::string& level, const std::string& message, const std::string& type,
             Value fields);

  Streams& streams_;
  Clock& clock_;
};

// A diagnostic in terraform's form (`validate -json`).
Value DiagnosticJson(const Diagnostic& diagnostic);

}  // namespace podctl

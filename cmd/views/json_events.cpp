#include "cmd/views/json_events.h"

#include <fmt/format.h>

#include "cmd/commands/validate.h"
#include "cmd/options.h"
#include "cmd/views/apply_view.h"
#include "cmd/views/plan_view.h"
#include "cmd/views/terraform_json.h"
#include "plans/engine/kind.h"
#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

Value Resource(const Address& address) {
  const Value name = TerraformName(address);
  Value resource = Value::EmptyMap();
  resource.Set("addr", address.Text());
  resource.Set("module", "");
  resource.Set("resource", address.Text());
  resource.Set("implied_provider", "podctl");
  resource.Set("resource_type", name["type"]);
  resource.Set("resource_name", name["name"]);
  resource.Set("resource_key", Value());
  return resource;
}

// A step has the word of a provisioner in terraform's events.
bool IsStep(const Change& change) {
  return change.verb == Verb::kRun;
}

// One of terraform's words for what is done, in its events.
std::string_view EventAction(const Change& change) {
  if (IsKeep(change)) return change.previous_address.empty() ? "noop" : "move";
  return change.verb == Verb::kForget ? "remove" : WordOf(change.verb);
}

// One of terraform's words for `reason`; empty: none.
std::string_view EventReason(ReasonCode reason) {
  switch (reason) {
    case ReasonCode::kNone:
      return "";
    case ReasonCode::kCannotUpdate:
      return "cannot_update";
    case ReasonCode::kTainted:
      return "tainted";
    case ReasonCode::kByRequest:
      return "requested";
    case ReasonCode::kByTriggers:
      return "replace_triggered_by";
    case ReasonCode::kNoConfiguration:
      return "delete_because_no_resource_config";
  }
  return "";
}

Value Hook(const Change& change) {
  Value hook = Value::EmptyMap();
  hook.Set("resource", Resource(change.address));
  if (IsStep(change)) {
    hook.Set("provisioner", "bootstrap");
  } else {
    hook.Set("action", EventAction(change));
  }
  return hook;
}

Value With(const char* key, Value value) {
  Value fields = Value::EmptyMap();
  fields.Set(key, std::move(value));
  return fields;
}

// Which paths change: never their values, some of which are secrets.
Value Paths(const std::vector<AttributeChange>& attributes, bool only_forcing) {
  Value::List paths;
  for (const AttributeChange& attribute : attributes) {
    if (!only_forcing || attribute.forces_replacement) paths.emplace_back(attribute.path);
  }
  return Value(std::move(paths));
}

std::string Clause(const std::string& reason) {
  return reason.empty() ? "" : fmt::format(" ({})", reason);
}

}  // namespace

Value DiagnosticJson(const Diagnostic& diagnostic) {
  Diagnostics one;
  one.Add(diagnostic);
  return DiagnosticsDocument(one)["diagnostics"].AsList().front();
}

void JsonEvents::ShowVersion() {
  Value fields = With("podctl", kVersion);
  fields.Set("terraform", kTerraformVersion);  // whose events these are
  fields.Set("format_version", "1.0");
  fields.Set("ui", "1.2");
  Write("info", fmt::format("podctl {}", kVersion), "version", std::move(fields));
}

void JsonEvents::Write(const std::string& level, const std::string& message,
                       const std::string& type, Value fields) {
  fields.Set("@level", level);
  fields.Set("@message", message);
  fields.Set("@module", "podctl.ui");
  fields.Set("@timestamp", FormatTimestamp(clock_.Now()));
  fields.Set("type", type);
  streams_.out << ToJson(fields) << '\n' << std::flush;
}

void JsonEvents::Log(const std::string& message, const std::string& level) {
  Write(level, message, "log", Value::EmptyMap());
}

void JsonEvents::ShowDiagnostic(const Diagnostic& diagnostic) {
  const bool error = diagnostic.severity == Severity::kError;
  Write(error ? "error" : "warn",
        fmt::format("{}: {}", error ? "Error" : "Warning", diagnostic.summary), "diagnostic",
        With("diagnostic", DiagnosticJson(diagnostic)));
}

void JsonEvents::ShowDrift(const Drift& drift) {
  Value change = With("resource", Resource(drift.address));
  change.Set("action", drift.kind == Drift::Kind::kVanished ? "delete" : "update");
  change.Set("changed", Paths(drift.attributes, false));
  Write("info", fmt::format("{}: Drift detected ({})", drift.address, drift.sentence),
        "resource_drift", With("change", std::move(change)));
}

void JsonEvents::ShowPlanned(const Change& planned, const State& state) {
  Value change = With("resource", Resource(planned.address));
  std::string_view action = EventAction(planned);
  if (IsStep(planned)) action = state.records.contains(planned.address) ? "update" : "create";
  change.Set("action", action);
  if (!planned.previous_address.empty()) {
    change.Set("previous_resource", Resource(planned.previous_address));
  }
  const std::string_view reason = EventReason(planned.reason_code);
  if (!reason.empty()) change.Set("reason", reason);
  change.Set("changed", Paths(planned.attributes, false));
  change.Set("replace_paths", Paths(planned.attributes, true));
  if (const auto workers = WordsOf(planned).workers) {
    change.Set("workers", FormatRanges(*workers));
  }
  Write("info", fmt::format("{}: Plan to {}{}", planned.address, action, Clause(planned.reason)),
        "planned_change", With("change", std::move(change)));
}

void JsonEvents::ShowPlan(const Plan& plan, const State& state, bool failed) {
  for (const Drift& drift : plan.drift) ShowDrift(drift);
  for (const Change& planned : plan.changes) {
    const bool nothing = IsKeep(planned) && planned.previous_address.empty();
    if (!nothing && !IsPartOfReplacement(planned, plan)) ShowPlanned(planned, state);
  }
  if (failed && plan.Empty()) return;
  const PlanCounts counts = plan.Counts();
  Value changes = With("add", counts.add);
  changes.Set("change", counts.change);
  changes.Set("import", 0);
  changes.Set("remove", counts.destroy);
  changes.Set("steps", counts.steps);
  changes.Set("operation", "plan");
  Write("info", plan.Empty() ? NoChanges(plan) : Join(SplitLines(PlanSummary(plan)), " "),
        "change_summary", With("changes", std::move(changes)));
}

void JsonEvents::ShowSummary(const ExecuteResult& result, const std::string& operation) {
  if (const std::string text = UnfinishedText(result); !text.empty()) Log(text);
  Value changes = With("add", result.added);
  changes.Set("change", result.changed);
  changes.Set("import", 0);
  changes.Set("remove", result.destroyed);
  changes.Set("steps", result.steps);
  changes.Set("operation", operation);
  if (!result.queued.empty()) changes.Set("queued", result.queued.size());
  Write("info",
        fmt::format("{} Resources: {} added, {} changed, {} destroyed.",
                    EndWords(result, operation == "destroy"), result.added, result.changed,
                    result.destroyed),
        "change_summary", With("changes", std::move(changes)));
}

void JsonEvents::OnStart(const Change& change) {
  Write("info", fmt::format("{}: {}...", change.address, WordsFor(change).start),
        IsStep(change) ? "provision_start" : "apply_start", With("hook", Hook(change)));
}

void JsonEvents::OnProgress(const Change& change, Elapsed elapsed, const Progress& progress) {
  // That a step has begun was just told; of a long wait a heartbeat tells.
  constexpr std::chrono::seconds kNoNews{9};
  const bool nobody =
      progress.workers_ok == 0 && progress.workers_failed == 0 && progress.workers_retrying == 0;
  if (progress.workers > 0 && nobody && elapsed < kNoNews) return;
  Value hook = Hook(change);
  hook.Set("elapsed_seconds", elapsed.count() / 1000);
  if (progress.workers > 0) {
    hook.Set("workers", progress.workers);
    hook.Set("workers_ok", progress.workers_ok);
    hook.Set("workers_failed", progress.workers_failed);
    hook.Set("workers_retrying", progress.workers_retrying);
  }
  if (!progress.status.empty()) hook.Set("status", progress.status);
  Write("info",
        fmt::format("{}: {}... [{} elapsed]", change.address, WordsFor(change).still,
                    FormatDuration(elapsed)),
        IsStep(change) ? "provision_progress" : "apply_progress", With("hook", std::move(hook)));
}

void JsonEvents::OnComplete(const Change& change, Elapsed elapsed, const std::string& id) {
  Value hook = Hook(change);
  hook.Set("elapsed_seconds", elapsed.count() / 1000);
  if (!id.empty()) {
    hook.Set("id_key", "id");
    hook.Set("id_value", id);
  }
  Write("info",
        fmt::format("{}: {} after {}{}", change.address, WordsFor(change).complete,
                    FormatDuration(elapsed), id.empty() ? "" : fmt::format(" [id={}]", id)),
        IsStep(change) ? "provision_complete" : "apply_complete", With("hook", std::move(hook)));
}

void JsonEvents::OnError(const Change& change, Elapsed elapsed, const Error& error) {
  Value hook = Hook(change);
  hook.Set("elapsed_seconds", elapsed.count() / 1000);
  Write("error",
        fmt::format("{}: errored after {}: {}", change.address, FormatDuration(elapsed),
                    error.message),
        IsStep(change) ? "provision_errored" : "apply_errored", With("hook", std::move(hook)));
}

// Terraform has no event for it, and says nothing.
void JsonEvents::OnSkip(const Change& change, const Address& cause) {
  Value hook = Hook(change);
  hook.Set("because", cause.empty() ? "end of the run" : cause.Text());
  Write("warn",
        fmt::format("{}: skipped because of {}", change.address,
                    cause.empty() ? "the early end of the run" : cause.Text()),
        "log", With("hook", std::move(hook)));
}

void JsonEvents::OnStepLine(const Change& change, int worker, const std::string& label,
                            std::string_view line) {
  Value hook = Hook(change);
  hook.Set("worker", worker);
  hook.Set("output", line);
  Write("info", fmt::format("{}: {}", label, line), "provision_progress",
        With("hook", std::move(hook)));
}

void JsonEvents::OnInterrupt() {
  Log("Interrupted: nothing new is started.");
}

void JsonEvents::OnNote(const Address& address, const std::string& text) {
  Write("info", fmt::format("{}: {}", address, text), "log", With("addr", address.Text()));
}

}  // namespace podctl

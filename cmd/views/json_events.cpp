#include "cmd/views/json_events.h"

#include <fmt/format.h>

#include "cmd/commands/validate.h"
#include "cmd/options.h"
#include "cmd/views/plan_view.h"
#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

Value Resource(const std::string& address) {
  const auto dot = address.find('.');
  const auto last = address.rfind('.');
  Value resource = Value::EmptyMap();
  resource.Set("addr", address);
  resource.Set("module", "");
  resource.Set("resource", address);
  resource.Set("implied_provider", "podctl");
  resource.Set("resource_type", address.substr(0, dot));
  resource.Set("resource_name", address.substr(last + 1));
  resource.Set("resource_key", Value());
  return resource;
}

Value Hook(const Change& change) {
  Value hook = Value::EmptyMap();
  hook.Set("resource", Resource(change.address));
  hook.Set("action", ActionWord(change.action));
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

// A step has the word of a provisioner in terraform's events.
bool IsStep(const Change& change) {
  return std::holds_alternative<RunStep>(change.action);
}

}  // namespace

Value DiagnosticJson(const Diagnostic& diagnostic) {
  Diagnostics one;
  one.Add(diagnostic);
  return DiagnosticsDocument(one)["diagnostics"].AsList().front();
}

JsonEvents::JsonEvents(Streams& streams, Clock& clock) : streams_(streams), clock_(clock) {
  Value fields = With("podctl", kVersion);
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

void JsonEvents::Log(const std::string& level, const std::string& message) {
  Write(level, message, "log", Value::EmptyMap());
}

void JsonEvents::ShowDiagnostic(const Diagnostic& diagnostic) {
  const bool error = diagnostic.severity == Severity::kError;
  Write(error ? "error" : "warn",
        fmt::format("{}: {}", error ? "Error" : "Warning", diagnostic.summary), "diagnostic",
        With("diagnostic", DiagnosticJson(diagnostic)));
}

void JsonEvents::ShowPlan(const Plan& plan) {
  for (const Drift& drift : plan.drift) {
    Value change = With("resource", Resource(drift.address));
    change.Set("action", "update");
    change.Set("reason", drift.sentence);
    change.Set("changed", Paths(drift.attributes, false));
    Write("info", fmt::format("{}: Drift detected ({})", drift.address, drift.sentence),
          "resource_drift", With("change", std::move(change)));
  }
  for (const Change& planned : plan.changes) {
    if (IsKeep(planned)) continue;
    Value change = With("resource", Resource(planned.address));
    change.Set("action", ActionWord(planned.action));
    if (!planned.reason.empty()) change.Set("reason", planned.reason);
    change.Set("changed", Paths(planned.attributes, false));
    change.Set("replace_paths", Paths(planned.attributes, true));
    if (const auto* run = std::get_if<RunStep>(&planned.action); run != nullptr && run->workers) {
      change.Set("workers", FormatRanges(*run->workers));
    }
    Write("info", fmt::format("{}: Plan to {}", planned.address, ActionWord(planned.action)),
          "planned_change", With("change", std::move(change)));
  }
  const PlanCounts counts = plan.Counts();
  Value changes = With("add", counts.add);
  changes.Set("change", counts.change);
  changes.Set("import", 0);
  changes.Set("remove", counts.destroy);
  changes.Set("steps", counts.steps);
  changes.Set("operation", "plan");
  Write("info",
        plan.Empty() ? "No changes. Your infrastructure matches the configuration."
                     : Join(SplitLines(PlanSummary(plan)), " "),
        "change_summary", With("changes", std::move(changes)));
}

void JsonEvents::ShowSummary(const ExecuteResult& result, const std::string& operation) {
  Value changes = With("add", result.added);
  changes.Set("change", result.changed);
  changes.Set("import", 0);
  changes.Set("remove", result.destroyed);
  changes.Set("steps", result.steps);
  changes.Set("operation", operation);
  Write("info",
        fmt::format("{} {}! Resources: {} added, {} changed, {} destroyed.",
                    operation == "destroy" ? "Destroy" : "Apply",
                    result.ok() ? "complete" : "ended with errors", result.added, result.changed,
                    result.destroyed),
        "change_summary", With("changes", std::move(changes)));
}

void JsonEvents::OnStart(const Change& change) {
  Write("info", fmt::format("{}: {} begins", change.address, ActionWord(change.action)),
        IsStep(change) ? "provision_start" : "apply_start", With("hook", Hook(change)));
}

void JsonEvents::OnProgress(const Change& change, Elapsed elapsed, const Progress& progress) {
  Value hook = Hook(change);
  hook.Set("elapsed_seconds", elapsed.count() / 1000);
  if (progress.workers > 0) {
    hook.Set("workers", progress.workers);
    hook.Set("workers_ok", progress.workers_ok);
    hook.Set("workers_failed", progress.workers_failed);
    hook.Set("workers_retrying", progress.workers_retrying);
  }
  Write("info",
        fmt::format("{}: Still at it... [{} elapsed]", change.address, FormatDuration(elapsed)),
        IsStep(change) ? "provision_progress" : "apply_progress", With("hook", std::move(hook)));
}

void JsonEvents::OnComplete(const Change& change, Elapsed elapsed, const std::string& id) {
  Value hook = Hook(change);
  hook.Set("elapsed_seconds", elapsed.count() / 1000);
  if (!id.empty()) {
    hook.Set("id_key", "id");
    hook.Set("id_value", id);
  }
  Write("info", fmt::format("{}: complete after {}", change.address, FormatDuration(elapsed)),
        IsStep(change) ? "provision_complete" : "apply_complete", With("hook", std::move(hook)));
}

void JsonEvents::OnError(const Change& change, Elapsed elapsed, const Error& error) {
  Value hook = Hook(change);
  hook.Set("elapsed_seconds", elapsed.count() / 1000);
  Write("error", fmt::format("{}: failed: {}", change.address, error.message),
        IsStep(change) ? "provision_errored" : "apply_errored", With("hook", std::move(hook)));
}

void JsonEvents::OnSkip(const Change& change, const std::string& cause) {
  Value hook = Hook(change);
  hook.Set("because", cause.empty() ? "end of the run" : cause);
  Write("warn",
        fmt::format("{}: skipped because of {}", change.address,
                    cause.empty() ? "the early end of the run" : cause),
        "apply_skipped", With("hook", std::move(hook)));
}

void JsonEvents::OnStepLine(const Change& change, int worker, std::string_view line) {
  Value hook = Hook(change);
  hook.Set("worker", worker);
  hook.Set("output", line);
  Write("info", fmt::format("{}/{}: {}", change.pod, worker, line), "provision_progress",
        With("hook", std::move(hook)));
}

void JsonEvents::OnNote(const std::string& address, const std::string& text) {
  Write("info", fmt::format("{}: {}", address, text), "log", With("addr", address));
}

}  // namespace podctl

#include "cmd/views/json_events.h"

#include <fmt/format.h>

#include "cmd/command_line.h"
#include "cmd/commands/validate.h"
#include "cmd/views/apply_view.h"
#include "cmd/views/cost_view.h"
#include "cmd/views/output_view.h"
#include "cmd/views/plan_view.h"
#include "cmd/views/terraform_json.h"
#include "plans/engine/kind.h"
#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

Value Resource(const Address& address) {
  const Value name = TerraformName(address);
  return Value::Map{{"addr", address.Text()},        {"module", ""},
                    {"resource", address.Text()},    {"implied_provider", "podctl"},
                    {"resource_type", name["type"]}, {"resource_name", name["name"]},
                    {"resource_key", Value()}};
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

Value Hook(const Change& change, Value::Map further = {}) {
  further["resource"] = Resource(change.address);
  if (IsStep(change)) {
    further["provisioner"] = "bootstrap";
  } else {
    further["action"] = EventAction(change);
  }
  return Value::Map{{"hook", std::move(further)}};
}

Value CountsOf(std::size_t add, std::size_t change, std::size_t remove, std::size_t steps,
               const std::string& operation) {
  return Value::Map{{"add", add},       {"change", change}, {"import", 0},
                    {"remove", remove}, {"steps", steps},   {"operation", operation}};
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
  Write("info", fmt::format("podctl {}", kVersion), "version",
        Value::Map{{"podctl", kVersion},
                   {"terraform", kTerraformVersion},  // whose events these are
                   {"format_version", "1.0"},
                   {"ui", "1.2"}});
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
        Value::Map{{"diagnostic", DiagnosticJson(diagnostic)}});
}

void JsonEvents::ShowDrift(const Drift& drift) {
  const bool gone = drift.kind == Drift::Kind::kVanished;
  Write("info", fmt::format("{}: Drift detected ({})", drift.address, drift.sentence),
        "resource_drift",
        Value::Map{{"change", Value::Map{{"resource", Resource(drift.address)},
                                         {"action", gone ? "delete" : "update"},
                                         {"changed", Paths(drift.attributes, false)}}}});
}

void JsonEvents::ShowPlanned(const Change& planned, const State& state) {
  std::string_view action = EventAction(planned);
  if (IsStep(planned)) {
    const auto sides = planned.payload.kind()->SidesOf(planned, state);
    action = sides.before.values.is_null() ? "create" : "update";
  }
  Value change = Value::Map{{"resource", Resource(planned.address)},
                            {"action", action},
                            {"changed", Paths(planned.attributes, false)},
                            {"replace_paths", Paths(planned.attributes, true)}};
  if (!planned.previous_address.empty()) {
    change.Set("previous_resource", Resource(planned.previous_address));
  }
  if (const auto flags = FlagLines(planned); !flags.empty()) {
    change.Set("changed_flags", Paths(flags, false));
  }
  if (Value origins = ValueOrigins(planned); !origins.AsList().empty()) {
    change.Set("value_origins", std::move(origins));
  }
  const std::string_view reason = TerraformReason(planned.reason_code).event;
  if (!reason.empty()) change.Set("reason", reason);
  if (const auto workers = WordsOf(planned).workers) {
    change.Set("workers", FormatRanges(*workers));
  }
  Write("info", fmt::format("{}: Plan to {}{}", planned.address, action, Clause(planned.reason)),
        "planned_change", Value::Map{{"change", std::move(change)}});
}

void JsonEvents::ShowPlan(const Plan& plan, const State& state, bool failed) {
  for (const Drift& drift : plan.drift) ShowDrift(drift);
  for (const Change& planned : plan.changes) {
    const bool nothing = IsKeep(planned) && planned.previous_address.empty();
    if (IsValue(planned)) continue;
    if (!nothing && !IsPartOfReplacement(planned, plan)) ShowPlanned(planned, state);
  }
  if (failed && !ChangesThings(plan)) return;
  const PlanCounts counts = plan.Counts();
  Value fields = Value::Map{
      {"changes", CountsOf(counts.add, counts.change, counts.destroy, counts.steps, "plan")}};
  if (plan.cost) fields.Set("cost", CostDocument(*plan.cost));
  Write("info", plan.Empty() ? NoChanges(plan) : Join(SplitLines(PlanSummary(plan)), " "),
        "change_summary", std::move(fields));
  if (!failed) ShowOutputs(OutputActions(plan));
}

void JsonEvents::ShowOutputs(const Value& outputs) {
  if (outputs.AsMap().empty()) return;
  Write("info", fmt::format("Outputs: {}", outputs.AsMap().size()), "outputs",
        Value::Map{{"outputs", outputs}});
}

void JsonEvents::ShowDigest(const std::string& digest) {
  Write("info", fmt::format("Digest of the plan: {}", digest), "plan_digest",
        Value::Map{{"digest", digest}});
}

void JsonEvents::ShowSummary(const ExecuteResult& result, const std::string& operation) {
  const bool destroy = operation == "destroy";
  if (const std::string text = UnfinishedText(result, destroy); !text.empty()) Log(text);
  Value changes = CountsOf(result.added, result.changed, result.destroyed, result.steps, operation);
  if (!result.queued.empty()) changes.Set("queued", result.queued.size());
  Write("info", fmt::format("{} {}", EndWords(result, destroy), CountWords(result, destroy)),
        "change_summary", Value::Map{{"changes", std::move(changes)}});
}

void JsonEvents::OnStart(const Change& change) {
  Write("info", fmt::format("{}: {}...", change.address, WordsFor(change).start),
        IsStep(change) ? "provision_start" : "apply_start", Hook(change));
}

void JsonEvents::OnProgress(const Change& change, Elapsed elapsed, const Progress& progress) {
  // That a step has begun was just told; of a long wait a heartbeat tells.
  constexpr std::chrono::seconds kNoNews{9};
  const bool nobody =
      progress.workers_ok == 0 && progress.workers_failed == 0 && progress.workers_retrying == 0;
  if (progress.workers > 0 && nobody && elapsed < kNoNews) return;
  Value::Map hook = {{"elapsed_seconds", elapsed.count() / 1000}};
  if (progress.workers > 0) {
    hook.insert({{"workers", progress.workers},
                 {"workers_ok", progress.workers_ok},
                 {"workers_failed", progress.workers_failed},
                 {"workers_retrying", progress.workers_retrying}});
  }
  if (!progress.why_retrying.empty()) hook["retrying_cause"] = progress.why_retrying;
  if (!progress.status.empty()) hook["status"] = progress.status;
  Write("info",
        fmt::format("{}: {}... [{} elapsed]", change.address, WordsFor(change).still,
                    FormatDuration(elapsed)),
        IsStep(change) ? "provision_progress" : "apply_progress", Hook(change, std::move(hook)));
}

void JsonEvents::OnComplete(const Change& change, Elapsed elapsed, const std::string& id) {
  Value::Map hook = {{"elapsed_seconds", elapsed.count() / 1000}};
  if (!id.empty()) {
    hook["id_key"] = "id";
    hook["id_value"] = id;
  }
  Write("info",
        fmt::format("{}: {} after {}{}", change.address, WordsFor(change).complete,
                    FormatDuration(elapsed), id.empty() ? "" : fmt::format(" [id={}]", id)),
        IsStep(change) ? "provision_complete" : "apply_complete", Hook(change, std::move(hook)));
}

void JsonEvents::OnError(const Change& change, Elapsed elapsed, const Error& error) {
  Write("error",
        fmt::format("{}: errored after {}: {}", change.address, FormatDuration(elapsed),
                    error.message),
        IsStep(change) ? "provision_errored" : "apply_errored",
        Hook(change, {{"elapsed_seconds", elapsed.count() / 1000}}));
}

// Terraform has no event for it, and says nothing.
void JsonEvents::OnSkip(const Change& change, const Address& cause) {
  Write("warn",
        fmt::format("{}: skipped because of {}", change.address,
                    cause.empty() ? "the early end of the run" : cause.Text()),
        "log", Hook(change, {{"because", cause.empty() ? "end of the run" : cause.Text()}}));
}

void JsonEvents::OnStepLine(const Change& change, int worker, const std::string& label,
                            std::string_view line) {
  Write("info", fmt::format("{}: {}", label, line), "provision_progress",
        Hook(change, {{"worker", worker}, {"output", line}}));
}

void JsonEvents::OnInterrupt() {
  Log("Interrupted: nothing new is started.");
}

void JsonEvents::OnNote(const Address& address, const std::string& text) {
  Write("info", fmt::format("{}: {}", address, text), "log", Value::Map{{"addr", address.Text()}});
}

}  // namespace podctl

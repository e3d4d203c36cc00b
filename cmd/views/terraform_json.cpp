#include "cmd/views/terraform_json.h"

#include <algorithm>
#include <map>
#include <set>

#include "cmd/views/cost_view.h"
#include "cmd/views/documents.h"
#include "cmd/views/output_view.h"
#include "plans/engine/kind.h"
#include "plans/engine/overlay.h"
#include "plans/engine/plan_digest.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/shown.h"
#include "plans/kinds/step/plan.h"
#include "plans/kinds/step/record.h"
#include "plans/spec/references.h"

namespace podctl {
namespace {

Value ActionsOf(const Change& change, const ShownSides& sides) {
  switch (change.verb) {
    case Verb::kKeep:
      break;
    case Verb::kDeleteThenCreate:
      return Value::List{"delete", "create"};
    case Verb::kCreateThenDelete:
      return Value::List{"create", "delete"};
    case Verb::kRun:
      return Value::List{sides.before.values.is_null() ? "create" : "update"};
    case Verb::kForget:
      return Value::List{"forget"};
    case Verb::kCreate:
    case Verb::kUpdate:
    case Verb::kDelete:
      return Value::List{WordOf(change.verb)};
  }
  return Value::List{"no-op"};
}

Value ReplacePaths(const Change& change) {
  Value::List paths;
  for (const AttributeChange& attribute : change.attributes) {
    if (!attribute.forces_replacement) continue;
    Value::List path;
    std::string_view rest = attribute.path;
    for (auto dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
      path.emplace_back(rest.substr(0, dot));
      rest.remove_prefix(dot + 1);
    }
    path.emplace_back(rest);
    paths.emplace_back(std::move(path));
  }
  return paths;
}

// Beside the entry that is made of them.
Value FlagChanges(const Change& change) {
  Value::List flags;
  for (const AttributeChange& line : FlagLines(change)) {
    flags.emplace_back(Value::Map{{"path", line.path},
                                  {"before", line.before.value_or(Value())},
                                  {"after", line.after.value_or(Value())}});
  }
  return flags;
}

Value ChangeBody(Value actions, const ShownSides& sides) {
  const auto sensitive = [](const ShownObject& object) {
    return object.values.is_null() ? Value(false) : object.sensitive;
  };
  return Value::Map{{"actions", std::move(actions)},
                    {"before", sides.before.values},
                    {"after", sides.after.values},
                    {"after_unknown", sides.after.unknown},
                    {"before_sensitive", sensitive(sides.before)},
                    {"after_sensitive", sensitive(sides.after)}};
}

Value ResourceChange(const Change& change, const State& state) {
  const ShownSides sides = change.payload.kind()->SidesOf(change, state);
  Value resource = TerraformName(change.address);
  if (!change.previous_address.empty())
    resource.Set("previous_address", change.previous_address.Text());
  Value body = ChangeBody(ActionsOf(change, sides), sides);
  if (Value paths = ReplacePaths(change); !paths.AsList().empty()) {
    body.Set("replace_paths", std::move(paths));
  }
  resource.Set("change", std::move(body));
  if (Value flags = FlagChanges(change); !flags.AsList().empty()) {
    resource.Set("flag_changes", std::move(flags));
  }
  if (Value origins = ValueOrigins(change); !origins.AsList().empty()) {
    resource.Set("value_origins", std::move(origins));
  }
  const std::string_view reason = TerraformReason(change.reason_code).action;
  if (!reason.empty()) resource.Set("action_reason", reason);
  return resource;
}

// A step that has run everywhere, of a pod that lives on.
Value UnchangedStep(const Address& address, const StepRecord& record) {
  const ShownObject object = ObjectOf(address, record);
  Value resource = TerraformName(address);
  resource.Set("change", ChangeBody(Value::List{"no-op"}, {object, object}));
  return resource;
}

Value ResourceDrift(const Drift& drift, const State& state) {
  const ShownSides sides = SidesOf(drift, state);
  Value resource = TerraformName(drift.address);
  const bool gone = drift.kind == Drift::Kind::kVanished;
  resource.Set("change", ChangeBody(Value::List{gone ? "delete" : "update"}, sides));
  return resource;
}

Value StateResource(const Address& address, const ShownObject& object) {
  Value resource = TerraformName(address);
  resource.Set("schema_version", 0);
  resource.Set("values", object.values);
  resource.Set("sensitive_values", object.sensitive);
  return resource;
}

Value RootModule(Value::List resources) {
  Value module = Value::EmptyMap();
  if (!resources.empty()) module.Set("resources", std::move(resources));
  return Value::Map{{"root_module", std::move(module)}};
}

// The values of a state or of a plan.
Value ValuesOf(Value::List resources, Value outputs) {
  Value values = RootModule(std::move(resources));
  if (!outputs.AsMap().empty()) values.Set("outputs", std::move(outputs));
  return values;
}

void FindReferencesIn(const Value& value, std::set<std::string>* references) {
  if (value.is_string()) {
    for (const Reference& reference : FindReferences(value.AsString())) {
      references->insert(reference.of.Text() + "." + reference.path);
      references->insert(reference.of.Text());
    }
  }
  for (const Value& item : value.AsList()) FindReferencesIn(item, references);
  for (const auto& [key, member] : value.AsMap()) FindReferencesIn(member, references);
}

Value Expression(const Value& value) {
  std::set<std::string> references;
  FindReferencesIn(value, &references);
  if (references.empty()) return Value::Map{{"constant_value", value}};
  return Value::Map{{"references", ListOf(references)}};
}

// With what it depends on, where that is something.
void SetDependsOn(const std::vector<Address>& addresses, Value* resource) {
  if (addresses.empty()) return;
  resource->Set("depends_on", ListOf(addresses, [](const Address& each) { return each.Text(); }));
}

Value ConfiguredResource(const Configured& thing) {
  Value resource = TerraformName(thing.address);
  resource.Erase("provider_name");
  resource.Set("provider_config_key", "podctl");
  resource.Set("schema_version", 0);
  Value expressions = Value::EmptyMap();
  for (const auto& [path, value] : thing.values.AsMap()) {
    expressions.MutableMap()[path] = Expression(value);
  }
  resource.Set("expressions", std::move(expressions));
  SetDependsOn(thing.depends_on, &resource);
  return resource;
}

Value Configuration(const SavedPlan& saved) {
  Value::List resources;
  for (const Change& change : saved.plan.changes) {
    if (IsDelete(change) || IsValue(change)) continue;
    for (const Configured& thing : change.payload.kind()->ConfiguredOf(change)) {
      resources.push_back(ConfiguredResource(thing));
    }
  }
  Value configuration;
  configuration.SetPath("provider_config.podctl.name", "podctl");
  configuration.SetPath("provider_config.podctl.full_name", "terraform.io/builtin/podctl");
  Value module = RootModule(std::move(resources))["root_module"];
  Value variables = Value::EmptyMap();
  for (const auto& [name, text] : saved.variables) {
    variables.MutableMap()[name] = Value::EmptyMap();
  }
  for (const std::string& name : saved.sensitive_variables) {
    variables.MutableMap()[name].Set("sensitive", true);
  }
  if (!variables.AsMap().empty()) module.Set("variables", std::move(variables));
  Value outputs = ConfiguredOutputs(saved.plan);
  if (!outputs.AsMap().empty()) module.Set("outputs", std::move(outputs));
  configuration.Set("root_module", std::move(module));
  return configuration;
}

Value VariablesJson(const SavedPlan& saved) {
  Value variables = Value::EmptyMap();
  for (const auto& [name, text] : saved.variables) {
    variables.MutableMap()[name].Set("value", text);
  }
  for (const std::string& name : saved.sensitive_variables) {
    variables.MutableMap()[name].Set("value", kRedacted);
  }
  return variables;
}

// Steps that this plan leaves as they are.
std::map<Address, const StepRecord*> RestingSteps(const SavedPlan& saved, const State& state) {
  std::set<Address> touched;
  std::set<Address> made_or_gone;
  for (const Change& change : saved.plan.changes) {
    touched.insert(change.address);
    if (LivesOn(change) || change.verb == Verb::kRun) continue;
    made_or_gone.insert(change.address.WithoutDeposed());
  }
  std::map<Address, const StepRecord*> resting;
  for (const auto& [address, record] : Steps(state)) {
    if (touched.contains(address) || made_or_gone.contains(record.pod)) continue;
    resting.emplace(address, &record);
  }
  return resting;
}

bool IsApplyable(const Plan& plan) {
  return plan.mode == PlanMode::kRefreshOnly ? !plan.drift.empty() : !plan.Empty();
}

}  // namespace

Value TerraformState(const State& state) {
  Value::List resources;
  for (const auto& [address, record] : Pods(state)) {
    Value resource = StateResource(address, ObjectOf(record));
    SetDependsOn(record.depends_on, &resource);
    resources.push_back(std::move(resource));
  }
  for (const auto& [address, record] : Steps(state)) {
    Value resource = StateResource(address, ObjectOf(address, record));
    SetDependsOn({record.pod}, &resource);
    resources.push_back(std::move(resource));
  }
  for (const auto& [address, record] : state.records) {
    const ShownObject shown = record.codec().Shown(record);
    if (!shown.values.is_null()) resources.push_back(StateResource(address, shown));
  }
  return Value::Map{{"format_version", "1.0"},
                    {"terraform_version", kTerraformVersion},
                    {"values", ValuesOf(std::move(resources), OutputsDocument(state))}};
}

Value TerraformPlan(const SavedPlan& saved) {
  const State state = saved.prior.value_or(State{});
  Value::List changes;
  Value::List planned;
  for (const Change& change : saved.plan.changes) {
    if (IsPartOfReplacement(change, saved.plan) || IsValue(change)) continue;
    changes.push_back(ResourceChange(change, state));
    ShownObject after = change.payload.kind()->SidesOf(change, state).after;
    if (!after.values.is_null()) planned.push_back(StateResource(change.address, after));
  }
  for (const auto& [address, record] : RestingSteps(saved, state)) {
    changes.push_back(UnchangedStep(address, *record));
    planned.push_back(StateResource(address, ObjectOf(address, *record)));
  }
  Value::List drift;
  for (const Drift& one : saved.plan.drift) drift.push_back(ResourceDrift(one, state));

  Value document = Value::Map{
      {"format_version", "1.2"},
      {"terraform_version", kTerraformVersion},
      {"podctl_version", saved.podctl_version},
      {"planned_values", ValuesOf(std::move(planned), PlannedOutputs(saved.plan, state))},
      {"resource_changes", std::move(changes)},
      {"configuration", Configuration(saved)},
      {"relevant_attributes", Value::EmptyList()},
      {"checks", Value::EmptyList()},
      {"timestamp", saved.created_at},
      {"applyable", IsApplyable(saved.plan)},
      {"complete", saved.plan.targets.empty()},
      {"errored", false}};
  Value output_changes = OutputChanges(saved.plan, state);
  if (!output_changes.AsMap().empty()) document.Set("output_changes", std::move(output_changes));
  Value variables = VariablesJson(saved);
  if (!variables.AsMap().empty()) document.Set("variables", std::move(variables));
  if (!drift.empty()) document.Set("resource_drift", std::move(drift));
  if (!saved.jobs.empty()) {
    Value::List jobs;
    for (const std::string& job : saved.jobs) jobs.emplace_back(job);
    document.Set("podctl_jobs", std::move(jobs));
  }
  if (saved.plan.cost) document.Set("podctl_cost", CostDocument(*saved.plan.cost));
  document.Set("podctl_digest", DigestOfPlan(saved));
  if (saved.prior) document.Set("prior_state", TerraformState(state));
  return document;
}

namespace {

// As terraform writes its own built-in provider: there is no registry to look it up in.
constexpr std::string_view kProviderName = "terraform.io/builtin/podctl";

}  // namespace

ShownSides SidesOf(const Drift& drift, const State& state) {
  ShownSides sides;
  const auto there = state.records.find(drift.address);
  if (there == state.records.end()) return sides;
  const PodRecord* record = Pods(state).Get(drift.address);
  sides.before = record == nullptr ? there->second.codec().Shown(there->second) : ObjectOf(*record);
  if (drift.kind == Drift::Kind::kVanished) return sides;
  sides.after = sides.before;
  Overlay(drift.attributes, Side::kBefore, &sides.before);
  Overlay(drift.attributes, Side::kAfter, &sides.after);
  if (drift.kind == Drift::Kind::kUnhealthy) {
    sides.before.values.Set("health", "HEALTHY");
    sides.before.values.Erase("healthDescription");
  } else if (drift.kind != Drift::Kind::kChanged) {
    sides.before.values.Set("state", "READY");
  }
  return sides;
}

bool IsPartOfReplacement(const Change& change, const Plan& plan) {
  if (!IsDelete(change) || change.address.deposed.empty()) return false;
  const Address pod = change.address.WithoutDeposed();
  const auto& waits_for = change.waits_for;
  return std::count(waits_for.begin(), waits_for.end(), pod) > 0 &&
         std::any_of(plan.changes.begin(), plan.changes.end(), [&](const Change& other) {
           return other.address == pod && other.verb == Verb::kCreateThenDelete;
         });
}

ReasonWords TerraformReason(ReasonCode reason) {
  switch (reason) {
    case ReasonCode::kNone:
      break;
    case ReasonCode::kCannotUpdate:
      return {"cannot_update", "replace_because_cannot_update"};
    case ReasonCode::kTainted:
      return {"tainted", "replace_because_tainted"};
    case ReasonCode::kByRequest:
      return {"requested", "replace_by_request"};
    case ReasonCode::kByTriggers:
      return {"replace_triggered_by", "replace_by_triggers"};
    case ReasonCode::kNoConfiguration:
      return {"delete_because_no_resource_config", "delete_because_no_resource_config"};
  }
  return {};
}

std::vector<AttributeChange> FlagLines(const Change& change) {
  std::vector<AttributeChange> lines = WithFlagsApart(change.attributes);
  std::erase_if(lines, [](const AttributeChange& line) {
    return !IsFlagPath(line.path) && !line.path.starts_with("runtimeEnv.");
  });
  return lines;
}

Value ValueOrigins(const Change& change) {
  Value::List origins;
  for (const AttributeChange& attribute : change.attributes) {
    if (!attribute.origin) continue;
    origins.emplace_back(Value::Map{{"path", attribute.path}, {"origin", *attribute.origin}});
  }
  return origins;
}

Value TerraformName(const Address& address) {
  Value name = Value::Map{{"address", address.WithoutDeposed().Text()},
                          {"mode", "managed"},
                          {"type", address.kind},
                          {"name", address.name},
                          {"provider_name", kProviderName}};
  if (!address.deposed.empty()) name.Set("deposed", address.deposed);
  return name;
}

}  // namespace podctl

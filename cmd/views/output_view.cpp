#include "cmd/views/output_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "plans/engine/kind.h"
#include "plans/engine/overlay.h"
#include "plans/kinds/output/spec.h"
#include "plans/spec/references.h"
#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// Those that a plan has, kept ones among them.
std::vector<const Change*> OutputsIn(const Plan& plan) {
  std::vector<const Change*> outputs;
  for (const Change& change : plan.changes) {
    if (IsValue(change)) outputs.push_back(&change);
  }
  return outputs;
}

// One side of an output: what it is there, if it is.
struct OutputSide {
  std::optional<Value> value;  // redacted where it is sensitive; nullopt: there is none
  bool sensitive = false;
  bool unknown = false;
};

struct OutputSides {
  OutputSide before;
  OutputSide after;
};

OutputSide SideOf(const OutputRecord* record) {
  if (record == nullptr) return {};
  const bool sensitive = record->sensitive();
  return {sensitive ? Value(kRedacted) : Value(record->value), sensitive};
}

OutputSides SidesOfOutput(const Change& change, const State& state) {
  OutputSides sides;
  sides.before = SideOf(Outputs(state).Get(change.address));
  if (IsDelete(change)) return sides;
  if (change.attributes.empty()) {
    sides.after = sides.before;
    return sides;
  }
  const AttributeChange& line = change.attributes.front();
  const auto* output = change.payload.As<OutputSpec>();
  sides.after.sensitive = output != nullptr && output->sensitive;
  sides.after.unknown = !line.known;
  if (line.known) sides.after.value = line.sensitive ? Value(kRedacted) : line.after;
  return sides;
}

Value OutputValue(const OutputSide& side) {
  Value output = Value::Map{{"sensitive", side.sensitive}, {"type", "string"}};
  if (side.value) output.Set("value", *side.value);
  return output;
}

bool HasSeveralLines(const std::string& text) {
  return text.find('\n') != std::string::npos;
}

}  // namespace

std::vector<AttributeChange> OutputLines(const Plan& plan) {
  std::vector<AttributeChange> lines;
  for (const Change* change : OutputsIn(plan)) {
    if (IsKeep(*change) || change->attributes.empty()) continue;
    AttributeChange line = change->attributes.front();
    line.path = change->address.name;
    lines.push_back(std::move(line));
  }
  std::sort(lines.begin(), lines.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return lines;
}

bool ChangesThings(const Plan& plan) {
  return std::any_of(plan.changes.begin(), plan.changes.end(), [](const Change& change) {
    return !IsValue(change) && (!IsKeep(change) || !change.previous_address.empty());
  });
}

Value OutputChanges(const Plan& plan, const State& state) {
  Value changes = Value::EmptyMap();
  for (const Change* change : OutputsIn(plan)) {
    const OutputSides sides = SidesOfOutput(*change, state);
    Value entry = Value::Map{{"actions", Value::List{WordOf(change->verb)}},
                             {"before", sides.before.value.value_or(Value())},
                             {"after_unknown", sides.after.unknown},
                             {"before_sensitive", sides.before.sensitive},
                             {"after_sensitive", sides.after.sensitive}};
    if (!sides.after.unknown) entry.Set("after", sides.after.value.value_or(Value()));
    changes.MutableMap()[change->address.name] = std::move(entry);
  }
  return changes;
}

Value OutputActions(const Plan& plan) {
  Value actions = Value::EmptyMap();
  for (const Change* change : OutputsIn(plan)) {
    const auto* output = change->payload.As<OutputSpec>();
    const std::string_view action = IsKeep(*change) ? "noop" : WordOf(change->verb);
    actions.MutableMap()[change->address.name] =
        Value::Map{{"sensitive", output != nullptr && output->sensitive}, {"action", action}};
  }
  return actions;
}

Value PlannedOutputs(const Plan& plan, const State& state) {
  Value outputs = Value::EmptyMap();
  for (const Change* change : OutputsIn(plan)) {
    if (IsDelete(*change)) continue;
    outputs.MutableMap()[change->address.name] = OutputValue(SidesOfOutput(*change, state).after);
  }
  return outputs;
}

Value ConfiguredOutputs(const Plan& plan) {
  Value outputs = Value::EmptyMap();
  for (const Change* change : OutputsIn(plan)) {
    const auto* output = change->payload.As<OutputSpec>();
    if (output == nullptr || IsDelete(*change)) continue;
    std::set<std::string> references;
    for (const Reference& reference : FindReferences(output->text)) {
      references.insert(reference.of.Text() + "." + reference.path);
      references.insert(reference.of.Text());
    }
    Value entry = Value::EmptyMap();
    if (!references.empty()) {
      entry.SetPath("expression.references",
                    Value(Value::List(references.begin(), references.end())));
    } else {
      entry.SetPath("expression.constant_value",
                    output->sensitive ? Value(kRedacted) : Value(output->text));
    }
    if (output->sensitive) entry.Set("sensitive", true);
    if (!output->description.empty()) entry.Set("description", output->description);
    outputs.MutableMap()[change->address.name] = std::move(entry);
  }
  return outputs;
}

std::string QuotedOutput(const std::string& value) {
  return VisibleControls(ToJson(Value(value)));
}

std::string OutputsText(const State& state) {
  std::string text;
  for (const auto& [address, record] : Outputs(state)) {
    text += address.name + " = ";
    if (record.sensitive()) {
      text += "<sensitive>\n";
    } else if (HasSeveralLines(record.value)) {
      text += "<<EOT\n";
      for (const std::string& line : SplitLines(record.value)) text += VisibleControls(line) + "\n";
      text += "EOT\n";
    } else {
      text += QuotedOutput(record.value) + "\n";
    }
  }
  return text;
}

Value OutputsDocument(const State& state, const SensitiveValues& known) {
  Value outputs = Value::EmptyMap();
  for (const auto& [address, record] : Outputs(state)) {
    OutputSide side;
    side.sensitive = record.sensitive();
    if (!record.sensitive()) side.value = Value(record.value);
    const auto found = known.find(address.name);
    if (found != known.end()) side.value = Value(found->second);
    outputs.MutableMap()[address.name] = OutputValue(side);
  }
  return outputs;
}

}  // namespace podctl

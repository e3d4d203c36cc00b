// Outputs, in terraform's words: what a plan changes of them, and what they are.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/kinds/output/record.h"
#include "providers/base/value.h"
#include "state/state.h"

namespace podctl {

// ---- Of a plan.

// A line for each output that it changes; its path is the output's name.
std::vector<AttributeChange> OutputLines(const Plan& plan);
// Whether it does anything besides: false of one that only changes outputs, or nothing.
bool ChangesThings(const Plan& plan);
// The member `output_changes` of a plan's document, whose `state` is the plan's prior one; what
// is sensitive is redacted. An empty map: there are no outputs.
Value OutputChanges(const Plan& plan, const State& state);
// As events have it: {NAME: {sensitive, action}}.
Value OutputActions(const Plan& plan);
// `planned_values.outputs` of a plan's document.
Value PlannedOutputs(const Plan& plan, const State& state);
// `configuration.root_module.outputs` of a plan's document.
Value ConfiguredOutputs(const Plan& plan);

// ---- Of a state.

// Values of sensitive outputs, as far as they are known, by name.
using SensitiveValues = std::map<std::string, std::string>;

// "NAME = "value"", a line each; a text of several lines stands between <<EOT and EOT.
std::string OutputsText(const State& state);
// {NAME: {sensitive, type, value}}; without `value` where that is not known.
Value OutputsDocument(const State& state, const SensitiveValues& known = {});

// The value in quotes, on one line.
std::string QuotedOutput(const std::string& value);

}  // namespace podctl

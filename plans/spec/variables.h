// The `variables` of a spec and where their values come from: --var, then PODCTL_VAR_name, then a
// variable file, then the default. Values are plain text: nothing in them is an expression.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plans/spec/value_reader.h"
#include "providers/os/environment.h"

namespace podctl {

struct VariableSources {
  const std::map<std::string, std::string>& options;  // --var
  const std::vector<YamlNodePtr>& files;              // maps of name to value; a later one wins
  const Environment& environment;
};

// `declarations`: the entries of every file's `variables`. A variable without a value, or given but
// not declared, is reported.
// The table of what a declaration holds.
const Shape& VariableShape();

Variables ResolveVariables(const std::vector<YamlEntry>& declarations,
                           const VariableSources& sources, Problems& problems);

}  // namespace podctl

// The JSON Schema of a spec (draft-07), for editors and other tools: made of the tables by which
// specs are read (shape.h). It says what one file may look like; what values mean together, and
// what other files and the world have to do with them, `podctl validate` knows alone.
//
// Source: draft-07; patternErrorMessage, errorMessage, markdownDescription and defaultSnippets are
// what yaml-language-server and VS Code know beyond it, and others pass over.
#pragma once

#include <string>

#include "plans/engine/kind.h"
#include "plans/spec/shape.h"
#include "providers/base/value.h"

namespace podctl {

// The name of the file that `podctl init` puts beside a spec.
inline constexpr const char* kSchemaFile = "podctl.schema.json";
// The first line of such a spec, by which editors find it.
inline constexpr const char* kSchemaLine = "# yaml-language-server: $schema=podctl.schema.json\n";

// What a file of a spec may look like, its sections those of `kinds`.
Shape SpecShape(Kinds kinds);

// That, as a JSON Schema.
Value SpecSchema(Kinds kinds);
// As the file holds it, indented.
std::string SpecSchemaText(Kinds kinds);

}  // namespace podctl

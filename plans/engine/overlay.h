// The two sides of a change as terraform's JSON has them: what is shown of a thing, with the lines
// of a change laid over it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plans/engine/change.h"
#include "providers/base/value.h"
#include "state/record_codec.h"

namespace podctl {

inline constexpr std::string_view kRedacted = "(sensitive value)";

enum class Side { kBefore, kAfter };

// The values of that side; what is sensitive is redacted, what is not known yet is marked so.
void Overlay(const std::vector<AttributeChange>& attributes, Side side, ShownObject* object);

// Puts `value` at the end of the path of an AttributeChange, or takes away what is there. Below
// metadata and labels it is one key, which may hold a dot.
void PutAt(Value* target, const std::string& path, const std::optional<Value>& value);

}  // namespace podctl

// Reads what a stored record says of its objects and its goal. For state_json.cpp alone.
#pragma once

#include <string>
#include <string_view>

#include "state/object_reader.h"
#include "state/record.h"

namespace podctl {

// The format version since which records have `objects`, a `goal` and a `payload`.
inline constexpr int kFormatOfObjects = 5;

// "create", "patch", "delete": the kinds of what was under way before version 5.
std::string_view PendingKindName(PendingAction::Kind kind);

// Remembers in `problem` what is wrong, also where the record cannot be.
void ReadRecord(ObjectReader& in, const std::string& address, Record* record, std::string& problem);

// Versions 1 to 4 had a member for each thing that can be said of a record, and could say what
// cannot be; `locator` is the name of the one that names the object.
void ReadRecordBefore5(ObjectReader& in, const std::string& address, std::string_view locator,
                       Record* record, std::string& problem);

}  // namespace podctl

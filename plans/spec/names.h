// What things, projects and zones may be called.
#pragma once

#include <string_view>

#include "plans/spec/value_reader.h"

namespace podctl {

// Names that may be a part of an address, `pod.research`.
bool IsThingName(std::string_view name);

// Zone and project become parts of URLs; a region in place of a zone is a common slip. False after
// a report.
bool CheckZone(ValueReader& reader, const YamlNode& at, const Slot& slot, std::string_view zone);
bool CheckProject(ValueReader& reader, const YamlNode& at, const Slot& slot,
                  std::string_view project);

}  // namespace podctl

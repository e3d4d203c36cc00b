// Which texts can be the name of a project, of a zone or region, and of a node: others have no
// place in a request's path, where they might name something else.
#pragma once

#include <string_view>

namespace podctl::gcp {

bool IsProjectId(std::string_view text);  // "my-project", "example.com:lab", "123"
bool IsLocation(std::string_view text);   // "europe-west4-a", "europe-west4"
bool IsNodeId(std::string_view text);     // also of a queued resource

}  // namespace podctl::gcp

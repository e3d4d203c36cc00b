// What an operation is called in the Cloud TPU API. A name is kept in the state, asked for by later
// runs and shown, so one that nobody can have is none. Pure.
#pragma once

#include <string_view>

namespace podctl::gcp {

// Whether `name` is "projects/PROJECT/locations/LOCATION/operations/ID" of that project, which the
// service may call by its number, and that location.
bool IsOperationOf(std::string_view name, std::string_view project, std::string_view location);

}  // namespace podctl::gcp

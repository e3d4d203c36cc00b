#include "providers/os/environment.h"

#include <cstdlib>

namespace podctl {

std::optional<std::string> RealEnvironment::Get(const std::string& name) const {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::make_optional<std::string>(value);
}

}  // namespace podctl

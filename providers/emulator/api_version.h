// The two versions of the API that are served. Pure.
#pragma once

#include <string_view>

namespace podctl::emulator {

enum class ApiVersion { kV2, kV2Alpha1 };

// As it stands in paths, type names and operation metadata.
constexpr std::string_view VersionName(ApiVersion version) {
  return version == ApiVersion::kV2 ? "v2" : "v2alpha1";
}

constexpr ApiVersion VersionOf(std::string_view name) {
  return name == "v2alpha1" ? ApiVersion::kV2Alpha1 : ApiVersion::kV2;
}

}  // namespace podctl::emulator

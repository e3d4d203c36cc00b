// The versions of the Cloud TPU API that podctl speaks: v2, and v2alpha1 for what only it has.
// Their nodes are the same ones; v2alpha1 shows and takes more fields of them.
#pragma once

#include <optional>
#include <string_view>

namespace podctl {

enum class ApiVersion { kV2, kV2Alpha1 };

// As a URL and a spec have it: "v2".
constexpr std::string_view ApiVersionName(ApiVersion version) {
  return version == ApiVersion::kV2 ? "v2" : "v2alpha1";
}

constexpr std::optional<ApiVersion> ParseApiVersion(std::string_view name) {
  for (ApiVersion version : {ApiVersion::kV2, ApiVersion::kV2Alpha1}) {
    if (name == ApiVersionName(version)) return version;
  }
  return std::nullopt;
}

}  // namespace podctl

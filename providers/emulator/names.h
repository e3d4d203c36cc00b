// Names of the emulated cloud: its projects, zones and resources, and the versions of its API; and
// numbers within names. Pure.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace podctl::emulator {

enum class ApiVersion { kV2, kV2Alpha1 };

// As it stands in paths, type names and operation metadata.
constexpr std::string_view VersionName(ApiVersion version) {
  return version == ApiVersion::kV2 ? "v2" : "v2alpha1";
}
constexpr ApiVersion VersionOf(std::string_view name) {
  return name == "v2alpha1" ? ApiVersion::kV2Alpha1 : ApiVersion::kV2;
}

// Where resources live. Of custom jobs the zone is a region.
struct Place {
  std::string project;
  std::string zone;

  std::string Parent() const { return "projects/" + project + "/locations/" + zone; }
  // "projects/P/locations/Z/nodes/N"; without an id the prefix of all names.
  std::string Name(std::string_view collection, std::string_view id) const;
};

// The place in a resource name.
Place PlaceOf(std::string_view resource_name);
// The last part of a resource name, which may be a plain id.
std::string IdOf(std::string_view resource_name);
// "nodes" of "projects/P/locations/Z/nodes/N".
std::string_view CollectionOf(std::string_view resource_name);
// "europe-west4" of "europe-west4-a".
std::string RegionOf(std::string_view zone);
// A project number: twelve digits that stay the same for a project (or any other text).
std::string ProjectNumber(std::string_view project);
// For nodes and queued resources: ^[A-Za-z0-9_.~+%-]+$, at most 63 characters, and not what stands
// for another place in every path, "." and "..".
bool IsResourceId(std::string_view id);
// Of a project, its id or number, as far as that concerns who makes names of it.
bool IsProjectId(std::string_view id);

// Lower-case letters, digits, dash, underscore; what is not ASCII passes as an international
// letter.
bool IsLabelText(std::string_view text);

std::string LowerCase(std::string_view text);  // of ASCII
std::uint64_t Fnv1a(std::string_view text);    // a hash that a restart does not change

// False unless the whole text is a number that fits. Empty text is none.
template <typename Number>
bool ReadNumber(std::string_view text, Number* number, int base = 10) {
  const char* const last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, *number, base);
  return problem == std::errc{} && end == last;
}

}  // namespace podctl::emulator

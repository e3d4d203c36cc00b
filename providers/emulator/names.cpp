#include "providers/emulator/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace podctl::emulator {

std::string Place::Name(std::string_view collection, std::string_view id) const {
  return fmt::format("{}/{}/{}", Parent(), collection, id);
}

Place PlaceOf(std::string_view resource_name) {
  std::array<std::string_view, 4> parts;  // projects/P/locations/Z
  for (std::string_view& part : parts) {
    const std::size_t slash = resource_name.find('/');
    part = resource_name.substr(0, slash);
    resource_name.remove_prefix(slash == std::string_view::npos ? resource_name.size() : slash + 1);
  }
  return {.project = std::string(parts[1]), .zone = std::string(parts[3])};
}

std::string IdOf(std::string_view resource_name) {
  return std::string(resource_name.substr(resource_name.rfind('/') + 1));
}

std::string_view CollectionOf(std::string_view resource_name) {
  resource_name = resource_name.substr(0, resource_name.rfind('/'));
  return resource_name.substr(resource_name.rfind('/') + 1);
}

std::string RegionOf(std::string_view zone) {
  return std::string(zone.substr(0, zone.rfind('-')));
}

std::string ProjectNumber(std::string_view project) {
  const bool numeric = !project.empty() && std::all_of(project.begin(), project.end(),
                                                       [](char c) { return c >= '0' && c <= '9'; });
  if (numeric) return std::string(project);
  return std::to_string(100'000'000'000 + Fnv1a(project) % 900'000'000'000);
}

bool IsProjectId(std::string_view id) {
  return !id.empty() && id.size() <= 63 && id.front() != '.' &&
         std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("_.:-").find(c) != std::string_view::npos;
         });
}

bool IsResourceId(std::string_view id) {
  return !id.empty() && id.size() <= 63 && id != "." && id != ".." &&
         std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("_.~+%-").find(c) != std::string_view::npos;
         });
}

bool IsLabelText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
  });
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

std::uint64_t Fnv1a(std::string_view text) {
  std::uint64_t hash = 1469598103934665603U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

}  // namespace podctl::emulator

#include "plans/spec/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "providers/gcp/place_names.h"

namespace podctl {
namespace {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// "europe-west4", which has zones but is none.
bool IsRegion(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos || text.rfind('-') != dash) return false;
  return !text.empty() && IsDigit(text.back());
}

}  // namespace

bool IsThingName(std::string_view name) {
  constexpr std::size_t kLongest = 63;
  return !name.empty() && name.size() <= kLongest && name[0] != '-' &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
}

bool CheckZone(ValueReader& reader, const YamlNode& at, const Slot& slot, std::string_view zone) {
  if (gcp::IsLocation(zone) && !IsRegion(zone)) return true;
  reader.Error(at, slot,
               fmt::format("`{}` is {}", zone, IsRegion(zone) ? "a region, not a zone" : "no zone"),
               IsRegion(zone) ? fmt::format("such as `{}-a`", zone) : "such as `europe-west4-a`");
  return false;
}

bool CheckProject(ValueReader& reader, const YamlNode& at, const Slot& slot,
                  std::string_view project) {
  if (gcp::IsProjectId(project)) return true;
  reader.Error(at, slot, fmt::format("`{}` is no project id", project),
               "lower-case letters, digits and -");
  return false;
}

}  // namespace podctl

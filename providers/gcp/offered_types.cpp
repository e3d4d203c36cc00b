#include "providers/gcp/offered_types.h"

#include <algorithm>
#include <map>

#include "providers/gcp/accelerator_catalog.h"

namespace podctl::gcp {
namespace {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// The digits that `text` begins with, without leading zeros.
std::string_view NumberAt(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && IsDigit(text[end])) ++end;
  text = text.substr(0, end);
  while (text.size() > 1 && text[0] == '0') text.remove_prefix(1);
  return text;
}

// What the catalogue says of a type, else of one of its configurations.
std::optional<Accelerator> Known(const Value& listed) {
  if (auto known = FindAccelerator(listed["type"].AsString())) return known;
  for (const Value& config : listed["acceleratorConfigs"].AsList()) {
    if (auto known = FindAccelerator(config["type"].AsString(), config["topology"].AsString())) {
      return known;
    }
  }
  return std::nullopt;
}

OfferedType Joined(const Value& listed) {
  OfferedType offered;
  offered.type = listed["type"].AsString();
  if (offered.type.empty()) {  // the name ends in it as well
    const std::string& name = listed["name"].AsString();
    offered.type = name.substr(name.rfind('/') + 1);
  }
  for (const Value& config : listed["acceleratorConfigs"].AsList()) {
    const std::string& topology = config["topology"].AsString();
    if (!topology.empty()) offered.topologies.push_back(topology);
  }
  if (const auto known = Known(listed)) {
    offered.chips = known->chips;
    offered.hosts = known->workers;
    if (offered.topologies.empty()) offered.topologies = {known->topology};
  }
  return offered;
}

}  // namespace

bool NaturallyBefore(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (IsDigit(a[0]) && IsDigit(b[0])) {
      const std::string_view x = NumberAt(a);
      const std::string_view y = NumberAt(b);
      if (x != y) return x.size() != y.size() ? x.size() < y.size() : x < y;
      while (!a.empty() && IsDigit(a[0])) a.remove_prefix(1);
      while (!b.empty() && IsDigit(b[0])) b.remove_prefix(1);
      continue;
    }
    if (a[0] != b[0]) return a[0] < b[0];
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.size() < b.size();
}

std::vector<OfferedType> JoinTypes(const std::vector<Value>& listed) {
  const std::vector<std::string> order = AcceleratorTypes();
  std::map<std::string_view, std::size_t> place;
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  const auto rank = [&](const OfferedType& offered) {
    const auto known = place.find(offered.type);
    return known == place.end() ? order.size() : known->second;
  };
  std::vector<OfferedType> types;
  for (const Value& each : listed) types.push_back(Joined(each));
  std::sort(types.begin(), types.end(), [&](const OfferedType& a, const OfferedType& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : NaturallyBefore(a.type, b.type);
  });
  return types;
}

std::vector<OfferedType> BuiltInTypes(std::string_view zone) {
  std::vector<OfferedType> types;
  for (const std::string& type : AcceleratorTypes()) {
    const auto known = FindAccelerator(type);
    OfferedType offered{type, {known->topology}, known->chips, known->workers, ZonesOf(type)};
    const bool there = std::count(offered.zones.begin(), offered.zones.end(), zone) > 0;
    if (zone.empty() || there) types.push_back(std::move(offered));
  }
  return types;
}

}  // namespace podctl::gcp

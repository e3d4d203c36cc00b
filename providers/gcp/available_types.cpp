#include "providers/gcp/available_types.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <set>

#include "providers/base/text.h"

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

AvailableType Joined(const Value& listed) {
  AvailableType available;
  available.type = listed["type"].AsString();
  if (available.type.empty()) {  // the name ends in it as well
    const std::string& name = listed["name"].AsString();
    available.type = name.substr(name.rfind('/') + 1);
  }
  for (const Value& config : listed["acceleratorConfigs"].AsList()) {
    const std::string& topology = config["topology"].AsString();
    if (!topology.empty()) available.topologies.push_back(topology);
  }
  if (const auto known = Known(listed)) {
    available.chips = known->chips;
    available.hosts = known->workers;
    if (available.topologies.empty()) available.topologies = {known->topology};
  }
  return available;
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

std::vector<AvailableType> JoinTypes(const std::vector<Value>& listed) {
  const std::vector<std::string> order = AcceleratorTypes();
  std::map<std::string_view, std::size_t> place;
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  const auto rank = [&](const AvailableType& available) {
    const auto known = place.find(available.type);
    return known == place.end() ? order.size() : known->second;
  };
  std::vector<AvailableType> types;
  for (const Value& each : listed) types.push_back(Joined(each));
  std::sort(types.begin(), types.end(), [&](const AvailableType& a, const AvailableType& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : NaturallyBefore(a.type, b.type);
  });
  return types;
}

std::vector<AvailableType> BuiltInTypes(std::string_view zone) {
  std::vector<AvailableType> types;
  for (const std::string& type : AcceleratorTypes()) {
    const auto known = FindAccelerator(type);
    AvailableType available{type, {known->topology}, known->chips, known->workers, ZonesOf(type)};
    const bool there = std::count(available.zones.begin(), available.zones.end(), zone) > 0;
    if (zone.empty() || there) types.push_back(std::move(available));
  }
  return types;
}

namespace {

// The three-dimensional shapes that v5p and tpu7x share: size in TensorCores, then the topology.
#define PODCTL_TORUS_SIZES                                                                  \
  "8:2x2x1 16:2x2x2 32:2x2x4 64:2x4x4 128:4x4x4 256:4x4x8 384:4x4x12 512:4x8x8 640:4x4x20 " \
  "768:4x8x12 896:4x4x28 1024:8x8x8 1152:4x12x12 1280:4x8x20 1408:4x4x44 1536:8x8x12 "      \
  "1664:4x4x52 1792:4x8x28 1920:4x12x20 2048:8x8x16 2176:4x4x68 2304:8x12x12 2432:4x4x76 "  \
  "2560:8x8x20 2688:4x12x28 2816:4x8x44 2944:4x4x92 3072:8x12x16 3200:4x20x20 3328:4x8x52 " \
  "3456:12x12x12 3584:8x8x28 3712:4x4x116 3840:8x12x20 3968:4x4x124 4096:8x16x16 "          \
  "4224:4x12x44 4352:4x8x68 4480:4x20x28 4608:12x12x16 4736:4x4x148 4864:4x8x76 "           \
  "4992:4x12x52 5120:8x16x20 5248:4x4x164 5376:8x12x28 5504:4x4x172 5632:8x8x44 "           \
  "5760:12x12x20 5888:4x8x92 6016:4x4x188 6144:12x16x16 6272:4x28x28 6400:8x20x20 "         \
  "6528:4x12x68 6656:8x8x52 6784:4x4x212 6912:12x12x24 7040:4x20x44 7168:8x16x28 "          \
  "7296:4x12x76 7424:4x8x116 7552:4x4x236 7680:12x16x20 7808:4x4x244 7936:4x8x124 "         \
  "8064:12x12x28 8192:16x16x16 8320:4x20x52 8448:8x12x44 8704:8x8x68 8832:4x12x92 "         \
  "8960:8x20x28 9216:12x16x24 9472:4x8x148 9600:12x20x20 9728:8x8x76 9856:4x28x44 "         \
  "9984:8x12x52 10240:16x16x20 10368:12x12x36 10496:4x8x164 10752:12x16x28 10880:4x20x68 "  \
  "11008:4x8x172 11136:4x12x116 11264:8x16x44 11520:12x20x24 11648:4x28x52 11776:8x8x92 "   \
  "11904:4x12x124 12032:4x8x188 12160:4x20x76 12288:16x16x24 13824:12x24x24 17920:16x20x28"

struct Generation {
  std::string_view prefix;  // "v3"
  std::string_view config_type;
  bool counts_cores;       // the number in the name: TensorCores (two a chip), else chips
  std::string_view sizes;  // "number:topology", blank separated
  std::string_view zones;  // blank separated (documentation, "TPU regions and zones")
  std::string_view single_host_zones;  // where they are others
};

constexpr Generation kGenerations[] = {
    {"v2", "V2", true, "8:2x2 32:4x4 128:8x8 256:8x16 512:16x16", "us-central1-a europe-west4-a",
     "us-central1-b us-central1-c europe-west4-a asia-east1-c"},
    {"v3", "V3", true, "8:2x2 32:4x4 64:4x8 128:8x8 256:8x16 512:16x16 1024:16x32 2048:32x32",
     "europe-west4-a", "us-central1-a us-central1-b europe-west4-a"},
    {"v4", "V4", true,
     "8:2x2x1 16:2x2x2 32:2x2x4 64:2x4x4 128:4x4x4 256:4x4x8 384:4x4x12 512:4x8x8 640:4x4x20 "
     "768:4x8x12 896:4x4x28 1024:8x8x8 1152:4x12x12 1280:4x8x20 1408:4x4x44 1536:8x8x12 "
     "1664:4x4x52 1792:4x8x28 1920:4x12x20 2048:8x8x16 2176:4x4x68 2304:8x12x12 2560:8x8x20 "
     "3072:8x12x16 3584:8x8x28 4096:8x16x16 6144:12x16x16 8192:16x16x16",
     "us-central2-b", ""},
    {"v5litepod", "V5LITE_POD", false,
     "1:1x1 2:1x2 4:2x2 8:2x4 16:4x4 32:4x8 64:8x8 128:8x16 256:16x16",
     "us-central1-a us-south1-a us-west1-c us-west4-a europe-west4-b", ""},
    {"v5p", "V5P", true, PODCTL_TORUS_SIZES, "us-central1-a us-east5-a europe-west4-b", ""},
    {"v6e", "V6E", false, "1:1x1 4:2x2 8:2x4 16:4x4 32:4x8 64:8x8 128:8x16 256:16x16",
     "us-central1-b us-east1-d us-east5-a us-east5-b europe-west4-a asia-northeast1-b "
     "southamerica-west1-a",
     ""},
    {"tpu7x", "TPU7X", true, "2:1x1x1 " PODCTL_TORUS_SIZES " 16384:16x16x32 18432:16x24x24", "",
     ""},
};
#undef PODCTL_TORUS_SIZES

constexpr int kChipsPerWorker = 4;
constexpr int kLargestSingleHost = 8;  // chips; v5litepod and v6e have one VM up to here

std::optional<int> ParsePositive(std::string_view text) {
  const auto number = ParseNumber<int>(text);
  return number && *number > 0 ? number : std::nullopt;
}

// "2x2x4" -> 16.
std::optional<int> ChipsOf(std::string_view topology) {
  constexpr int kMostChips = 1 << 20;
  int chips = 1;
  for (std::size_t from = 0; from != std::string_view::npos;) {
    const auto cross = topology.find('x', from);
    const auto side = ParsePositive(topology.substr(from, cross - from));
    if (!side || *side > kMostChips / chips) return std::nullopt;
    chips *= *side;
    from = cross == std::string_view::npos ? cross : cross + 1;
  }
  return chips;
}

int WorkersOf(const Generation& generation, int chips) {
  if (!generation.counts_cores && chips <= kLargestSingleHost) return 1;
  return std::max(1, chips / kChipsPerWorker);
}

template <typename Visit>
void ForEachSize(const Generation& generation, Visit visit) {
  for (const std::string_view entry : Split(generation.sizes, " ")) {
    const auto colon = entry.find(':');
    visit(entry.substr(0, colon), entry.substr(colon + 1));
  }
}

const Generation* GenerationOf(std::string_view type) {
  const auto dash = type.rfind('-');
  if (dash == std::string_view::npos) return nullptr;
  for (const Generation& generation : kGenerations) {
    if (type.substr(0, dash) == generation.prefix) return &generation;
  }
  return nullptr;
}

std::string TypeName(const Generation& generation, std::string_view size) {
  return std::string(generation.prefix) + "-" + std::string(size);
}

std::string NearestInSize(const Generation& generation, int wanted) {
  std::string nearest;
  int smallest_distance = 0;
  ForEachSize(generation, [&](std::string_view size, std::string_view) {
    const int distance = std::abs(*ParsePositive(size) - wanted);
    if (nearest.empty() || distance < smallest_distance) {
      nearest = TypeName(generation, size);
      smallest_distance = distance;
    }
  });
  return nearest;
}

}  // namespace

std::optional<Accelerator> FindAccelerator(std::string_view type) {
  const Generation* generation = GenerationOf(type);
  if (generation == nullptr) return std::nullopt;
  // "8:1x2x2 16:…": asked for each pod of a spec, so nothing is taken apart that is not wanted.
  const std::string_view sizes = generation->sizes;
  const std::string wanted = std::string(type.substr(generation->prefix.size() + 1)) + ":";
  std::size_t at = sizes.starts_with(wanted) ? 0 : sizes.find(" " + wanted);
  if (at == std::string_view::npos || wanted.find(' ') != std::string::npos) return std::nullopt;
  if (at > 0) ++at;
  const std::string_view rest = sizes.substr(at + wanted.size());
  const std::string_view topology = rest.substr(0, rest.find(' '));
  const int chips = ChipsOf(topology).value_or(0);
  return Accelerator{std::string(type), std::string(topology), chips,
                     WorkersOf(*generation, chips)};
}

std::optional<Accelerator> FindAccelerator(std::string_view config_type,
                                           std::string_view topology) {
  for (const Generation& generation : kGenerations) {
    if (generation.config_type != config_type) continue;
    const auto chips = ChipsOf(topology);
    if (!chips) return std::nullopt;
    return Accelerator{"", std::string(topology), *chips, WorkersOf(generation, *chips)};
  }
  return std::nullopt;
}

std::vector<std::string> AcceleratorTypes() {
  std::vector<std::string> types;
  for (const Generation& generation : kGenerations) {
    ForEachSize(generation, [&](std::string_view size, std::string_view) {
      types.push_back(TypeName(generation, size));
    });
  }
  return types;
}

std::vector<std::string> ZonesOf(std::string_view type) {
  const auto known = FindAccelerator(type);
  if (!known) return {};
  const Generation& generation = *GenerationOf(type);
  const bool apart = known->workers == 1 && !generation.single_host_zones.empty();
  return SplitWords(apart ? generation.single_host_zones : generation.zones);
}

std::vector<std::string> KnownZones() {
  std::set<std::string> zones;
  for (const Generation& generation : kGenerations) {
    for (const std::string_view text : {generation.zones, generation.single_host_zones}) {
      for (std::string& zone : SplitWords(text)) zones.insert(std::move(zone));
    }
  }
  return {zones.begin(), zones.end()};
}

std::string NearestAccelerator(std::string_view type) {
  // Sold as v5e, but not called so by the Cloud TPU API.
  constexpr std::string_view kMarketingName = "v5e-";
  std::string name(type);
  if (name.starts_with(kMarketingName)) {
    name = "v5litepod-" + name.substr(kMarketingName.size());
    if (FindAccelerator(name)) return name;
  }
  const Generation* generation = GenerationOf(name);
  const auto dash = name.rfind('-');
  if (generation != nullptr && dash != std::string::npos) {
    const auto size = ParsePositive(std::string_view(name).substr(dash + 1));
    if (size) return NearestInSize(*generation, *size);
  }
  return NearestWord(name, AcceleratorTypes());
}

std::optional<Accelerator> AcceleratorOf(const Value& node) {
  const std::string& type = node["acceleratorType"].AsString();
  if (!type.empty()) return FindAccelerator(type);
  const Value& config = node["acceleratorConfig"];
  return FindAccelerator(config["type"].AsString(), config["topology"].AsString());
}

namespace {

// The Cloud TPU API calls v5e so, and nobody else does.
std::string_view SoldAs(const Generation& generation) {
  return generation.prefix == "v5litepod" ? "v5e" : generation.prefix;
}

}  // namespace

std::string ChipTypeNamed(std::string_view name) {
  for (const Generation& generation : kGenerations) {
    if (name == generation.prefix || name == SoldAs(generation)) {
      return std::string(SoldAs(generation));
    }
  }
  return {};
}

std::vector<std::string> ChipTypes() {
  std::vector<std::string> types;
  for (const Generation& generation : kGenerations) types.emplace_back(SoldAs(generation));
  return types;
}

std::string ChipTypeOf(const Value& node) {
  const std::string& type = node["acceleratorType"].AsString();
  const std::string prefix = type.substr(0, type.rfind('-'));
  if (!prefix.empty()) {
    const std::string known = ChipTypeNamed(prefix);
    return known.empty() ? prefix : known;
  }
  const std::string& config = node["acceleratorConfig"]["type"].AsString();
  for (const Generation& generation : kGenerations) {
    if (config == generation.config_type) return std::string(SoldAs(generation));
  }
  return config;
}

std::optional<int> ExpectedWorkers(const Value& node) {
  const auto accelerator = AcceleratorOf(node);
  return accelerator ? std::make_optional(accelerator->workers) : std::nullopt;
}

}  // namespace podctl::gcp

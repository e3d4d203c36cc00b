#include "providers/emulator/service/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "providers/emulator/service/core.h"

namespace podctl::emulator {
namespace {

struct Generation {
  std::string_view prefix;
  std::string_view api_type;
  bool counts_cores;  // the number in a type name: cores (2 a chip), else chips
  bool has_cubes;     // 3-D shapes made of 4x4x4 cubes from 64 chips on
};

constexpr std::array<Generation, 6> kGenerations = {{{"v2", "V2", true, false},
                                                     {"v3", "V3", true, false},
                                                     {"v4", "V4", true, true},
                                                     {"v5litepod", "V5LITE_POD", false, false},
                                                     {"v5p", "V5P", true, true},
                                                     {"v6e", "V6E", false, false}}};

struct Shape {
  std::string_view prefix;
  int size;
  std::string_view topology;
};

// The shapes that no rule gives.
constexpr std::array<Shape, 38> kShapes = {
    {{"v2", 8, "2x2"},           {"v2", 32, "4x4"},           {"v2", 128, "8x8"},
     {"v2", 256, "8x16"},        {"v2", 512, "16x16"},        {"v3", 8, "2x2"},
     {"v3", 32, "4x4"},          {"v3", 64, "4x8"},           {"v3", 128, "8x8"},
     {"v3", 256, "8x16"},        {"v3", 512, "16x16"},        {"v3", 1024, "16x32"},
     {"v3", 2048, "32x32"},      {"v4", 8, "2x2x1"},          {"v4", 16, "2x2x2"},
     {"v4", 32, "2x2x4"},        {"v4", 64, "2x4x4"},         {"v5litepod", 1, "1x1"},
     {"v5litepod", 2, "1x2"},    {"v5litepod", 4, "2x2"},     {"v5litepod", 8, "2x4"},
     {"v5litepod", 16, "4x4"},   {"v5litepod", 32, "4x8"},    {"v5litepod", 64, "8x8"},
     {"v5litepod", 128, "8x16"}, {"v5litepod", 256, "16x16"}, {"v5p", 8, "2x2x1"},
     {"v5p", 16, "2x2x2"},       {"v5p", 32, "2x2x4"},        {"v5p", 64, "2x4x4"},
     {"v6e", 1, "1x1"},          {"v6e", 4, "2x2"},           {"v6e", 8, "2x4"},
     {"v6e", 16, "4x4"},         {"v6e", 32, "4x8"},          {"v6e", 64, "8x8"},
     {"v6e", 128, "8x16"},       {"v6e", 256, "16x16"}}};

struct CatalogueEntry {
  std::string_view zone;
  std::string_view prefix;
  bool small;   // one-host types of v2 and v3 (v2-8, v3-8), everything of the others
  bool larger;  // pods of v2 and v3
};

// By the documentation, but for the v5litepod and v5p of europe-west4-a: the commands that are
// known of gcloud ask for them there, so that one zone shows them all.
constexpr std::array<CatalogueEntry, 26> kCatalogue = {
    {{"us-central1-b", "v2", true, false},        {"us-central1-c", "v2", true, false},
     {"europe-west4-a", "v2", true, true},        {"asia-east1-c", "v2", true, false},
     {"us-central1-a", "v2", false, true},        {"us-central1-a", "v3", true, false},
     {"us-central1-b", "v3", true, false},        {"europe-west4-a", "v3", true, true},
     {"us-central2-b", "v4", true, true},         {"us-central1-a", "v5litepod", true, true},
     {"us-south1-a", "v5litepod", true, true},    {"us-west1-c", "v5litepod", true, true},
     {"us-west4-a", "v5litepod", true, true},     {"europe-west4-b", "v5litepod", true, true},
     {"us-central1-a", "v5p", true, true},        {"us-east5-a", "v5p", true, true},
     {"europe-west4-b", "v5p", true, true},       {"us-central1-b", "v6e", true, true},
     {"us-east1-d", "v6e", true, true},           {"us-east5-a", "v6e", true, true},
     {"us-east5-b", "v6e", true, true},           {"europe-west4-a", "v6e", true, true},
     {"asia-northeast1-b", "v6e", true, true},    {"southamerica-west1-a", "v6e", true, true},
     {"europe-west4-a", "v5litepod", true, true}, {"europe-west4-a", "v5p", true, true}}};

constexpr std::array<std::string_view, 22> kTensorFlow = {
    "2.18.0", "2.17.1", "2.17.0", "2.16.2", "2.16.1", "2.15.1", "2.15.0", "2.14.1",
    "2.14.0", "2.13.1", "2.13.0", "2.12.1", "2.12.0", "2.11.1", "2.11.0", "2.10.1",
    "2.10.0", "2.9.3",  "2.9.1",  "2.8.3",  "2.8.0",  "2.7.3"};

constexpr std::array<std::string_view, 8> kOtherRuntimes = {
    "tpu-ubuntu2204-base", "v2-alpha",       "tpu-vm-base",    "v2-alpha-tpuv4", "tpu-vm-v4-base",
    "v2-alpha-tpuv5-lite", "v2-alpha-tpuv5", "v2-alpha-tpuv6e"};

const Generation* FindGeneration(std::string_view prefix) {
  for (const Generation& generation : kGenerations) {
    if (generation.prefix == prefix) return &generation;
  }
  return nullptr;
}

// The number of 4x4x4 cubes that are sold: v4 up to 4,096 chips, v5p up to 16x16x24 chips.
bool SellsCubes(std::string_view prefix, int cubes) {
  if (prefix == "v4") {
    return (cubes >= 1 && cubes <= 18) || cubes == 20 || cubes == 24 || cubes == 28 ||
           cubes == 32 || cubes == 48 || cubes == 64;
  }
  // Primes above 64 would make a line longer than the machine.
  for (const int prime : {67, 71, 73, 79, 83, 89}) {
    if (cubes == prime) return false;
  }
  return cubes >= 1 && cubes <= 96;
}

// The default shape of so many cubes: the one nearest to a cube, shortest edge first.
std::string CubeTopology(int cubes) {
  int best = 3 * cubes + 1;
  std::string topology;
  for (int x = 1; x * x * x <= cubes; ++x) {
    for (int y = x; y * y <= cubes / x; ++y) {
      if (cubes % (x * y) != 0) continue;
      const int z = cubes / (x * y);
      if (x + y + z >= best) continue;
      best = x + y + z;
      topology = fmt::format("{}x{}x{}", 4 * x, 4 * y, 4 * z);
    }
  }
  return topology;
}

std::vector<int> Edges(std::string_view topology) {
  std::vector<int> edges;
  const char* at = topology.data();
  const char* const end = at + topology.size();
  while (at < end && edges.size() < 4) {
    int edge = 0;
    const auto [next, problem] = std::from_chars(at, end, edge);
    if (problem != std::errc{} || edge < 1 || edge > 4096) return {};
    edges.push_back(edge);
    at = next;
    if (at == end) return edges;
    if (*at != 'x') return {};
    ++at;
  }
  return {};
}

Accelerator Make(const Generation& generation, int size, std::string topology) {
  const int chips = generation.counts_cores ? size / 2 : size;
  const bool one_host = chips <= (generation.counts_cores ? 4 : 8);
  return {.type = fmt::format("{}-{}", generation.prefix, size),
          .api_type = std::string(generation.api_type),
          .topology = std::move(topology),
          .chips = chips,
          .workers = one_host ? 1 : chips / 4};
}

using Resources = std::map<std::string, Value>;  // by id

Value PageOf(std::string_view field, const Resources& resources, const PageRequest& request) {
  Page page(field, request);
  EachOfPage(resources, "", request,
             [&](const auto& id, const auto& resource) { return page.Add(id, resource); });
  return page.Take();
}

Value LocationOf(const Place& place, const std::string& zone) {
  return Value::Map{{"name", Place{place.project, zone}.Parent()},
                    {"locationId", zone},
                    {"labels", Value::Map{{"cloud.googleapis.com/region", RegionOf(zone)}}}};
}

Value AcceleratorTypeOf(const Place& place, const Accelerator& accelerator) {
  Value config = Value::Map{{"type", accelerator.api_type}, {"topology", accelerator.topology}};
  return Value::Map{{"name", place.Name("acceleratorTypes", accelerator.type)},
                    {"type", accelerator.type},
                    {"acceleratorConfigs", Value::List{std::move(config)}}};
}

Value RuntimeVersionOf(const Place& place, const std::string& version) {
  return Value::Map{{"name", place.Name("runtimeVersions", version)}, {"version", version}};
}

}  // namespace

std::optional<Accelerator> FindAccelerator(std::string_view type) {
  const std::size_t dash = type.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const Generation* generation = FindGeneration(type.substr(0, dash));
  if (generation == nullptr) return std::nullopt;
  int size = 0;
  if (!ReadNumber(type.substr(dash + 1), &size)) return std::nullopt;
  for (const Shape& shape : kShapes) {
    if (shape.prefix == generation->prefix && shape.size == size) {
      return Make(*generation, size, std::string(shape.topology));
    }
  }
  if (!generation->has_cubes || size < 128 || size % 128 != 0) return std::nullopt;
  if (!SellsCubes(generation->prefix, size / 128)) return std::nullopt;
  return Make(*generation, size, CubeTopology(size / 128));
}

std::optional<Accelerator> FindAccelerator(std::string_view api_type, std::string_view topology) {
  const std::vector<int> edges = Edges(topology);
  if (edges.empty()) return std::nullopt;
  long chips = 1;
  for (const int edge : edges) chips *= edge;
  if (chips > 100'000) return std::nullopt;
  for (const Generation& generation : kGenerations) {
    if (generation.api_type != api_type) continue;
    const long size = generation.counts_cores ? 2 * chips : chips;
    auto found = FindAccelerator(fmt::format("{}-{}", generation.prefix, size));
    if (!found || found->topology == topology) return found;
    // Another shape of the same cubes, shortest edge first.
    const bool cubes = generation.has_cubes && chips >= 64 && edges.size() == 3 &&
                       std::is_sorted(edges.begin(), edges.end()) &&
                       std::all_of(edges.begin(), edges.end(), [](int e) { return e % 4 == 0; });
    if (!cubes) return std::nullopt;
    found->topology = topology;
    return found;
  }
  return std::nullopt;
}

std::vector<std::string> Zones() {
  std::vector<std::string> zones;
  zones.reserve(kCatalogue.size());
  for (const CatalogueEntry& entry : kCatalogue) zones.emplace_back(entry.zone);
  std::sort(zones.begin(), zones.end());
  zones.erase(std::unique(zones.begin(), zones.end()), zones.end());
  return zones;
}

bool IsRegion(std::string_view region) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return region.find('-') != std::string_view::npos && region.back() >= '0' &&
         region.back() <= '9' && std::all_of(region.begin(), region.end(), is_part);
}

bool IsZone(std::string_view zone) {
  return std::any_of(kCatalogue.begin(), kCatalogue.end(),
                     [&](const CatalogueEntry& entry) { return entry.zone == zone; });
}

bool Offers(std::string_view zone, const Accelerator& accelerator) {
  const std::string_view prefix =
      std::string_view(accelerator.type).substr(0, accelerator.type.rfind('-'));
  return std::any_of(kCatalogue.begin(), kCatalogue.end(), [&](const CatalogueEntry& entry) {
    return entry.zone == zone && entry.prefix == prefix &&
           (accelerator.workers == 1 ? entry.small : entry.larger);
  });
}

std::vector<Accelerator> AcceleratorsOf(std::string_view zone) {
  std::vector<Accelerator> all;
  const auto add = [&](std::string_view prefix, int size) {
    auto found = FindAccelerator(fmt::format("{}-{}", prefix, size));
    if (found && Offers(zone, *found)) all.push_back(*std::move(found));
  };
  for (const Generation& generation : kGenerations) {
    for (const Shape& shape : kShapes) {
      if (shape.prefix == generation.prefix) add(shape.prefix, shape.size);
    }
    for (int cubes = 1; generation.has_cubes && cubes <= 96; ++cubes) {
      add(generation.prefix, 128 * cubes);
    }
  }
  return all;
}

std::vector<std::string> RuntimeVersions() {
  std::vector<std::string> versions(kOtherRuntimes.begin(), kOtherRuntimes.end());
  for (const std::string_view version : kTensorFlow) {
    const auto add = [&](std::string_view suffix) {
      versions.push_back(fmt::format("tpu-vm-tf-{}{}", version, suffix));
    };
    // PJRT images begin with 2.15, and the special v4 images end with 2.10.0 (docs "runtimes").
    for (const std::string_view suffix : {"", "-pod"}) add(suffix);
    if (version >= "2.15" && version.size() == 6) {
      for (const std::string_view suffix : {"-pjrt", "-pod-pjrt"}) add(suffix);
    }
    if (version == "2.10.0" || version.size() == 5) {
      for (const std::string_view suffix : {"-v4", "-pod-v4"}) add(suffix);
    }
  }
  std::sort(versions.begin(), versions.end());
  return versions;
}

bool IsRuntimeVersion(std::string_view version) {
  static const std::vector<std::string> versions = RuntimeVersions();
  return std::binary_search(versions.begin(), versions.end(), version);
}

bool HasTpuRuntime(std::string_view version) {
  return version.find("tpu-vm-tf") != std::string_view::npos;
}

Answer GetLocation(const Call& call) {
  return LocationOf(call.place, call.place.zone);
}

Answer ListLocations(const Call& call) {
  Resources zones;
  for (const std::string& zone : Zones()) zones[zone] = LocationOf(call.place, zone);
  return PageOf("locations", zones, call.page);
}

Answer GetAcceleratorType(const Call& call) {
  const auto found = FindAccelerator(call.id);
  if (!found || !Offers(call.place.zone, *found)) return NotFound(call.Target());
  return AcceleratorTypeOf(call.place, *found);
}

Answer ListAcceleratorTypes(const Call& call) {
  Resources types;
  for (const Accelerator& accelerator : AcceleratorsOf(call.place.zone)) {
    types[accelerator.type] = AcceleratorTypeOf(call.place, accelerator);
  }
  return PageOf("acceleratorTypes", types, call.page);
}

Answer GetRuntimeVersion(const Call& call) {
  if (!IsRuntimeVersion(call.id)) return NotFound(call.Target());
  return RuntimeVersionOf(call.place, call.id);
}

Answer ListRuntimeVersions(const Call& call) {
  Resources versions;
  for (const std::string& one : RuntimeVersions())
    versions[one] = RuntimeVersionOf(call.place, one);
  return PageOf("runtimeVersions", versions, call.page);
}

}  // namespace podctl::emulator

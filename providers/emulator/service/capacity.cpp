#include "providers/emulator/service/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "providers/emulator/service/catalogue.h"
#include "providers/emulator/service/core.h"

namespace podctl::emulator {
namespace {

constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::string_view kRate = "creates-per-minute";

struct QuotaName {
  std::string_view generation;
  std::string_view on_demand;
  std::string_view spot;
};

// As they stand in errors of the live service; v3 and v5p by analogy.
constexpr std::array<QuotaName, 6> kQuotaNames = {
    {{"v2", "TPUV2sPod", "TPUV2sPreemptiblePod"},
     {"v3", "TPUV3sPod", "TPUV3sPreemptiblePod"},
     {"v4", "TPUV4sPod", "TPUV4sPreemptiblePod"},
     {"v5litepod", "TPUV5sLitepod", "TPUV5sPreemptibleLitepod"},
     {"v5p", "TPUV5sP", "TPUV5sPreemptibleP"},
     {"v6e", "TPUV6E", "TPUV6EPreemptible"}}};

const QuotaName* FindQuotaName(std::string_view generation) {
  for (const QuotaName& name : kQuotaNames) {
    if (name.generation == generation) return &name;
  }
  return nullptr;
}

struct Rule {
  std::vector<std::string> parts;  // of the key, between slashes
  int count = 0;
};

Error BadRule(std::string_view rule, std::string_view form) {
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("`{}` is not {}", rule, form));
}

// With at least and at most so many parts.
Result<Rule> ReadRule(std::string_view rule, std::string_view form, std::size_t least,
                      std::size_t most) {
  const std::size_t equals = rule.rfind('=');
  if (equals == std::string_view::npos) return BadRule(rule, form);
  Rule read;
  if (!ReadNumber(rule.substr(equals + 1), &read.count) || read.count < 0 ||
      read.count > Limits::kMaxCount) {
    return BadRule(rule, form);
  }
  for (std::string_view key = rule.substr(0, equals);;) {
    const std::size_t slash = key.find('/');
    read.parts.emplace_back(key.substr(0, slash));
    if (read.parts.back().empty()) return BadRule(rule, form);
    if (slash == std::string_view::npos) break;
    key.remove_prefix(slash + 1);
  }
  if (read.parts.size() < least || read.parts.size() > most) return BadRule(rule, form);
  return read;
}

Result<void> CheckType(std::string_view rule, const std::string& type) {
  if (FindAccelerator(type)) return {};
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("`{}`: {} is no accelerator type", rule, type));
}

Result<void> CheckZone(std::string_view rule, const std::string& zone) {
  if (IsZone(zone)) return {};
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("`{}`: the emulator has no zone {}", rule, zone));
}

template <typename Map>
Result<void> Put(Map* map, std::string key, int count) {
  if (map->count(key) == 0 && map->size() >= Limits::kMaxRules) {
    return MakeError(ErrorCode::kResourceExhausted,
                     fmt::format("there are more than {} limits", Limits::kMaxRules));
  }
  (*map)[std::move(key)] = count;
  return {};
}

template <typename Map>
Value ToCounts(const Map& map) {
  Value counts = Value::EmptyMap();
  for (const auto& [key, count] : map) counts.Set(key, count);
  return counts;
}

}  // namespace

Result<void> Limits::SetCapacity(std::string_view rule) {
  auto read = ReadRule(rule, "[ZONE/]TYPE=COUNT, for example v3-32=2", 1, 2);
  if (!read) return read.error();
  if (auto type = CheckType(rule, read->parts.back()); !type) return type;
  if (read->parts.size() == 2) {
    if (auto zone = CheckZone(rule, read->parts[0]); !zone) return zone;
  }
  return Put(&capacity_, std::string(rule.substr(0, rule.rfind('='))), read->count);
}

Result<void> Limits::SetQuota(std::string_view rule) {
  constexpr std::string_view kForm =
      "[REGION/]GENERATION[-spot]=COUNT or creates-per-minute=COUNT, for example v3=64";
  auto read = ReadRule(rule, kForm, 1, 2);
  if (!read) return read.error();
  if (read->parts.size() == 1 && read->parts[0] == kRate) {
    if (read->count == 0) return BadRule(rule, "a rate that lets anything through");
    creates_per_minute_ = read->count;
    return {};
  }
  std::string_view generation = read->parts.back();
  constexpr std::string_view kSpot = "-spot";
  if (generation.size() > kSpot.size() && generation.ends_with(kSpot)) {
    generation.remove_suffix(kSpot.size());
  }
  if (FindQuotaName(generation) == nullptr) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("`{}`: {} is no generation of TPUs; there are v2, v3, v4, v5litepod, v5p and "
                    "v6e",
                    rule, generation));
  }
  return Put(&quotas_, std::string(rule.substr(0, rule.rfind('='))), read->count);
}

Result<void> Limits::SetReservation(std::string_view rule) {
  auto read = ReadRule(rule, "ZONE/NAME/TYPE=COUNT, for example us-central2-b/res-1/v4-32=1", 3, 3);
  if (!read) return read.error();
  if (auto zone = CheckZone(rule, read->parts[0]); !zone) return zone;
  if (auto type = CheckType(rule, read->parts[2]); !type) return type;
  return Put(&reservations_, std::string(rule.substr(0, rule.rfind('='))), read->count);
}

std::optional<int> Limits::Capacity(std::string_view zone, const std::string& type) const {
  auto found = capacity_.find(fmt::format("{}/{}", zone, type));
  if (found == capacity_.end()) found = capacity_.find(type);
  if (found == capacity_.end()) return std::nullopt;
  return found->second;
}

std::optional<QuotaLimit> Limits::Quota(const QuotaUse& use) const {
  const std::string key = use.generation + (use.is_spot ? "-spot" : "");
  auto found = quotas_.find(fmt::format("{}/{}", use.region, key));
  if (found == quotas_.end()) found = quotas_.find(key);
  const QuotaName* name = FindQuotaName(use.generation);
  if (found == quotas_.end() || name == nullptr) return std::nullopt;
  return QuotaLimit{.metric = fmt::format("{}PerProjectPerRegionForTPUAPI",
                                          use.is_spot ? name->spot : name->on_demand),
                    .limit = found->second};
}

bool Limits::TooFast(const std::string& project, std::int64_t now_ms) {
  if (creates_per_minute_ == 0) return false;
  std::deque<std::int64_t>& times = creates_[project];
  while (!times.empty() && times.front() <= now_ms - kMinuteMs) times.pop_front();
  if (static_cast<int>(times.size()) >= creates_per_minute_) return true;
  times.push_back(now_ms);
  return false;
}

bool Limits::HasReservation(std::string_view zone, std::string_view id) const {
  const std::vector<Reservation> all = ReservationsOf(zone);
  return std::any_of(all.begin(), all.end(),
                     [&](const Reservation& one) { return id == "-" || one.name == id; });
}

std::vector<Limits::Reservation> Limits::ReservationsOf(std::string_view zone) const {
  std::vector<Reservation> all;
  for (const auto& [key, count] : reservations_) {
    const std::size_t first = key.find('/');
    const std::size_t second = key.find('/', first + 1);
    if (std::string_view(key).substr(0, first) != zone) continue;
    all.push_back({.name = key.substr(first + 1, second - first - 1),
                   .type = key.substr(second + 1),
                   .count = count});
  }
  return all;
}

Value Limits::ToValue() const {
  Value value = Value::Map{{"capacity", ToCounts(capacity_)},
                           {"quota", ToCounts(quotas_)},
                           {"reservations", ToCounts(reservations_)}};
  if (creates_per_minute_ > 0) value.SetPath("quota." + std::string(kRate), creates_per_minute_);
  return value;
}

// ---- What is left.

std::string GenerationOf(std::string_view type) {
  return std::string(type.substr(0, type.rfind('-')));
}

int AmountOf(std::string_view type) {
  int amount = 0;
  ReadNumber(type.substr(type.rfind('-') + 1), &amount);
  return amount;
}

bool QuotaUse::IsOf(const Place& place, std::string_view type, bool spot) const {
  return place.project == project && RegionOf(place.zone) == region &&
         GenerationOf(type) == generation && spot == is_spot;
}

int Capacity::Used(const Pool& pool) const {
  return std::accumulate(users_->begin(), users_->end(), 0,
                         [&](int sum, const Collection* user) { return sum + user->Used(pool); });
}

std::optional<std::string> Capacity::Find(std::string_view zone, const std::string& type,
                                          const std::string& reservation, int count) const {
  if (reservation.empty() || !limits.has_reservations()) {
    const auto capacity = limits.Capacity(zone, type);
    if (capacity && Used({zone, type, ""}) + count > *capacity) return std::nullopt;
    return "";
  }
  for (const Limits::Reservation& one : limits.ReservationsOf(zone)) {
    if ((reservation == "-" || reservation == one.name) && one.type == type &&
        Used({zone, type, one.name}) + count <= one.count) {
      return one.name;
    }
  }
  return std::nullopt;
}

Refusal Capacity::Admit(const Place& place, const std::vector<std::string>& types, bool is_spot,
                        const std::string& reservation) {
  if (limits.TooFast(place.project, clock_->NowMs())) {
    return RateExceeded(limits.creates_per_minute(), ProjectNumber(place.project));
  }
  if (!reservation.empty() && limits.has_reservations() &&
      !limits.HasReservation(place.zone, reservation)) {
    return NoSuchReservation(reservation);
  }
  std::map<std::string, int> wanted;
  for (const std::string& type : types) wanted[GenerationOf(type)] += AmountOf(type);
  for (const auto& [generation, amount] : wanted) {
    const QuotaUse use{.project = place.project,
                       .region = RegionOf(place.zone),
                       .generation = generation,
                       .is_spot = is_spot};
    const auto quota = limits.Quota(use);
    if (!quota) continue;
    int held = 0;
    for (const Collection* user : *users_) held += user->Held(use);
    if (held + amount > quota->limit) {
      return QuotaExceeded(quota->metric, quota->limit, use.region, use.project);
    }
  }
  return std::nullopt;
}

Answer Capacity::ListReservations(const Place& place, const PageRequest& request) const {
  Page page("reservations", request);
  for (const Limits::Reservation& one : limits.ReservationsOf(place.zone)) {
    const std::string key = one.name + "/" + one.type;
    if (!request.after.empty() && key <= request.after) continue;
    const auto accelerator = FindAccelerator(one.type);
    const int chips = accelerator ? accelerator->chips : 0;
    const int used = chips * Used({place.zone, one.type, one.name});
    Value standard = Value::Map{{"resourceType", one.type},
                                {"capacityUnits", "CHIPS"},
                                {"size", chips * one.count},
                                {"usage", Value::Map{{"total", std::to_string(used)}}}};
    if (!page.Add(key, Value::Map{{"name", place.Name("reservations", one.name)},
                                  {"standard", std::move(standard)},
                                  {"state", "ACTIVE"}})) {
      break;
    }
  }
  return page.Take();
}

}  // namespace podctl::emulator

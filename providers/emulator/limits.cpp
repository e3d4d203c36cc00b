#include "providers/emulator/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "providers/emulator/catalogue.h"

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

Result<Rule> ReadRule(std::string_view rule, std::string_view form) {
  const std::size_t equals = rule.rfind('=');
  if (equals == std::string_view::npos) return BadRule(rule, form);
  Rule read;
  const std::string_view digits = rule.substr(equals + 1);
  const auto [end, problem] =
      std::from_chars(digits.data(), digits.data() + digits.size(), read.count);
  if (problem != std::errc{} || end != digits.data() + digits.size() || read.count < 0 ||
      read.count > Limits::kMaxCount) {
    return BadRule(rule, form);
  }
  for (std::string_view key = rule.substr(0, equals);;) {
    const std::size_t slash = key.find('/');
    read.parts.emplace_back(key.substr(0, slash));
    if (read.parts.back().empty()) return BadRule(rule, form);
    if (slash == std::string_view::npos) return read;
    key.remove_prefix(slash + 1);
  }
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
  auto read = ReadRule(rule, "[ZONE/]TYPE=COUNT, for example v3-32=2");
  if (!read) return read.error();
  if (read->parts.size() > 2) return BadRule(rule, "[ZONE/]TYPE=COUNT, for example v3-32=2");
  if (auto type = CheckType(rule, read->parts.back()); !type) return type;
  if (read->parts.size() == 2) {
    if (auto zone = CheckZone(rule, read->parts[0]); !zone) return zone;
    return Put(&capacity_, read->parts[0] + "/" + read->parts[1], read->count);
  }
  return Put(&capacity_, read->parts[0], read->count);
}

Result<void> Limits::SetQuota(std::string_view rule) {
  constexpr std::string_view kForm =
      "[REGION/]GENERATION[-spot]=COUNT or creates-per-minute=COUNT, for example v3=64";
  auto read = ReadRule(rule, kForm);
  if (!read) return read.error();
  if (read->parts.size() > 2) return BadRule(rule, kForm);
  if (read->parts.size() == 1 && read->parts[0] == kRate) {
    if (read->count == 0) return BadRule(rule, "a rate that lets anything through");
    creates_per_minute_ = read->count;
    return {};
  }
  std::string_view generation = read->parts.back();
  constexpr std::string_view kSpot = "-spot";
  if (generation.size() > kSpot.size() &&
      generation.substr(generation.size() - kSpot.size()) == kSpot) {
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
  constexpr std::string_view kForm =
      "ZONE/NAME/TYPE=COUNT, for example us-central2-b/res-1/v4-32=1";
  auto read = ReadRule(rule, kForm);
  if (!read) return read.error();
  if (read->parts.size() != 3) return BadRule(rule, kForm);
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

int Limits::Reserved(std::string_view zone, std::string_view id, std::string_view type) const {
  int count = 0;
  for (const Reservation& one : ReservationsOf(zone)) {
    if ((id == "-" || one.name == id) && one.type == type) count += one.count;
  }
  return count;
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
  Value value;
  value.Set("capacity", ToCounts(capacity_));
  value.Set("quota", ToCounts(quotas_));
  if (creates_per_minute_ > 0) value.SetPath("quota." + std::string(kRate), creates_per_minute_);
  value.Set("reservations", ToCounts(reservations_));
  return value;
}

}  // namespace podctl::emulator

// How much there is to have: capacity pools, reservations, quotas, and requests a minute.
//
// What nobody limits is there without end. Knows what the limits are, not what is in use: the
// service counts that. Not thread safe: service.h holds its lock around it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/base/error.h"
#include "providers/base/value.h"

namespace podctl::emulator {

// What a node or a queued resource counts for against a quota.
struct QuotaUse {
  std::string project;
  std::string region;
  std::string generation;  // "v3"
  bool is_spot = false;
};

struct QuotaLimit {
  std::string metric;  // "TPUV3sPodPerProjectPerRegionForTPUAPI"
  int limit = 0;
};

class Limits {
 public:
  static constexpr std::size_t kMaxRules = 1000;
  static constexpr int kMaxCount = 1'000'000;

  // "[ZONE/]TYPE=COUNT": so many nodes of the type fit into the zone (each zone, without one).
  Result<void> SetCapacity(std::string_view rule);
  // "[REGION/]GENERATION[-spot]=COUNT": a project holds at most so much in a region, counted as the
  // numbers in type names are (v3-32 counts 32). "creates-per-minute=COUNT".
  Result<void> SetQuota(std::string_view rule);
  // "ZONE/NAME/TYPE=COUNT". As soon as there is one, others do not exist.
  Result<void> SetReservation(std::string_view rule);

  std::optional<int> Capacity(std::string_view zone, const std::string& type) const;
  std::optional<QuotaLimit> Quota(const QuotaUse& use) const;
  bool has_quotas() const { return !quotas_.empty(); }
  // Counts a creation of the project and says whether it is one too many.
  bool TooFast(const std::string& project, std::int64_t now_ms);
  int creates_per_minute() const { return creates_per_minute_; }

  bool has_reservations() const { return !reservations_.empty(); }
  // `id` "-": any reservation of the zone.
  bool HasReservation(std::string_view zone, std::string_view id) const;
  int Reserved(std::string_view zone, std::string_view id, std::string_view type) const;
  // (name, type, count) of the zone's reservations, in order of their names.
  struct Reservation {
    std::string name;
    std::string type;
    int count = 0;
  };
  std::vector<Reservation> ReservationsOf(std::string_view zone) const;

  // {"capacity": {"v3-32": 2}, "quota": {…}, "reservations": {…}}
  Value ToValue() const;

 private:
  std::map<std::string, int, std::less<>> capacity_;
  std::map<std::string, int, std::less<>> quotas_;
  std::map<std::string, int, std::less<>> reservations_;
  int creates_per_minute_ = 0;                               // 0: no limit
  std::map<std::string, std::deque<std::int64_t>> creates_;  // of the last minute, by project
};

}  // namespace podctl::emulator

// How much there is to have, and what is left of it: capacity pools, reservations, quotas, and
// requests a minute. What nobody limits is there without end.
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
#include "providers/emulator/names.h"
#include "providers/emulator/service/api_error.h"
#include "providers/emulator/service/times.h"

namespace podctl::emulator {

// What a node or a queued resource counts for against a quota.
struct QuotaUse {
  std::string project;
  std::string region;
  std::string generation;  // "v3"
  bool is_spot = false;

  bool IsOf(const Place& place, std::string_view type, bool spot) const;
};

// Where nodes of a type come from: what a zone has of it, or a reservation there.
struct Pool {
  std::string_view zone;
  std::string_view type;
  std::string_view reservation;  // "": none
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
  // Counts a creation of the project and says whether it is one too many.
  bool TooFast(const std::string& project, std::int64_t now_ms);
  int creates_per_minute() const { return creates_per_minute_; }

  bool has_reservations() const { return !reservations_.empty(); }
  // `id` "-": any reservation of the zone.
  bool HasReservation(std::string_view zone, std::string_view id) const;
  struct Reservation {
    std::string name;
    std::string type;
    int count = 0;
  };
  // Of the zone, in order of their names.
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

class Collection;
struct PageRequest;

// The limits against what the service's collections say that they use.
class Capacity {
 public:
  // The clock and the collections are lent and outlive it.
  Capacity(Limits its_limits, const ServiceClock* clock, const std::vector<Collection*>* users)
      : limits(std::move(its_limits)), clock_(clock), users_(users) {}

  Limits limits;

  // The reservation that `count` more nodes would come out of, "" for the pool; nullopt: none.
  std::optional<std::string> Find(std::string_view zone, const std::string& type,
                                  const std::string& reservation, int count = 1) const;
  // Quota and rate: would the project hold too much with these types, or ask too often?
  Refusal Admit(const Place& place, const std::vector<std::string>& types, bool is_spot,
                const std::string& reservation);
  Answer ListReservations(const Place& place, const PageRequest& page) const;

 private:
  int Used(const Pool& pool) const;

  const ServiceClock* const clock_;
  const std::vector<Collection*>* const users_;
};

// "v3" of "v3-32", and the number in a type's name: cores or chips, as its quota counts.
std::string GenerationOf(std::string_view type);
int AmountOf(std::string_view type);

}  // namespace podctl::emulator

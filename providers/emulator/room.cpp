// The fourth part of service.h: what is in use, against what there is.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "providers/emulator/catalogue.h"
#include "providers/emulator/service.h"

namespace podctl::emulator {
namespace {

std::string GenerationOf(std::string_view type) {
  return std::string(type.substr(0, type.rfind('-')));
}

// The number in a type's name: cores or chips, as its quota counts.
int AmountOf(std::string_view type) {
  const std::string_view digits = type.substr(type.rfind('-') + 1);
  int amount = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), amount);
  return amount;
}

}  // namespace

int Service::UsedRoom(std::string_view zone, const std::string& type,
                      const std::string& reservation) const {
  int used = 0;
  for (const auto& [name, node] : nodes_) {
    if (node.holds_room && node.reservation == reservation &&
        node.resource["acceleratorType"].AsString() == type && PlaceOf(name).zone == zone) {
      ++used;
    }
  }
  return used;
}

std::optional<std::string> Service::FindRoom(std::string_view zone, const std::string& type,
                                             const std::string& reservation, int count) const {
  if (reservation.empty() || !limits_.has_reservations()) {
    const auto capacity = limits_.Capacity(zone, type);
    if (capacity && UsedRoom(zone, type, "") + count > *capacity) return std::nullopt;
    return "";
  }
  for (const Limits::Reservation& one : limits_.ReservationsOf(zone)) {
    if ((reservation == "-" || reservation == one.name) && one.type == type &&
        UsedRoom(zone, type, one.name) + count <= one.count) {
      return one.name;
    }
  }
  return std::nullopt;
}

bool Service::HasRoomFor(const Place& place, const Queued& queued) const {
  std::map<std::string, int> wanted;
  for (const std::string& type : queued.request.types) ++wanted[type];
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& entry) {
    return FindRoom(place.zone, entry.first, queued.request.reservation, entry.second).has_value();
  });
}

int Service::HeldQuota(const QuotaUse& use) const {
  int held = 0;
  const auto counts = [&](const std::string& name, bool is_spot) {
    const Place place = PlaceOf(name);
    return place.project == use.project && RegionOf(place.zone) == use.region &&
           is_spot == use.is_spot;
  };
  for (const auto& [name, node] : nodes_) {
    const std::string& type = node.resource["acceleratorType"].AsString();
    // What a queued resource brought is counted with it, as long as that is there.
    if (node.queued.empty() && GenerationOf(type) == use.generation &&
        counts(name, IsSpot(node.resource))) {
      held += AmountOf(type);
    }
  }
  for (const auto& [name, queued] : queue_) {
    if (!counts(name, queued.request.is_spot)) continue;
    for (const std::string& type : queued.request.types) {
      if (GenerationOf(type) == use.generation) held += AmountOf(type);
    }
  }
  return held;
}

Refusal Service::Admit(const Place& place, const std::vector<std::string>& types, bool is_spot,
                       const std::string& reservation) {
  if (limits_.TooFast(place.project, clock_.NowMs())) {
    return RateExceeded(limits_.creates_per_minute(), ProjectNumber(place.project));
  }
  if (!reservation.empty() && limits_.has_reservations() &&
      !limits_.HasReservation(place.zone, reservation)) {
    return NoSuchReservation(reservation);
  }
  if (!limits_.has_quotas()) return std::nullopt;
  std::map<std::string, int> wanted;
  for (const std::string& type : types) wanted[GenerationOf(type)] += AmountOf(type);
  for (const auto& [generation, amount] : wanted) {
    const QuotaUse use{.project = place.project,
                       .region = RegionOf(place.zone),
                       .generation = generation,
                       .is_spot = is_spot};
    const auto quota = limits_.Quota(use);
    if (quota && HeldQuota(use) + amount > quota->limit) {
      return QuotaExceeded(quota->metric, quota->limit, use.region, use.project);
    }
  }
  return std::nullopt;
}

Answer Service::ListReservations(const Place& place, const PageRequest& page) {
  std::lock_guard lock(mutex_);
  Value::List listed;
  Value answer = Value::EmptyMap();
  std::string last;
  for (const Limits::Reservation& one : limits_.ReservationsOf(place.zone)) {
    const std::string key = one.name + "/" + one.type;
    if (!page.after.empty() && key <= page.after) continue;
    if (static_cast<int>(listed.size()) == PageLimit(page)) {
      answer.Set("nextPageToken", MakePageToken(last));
      break;
    }
    const auto accelerator = FindAccelerator(one.type);
    const int chips = accelerator ? accelerator->chips : 0;
    Value standard;
    standard.Set("resourceType", one.type);
    standard.Set("capacityUnits", "CHIPS");
    standard.Set("size", chips * one.count);
    standard.SetPath("usage.total",
                     std::to_string(chips * UsedRoom(place.zone, one.type, one.name)));
    Value reservation;
    reservation.Set("name", fmt::format("{}/reservations/{}", place.Parent(), one.name));
    reservation.Set("standard", std::move(standard));
    reservation.Set("state", "ACTIVE");
    listed.push_back(std::move(reservation));
    last = key;
  }
  if (!listed.empty()) answer.Set("reservations", std::move(listed));
  return answer;
}

}  // namespace podctl::emulator

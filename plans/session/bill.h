// What pods have cost, and the chip-hours that they had: of those that the state has, and of those
// that a generation which is kept (StateStore::History) had. Of what went before the oldest of them
// nobody knows any more.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plans/session/cost.h"
#include "plans/spec/prices.h"
#include "providers/base/error.h"
#include "state/store.h"

namespace podctl {

// One node of a pod, or all of a multislice.
struct BillLine {
  std::string pod;
  std::string id;  // of the node, as the service gave it
  std::map<std::string, std::string> labels;
  ChipUse use;
  Rate rate;             // while it is not stopped
  std::string from;      // RFC 3339
  std::string to;        // when podctl found it gone; empty: it is there
  bool is_paid = false;  // now: it is there, and not stopped
  double hours = 0;      // while it was there and not stopped, since Bill::since
  std::optional<double> ChipHours() const;
  std::optional<double> Cost() const;
};

// Sums of lines: those that are known, and how many are not.
struct BillSum {
  double chip_hours = 0;
  double cost = 0;
  double per_hour = 0;  // of what is paid now
  std::size_t unknown_rates = 0;
  std::size_t unknown_chips = 0;
  std::size_t unknown_cost = 0;

  void Add(const BillLine& line);
};

struct Bill {
  std::string currency;  // empty: there are no prices
  std::string as_of;
  std::string since;            // RFC 3339: from when on it is counted; empty: from the first
  std::string known_since;      // of the oldest generation that is kept; empty: none is
  bool is_cut = false;          // an older one is kept, and cannot be read
  std::vector<BillLine> lines;  // by pod, and by their beginning

  BillSum Sum() const;
  // By the values of a label; "" of what does not have it.
  std::map<std::string, BillSum> SumsBy(const std::string& label) const;
};

using BillTime = std::chrono::sys_seconds;

// Reads what is kept. `prices`: nullptr: there are none. `since`: nothing before it is counted.
Result<Bill> MakeBill(StateStore& store, const PriceBook* prices, std::optional<BillTime> since,
                      BillTime now);

}  // namespace podctl

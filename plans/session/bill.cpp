#include "plans/session/bill.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "plans/kinds/pod/record.h"
#include "providers/base/text.h"
#include "providers/os/clock.h"

namespace podctl {
namespace {

constexpr double kSecondsOfHour = 3600;

// The state from `at` on, until the next one.
struct StateAt {
  BillTime at;
  State state;
};

std::string KeyOf(const PodRecord& record) {
  return record.current.uid.empty()
             ? record.project + "/" + record.zone + "/" + record.current.locator
             : record.current.uid;
}

std::optional<BillTime> MadeAt(const PodRecord& record) {
  return ParseTimestamp(record.observed["createTime"].AsString());
}

std::map<std::string, std::string> LabelsOf(const PodRecord& record) {
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : record.applied["labels"].AsMap()) labels[key] = value.AsString();
  return labels;
}

class Account {
 public:
  Account(const PriceBook* prices, std::optional<BillTime> since, BillTime now)
      : prices_(prices), since_(since), now_(now) {}

  void Read(const std::vector<StateAt>& generations) {
    for (std::size_t i = 0; i < generations.size(); ++i) {
      const bool is_last = i + 1 == generations.size();
      const BillTime until = is_last ? now_ : std::max(generations[i].at, generations[i + 1].at);
      for (const auto& [address, record] : Pods(generations[i].state)) {
        if (!record.exists()) continue;
        const StateAt* next = is_last ? nullptr : &generations[i + 1];
        Count(address, record, generations[i].at, EndIn(address, record, until, next), is_last);
      }
    }
  }

  std::vector<BillLine> Take() {
    std::vector<BillLine> all;
    for (auto& [key, line] : lines_) {
      if (line.hours > 0 || line.to.empty()) all.push_back(std::move(line));
    }
    std::sort(all.begin(), all.end(), [](const BillLine& a, const BillLine& b) {
      return std::tie(a.pod, a.from) < std::tie(b.pod, b.from);
    });
    return all;
  }

 private:
  // A run that replaces a node is saved when the new one is there: it cannot have begun before the
  // old one, whose name it has, was gone.
  static BillTime EndIn(const Address& address, const PodRecord& record, BillTime until,
                        const StateAt* next) {
    const PodRecord* then = next == nullptr ? nullptr : Pods(next->state).Get(address);
    if (then == nullptr || KeyOf(*then) == KeyOf(record)) return until;
    const bool same_name = then->current.locator == record.current.locator;
    const auto made = MadeAt(*then);
    return same_name && made && *made < until ? *made : until;
  }

  void Count(const Address& address, const PodRecord& record, BillTime from, BillTime until,
             bool is_last) {
    const auto [at, is_new] = lines_.try_emplace(KeyOf(record));
    BillLine& line = at->second;
    const auto made = MadeAt(record);
    // When a file was written is what its disk says, and a copy of it was written later.
    if (is_new && made) from = *made;
    if (made) from = std::max(from, *made);
    if (is_new) line.from = FormatTimestamp(from);
    until = std::min(until, now_);
    line.pod = address.name;
    line.id = record.current.uid;
    line.labels = LabelsOf(record);
    line.use = UseOf(record);
    line.rate = RateOf(line.use, prices_);
    line.is_paid = is_last && IsPaid(record);
    line.to = is_last ? std::string() : FormatTimestamp(until);
    if (since_) from = std::max(from, *since_);
    if (IsPaid(record) && until > from) {
      line.hours += static_cast<double>((until - from).count()) / kSecondsOfHour;
    }
  }

  const PriceBook* const prices_;
  const std::optional<BillTime> since_;
  const BillTime now_;
  std::map<std::string, BillLine> lines_;
};

}  // namespace

std::optional<double> BillLine::ChipHours() const {
  return use.chips ? std::optional(hours * *use.chips) : std::nullopt;
}

std::optional<double> BillLine::Cost() const {
  return rate.per_hour ? std::optional(hours * *rate.per_hour) : std::nullopt;
}

void BillSum::Add(const BillLine& line) {
  const auto chip_hours_of_it = line.ChipHours();
  const auto cost_of_it = line.Cost();
  chip_hours += chip_hours_of_it.value_or(0);
  cost += cost_of_it.value_or(0);
  if (line.is_paid) per_hour += line.rate.per_hour.value_or(0);
  if (line.is_paid && !line.rate.per_hour) ++unknown_rates;
  if (!chip_hours_of_it) ++unknown_chips;
  if (!cost_of_it) ++unknown_cost;
}

BillSum Bill::Sum() const {
  BillSum sum;
  for (const BillLine& line : lines) sum.Add(line);
  return sum;
}

std::map<std::string, BillSum> Bill::SumsBy(const std::string& label) const {
  std::map<std::string, BillSum> sums;
  for (const BillLine& line : lines) {
    const auto found = line.labels.find(label);
    sums[found == line.labels.end() ? std::string() : found->second].Add(line);
  }
  return sums;
}

Result<Bill> MakeBill(StateStore& store, const PriceBook* prices, std::optional<BillTime> since,
                      BillTime now) {
  auto stored = store.Load();
  if (!stored) return stored.error();
  const auto saved_at = ParseTimestamp(store.StoredAt());
  auto kept = store.History();
  if (!kept) return kept.error();
  State state = std::move(stored->state).value_or(State{});
  std::vector<StateAt> generations;
  // The newest first: what was before one that cannot be read is not known.
  bool unread = false;
  for (const HistoryEntry& entry : *kept) {
    const auto at = ParseTimestamp(entry.saved_at);
    const bool is_other = entry.problem.empty() && entry.lineage != state.lineage;
    if (is_other) continue;  // whose pods nobody here has paid for
    auto old = at && entry.problem.empty() ? store.LoadHistory(entry.serial)
                                           : Result<State>(MakeError(ErrorCode::kDataLoss, ""));
    if (!old) {
      unread = true;
      break;
    }
    generations.push_back({*at, std::move(*old)});
  }
  std::sort(generations.begin(), generations.end(), [](const StateAt& a, const StateAt& b) {
    return std::tuple(a.at, a.state.serial) < std::tuple(b.at, b.state.serial);
  });
  Bill bill;
  bill.is_cut = unread;
  if (!generations.empty()) bill.known_since = FormatTimestamp(generations.front().at);
  const BillTime last = generations.empty() ? now : generations.back().at;
  generations.push_back({saved_at ? *saved_at : last, std::move(state)});
  Account account(prices, since, now);
  account.Read(generations);
  bill.lines = account.Take();
  if (since) bill.since = FormatTimestamp(*since);
  if (prices != nullptr) {
    bill.currency = prices->currency;
    bill.as_of = prices->as_of;
  }
  return bill;
}

}  // namespace podctl

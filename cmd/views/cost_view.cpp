#include "cmd/views/cost_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "cmd/views/documents.h"
#include "cmd/views/table.h"
#include "plans/spec/prices.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr const char* kUnknown = "unknown";
constexpr std::size_t kMostThings = 10;  // that are listed

std::string WithCommas(std::string digits) {
  constexpr std::size_t kGroup = 3;
  for (std::size_t end = digits.size(); end > kGroup; end -= kGroup) {
    digits.insert(end - kGroup, ",");
  }
  return digits;
}

std::string AmountOr(const std::optional<double>& amount, const char* otherwise) {
  return amount ? Amount(*amount) : otherwise;
}

std::string Hours(const std::optional<double>& hours) {
  return hours ? fmt::format("{:.1f}", *hours) : kUnknown;
}

// "28,032 USD a month".
std::string Monthly(double per_hour, const std::string& currency) {
  return fmt::format("{} {} a month", Amount(per_hour * kHoursOfMonth), currency);
}

std::string Difference(const PlanCost& cost) {
  const double more = cost.after - cost.before;
  const bool none = Amount(std::abs(more)) == Amount(0);
  const bool known =
      std::all_of(cost.things.begin(), cost.things.end(),
                  [](const ThingCost& thing) { return thing.before && thing.after; });
  if (none) return known ? ", as now" : "";
  const std::string difference =
      fmt::format(", {} {} than now", Amount(std::abs(more)), more > 0 ? "more" : "less");
  if (!known) return difference + " as far as it is known";
  return fmt::format("{} ({})", difference, Monthly(std::abs(more), cost.currency));
}

std::string DescribeThing(const ThingCost& thing) {
  if (!thing.unknown.empty()) {
    return fmt::format("{}: {}, {}", thing.address, kUnknown, thing.unknown);
  }
  const double more = thing.after.value_or(0) - thing.before.value_or(0);
  return fmt::format("{}: {} {}, {}", thing.address, Amount(std::abs(more)),
                     more > 0 ? "more" : "less", thing.what);
}

void AddThings(const PlanCost& cost, std::vector<std::string>* lines) {
  for (std::size_t i = 0; i < std::min(cost.things.size(), kMostThings); ++i) {
    lines->push_back("  " + VisibleControls(DescribeThing(cost.things[i])));
  }
  if (cost.things.size() > kMostThings) {
    lines->push_back(fmt::format("  and {} more", cost.things.size() - kMostThings));
  }
}

std::string Beginning(const PlanCost& cost) {
  const bool partial = cost.UnknownAfter() > 0;
  return fmt::format("Cost: {}{} {} an hour", partial ? "at least " : "", Amount(cost.after),
                     cost.currency);
}

}  // namespace

std::string Amount(double amount) {
  constexpr double kLarge = 1000;
  return amount < kLarge ? fmt::format("{:.2f}", amount)
                         : WithCommas(fmt::format("{:.0f}", amount));
}

std::vector<std::string> CostLines(const PlanCost& cost) {
  std::vector<std::string> lines = {
      fmt::format("{}{}, at the prices of {}.", Beginning(cost), Difference(cost), cost.as_of)};
  AddThings(cost, &lines);
  return lines;
}

std::vector<std::string> RunningCostLines(const PlanCost& cost) {
  std::vector<std::string> lines = {fmt::format("{} ({}), at the prices of {}.", Beginning(cost),
                                                Monthly(cost.after, cost.currency), cost.as_of)};
  AddThings(cost, &lines);
  return lines;
}

std::vector<std::string> StandingCostLines(const Plan& plan) {
  if (!plan.cost || (plan.cost->after == 0 && plan.cost->things.empty())) return {};
  return RunningCostLines(*plan.cost);
}

namespace {

// As people would write it: sums of amounts have a tail.
double Rounded(double amount) {
  constexpr double kParts = 1e6;
  return std::round(amount * kParts) / kParts;
}

Value NumberOrNull(const std::optional<double>& amount) {
  return amount ? Value(Rounded(*amount)) : Value();
}

Value ThingDocument(const ThingCost& thing) {
  return Value::Map{{"address", thing.address.Text()},
                    {"chips", OrNull(thing.what)},
                    {"before", NumberOrNull(thing.before)},
                    {"after", NumberOrNull(thing.after)},
                    {"unknown", OrNull(thing.unknown)}};
}

}  // namespace

Value CostDocument(const PlanCost& cost) {
  return Value::Map{{"currency", cost.currency},
                    {"as_of", cost.as_of},
                    {"per_hour_before", Rounded(cost.before)},
                    {"per_hour_after", Rounded(cost.after)},
                    {"unknown", static_cast<std::int64_t>(cost.UnknownAfter())},
                    {"changes", ListOf(cost.things, ThingDocument)}};
}

namespace {

std::string WhenIt(const BillLine& line) {
  if (!line.to.empty()) return line.to;
  return line.is_paid ? "now" : "now, stopped";
}

TableRow RowOf(const BillLine& line) {
  return {line.pod,
          line.use.Words(),
          line.from,
          WhenIt(line),
          fmt::format("{:.1f}", line.hours),
          Hours(line.ChipHours()),
          line.is_paid ? AmountOr(line.rate.per_hour, kUnknown) : "-",
          AmountOr(line.Cost(), kUnknown)};
}

// "at least" where a part of it is not known.
std::string Partly(std::size_t unknown, std::string text) {
  return unknown == 0 ? text : "≥ " + text;
}

std::string SumsText(const Bill& bill, const std::string& label) {
  std::vector<TableRow> rows = {{VisibleControls(label), "chip-hours", bill.currency}};
  for (const auto& [value, sum] : bill.SumsBy(label)) {
    rows.push_back({value.empty() ? "(none)" : VisibleControls(value),
                    Partly(sum.unknown_chips, fmt::format("{:.1f}", sum.chip_hours)),
                    Partly(sum.unknown_cost, Amount(sum.cost))});
  }
  if (bill.currency.empty()) {
    for (TableRow& row : rows) row.pop_back();
  }
  return TableText(rows, {}, " >>");
}

std::string KnownText(const Bill& bill) {
  std::string text;
  if (!bill.since.empty()) text = fmt::format("Counted from {} on. ", bill.since);
  if (!bill.known_since.empty()) {
    text += fmt::format(
        "Of what was before {} it is not known which other pods there were, and when one was "
        "stopped: no older generation of the state {}.",
        bill.known_since, bill.is_cut ? "can be read" : "is kept");
  } else {
    text += fmt::format(
        "No earlier generation of the state {}: it is not known which other pods there were, and "
        "when one was stopped.",
        bill.is_cut ? "can be read" : "is kept");
  }
  return text;
}

}  // namespace

std::string BillText(const Bill& bill, const std::string& label) {
  if (bill.lines.empty()) return "There are no pods to be paid for.\n" + KnownText(bill) + "\n";
  std::vector<TableRow> rows = {{"pod", "chips", "from", "to", "hours", "chip-hours",
                                 bill.currency + "/hour", bill.currency}};
  for (const BillLine& line : bill.lines) {
    rows.push_back(RowOf(line));
    for (std::string& cell : rows.back()) cell = VisibleControls(cell);
  }
  const BillSum sum = bill.Sum();
  rows.push_back({"total", "", "", "", "",
                  Partly(sum.unknown_chips, fmt::format("{:.1f}", sum.chip_hours)),
                  Partly(sum.unknown_rates, Amount(sum.per_hour)),
                  Partly(sum.unknown_cost, Amount(sum.cost))});
  if (bill.currency.empty()) {
    for (TableRow& row : rows) row.resize(row.size() - 2);
  }
  std::string text = TableText(rows, {}, "    >>>>");
  if (!label.empty()) text += "\n" + SumsText(bill, label);
  text += "\n";
  if (!bill.currency.empty()) {
    text += fmt::format("Chips alone, at the prices of {}. ", bill.as_of);
  } else {
    text += "The spec names no `prices`, so nothing is known of the cost. ";
  }
  return text + KnownText(bill) + "\n";
}

namespace {

Value LineDocument(const BillLine& line) {
  Value labels = Value::EmptyMap();
  for (const auto& [key, value] : line.labels) labels.Set(key, value);
  return Value::Map{{"pod", line.pod},
                    {"id", OrNull(line.id)},
                    {"labels", std::move(labels)},
                    {"type", line.use.type},
                    {"chips", line.use.chips ? Value(*line.use.chips) : Value()},
                    {"tier", line.use.tier},
                    {"region", line.use.region},
                    {"from", line.from},
                    {"to", OrNull(line.to)},
                    {"paid_now", line.is_paid},
                    {"hours", Rounded(line.hours)},
                    {"chip_hours", NumberOrNull(line.ChipHours())},
                    {"per_hour", NumberOrNull(line.rate.per_hour)},
                    {"cost", NumberOrNull(line.Cost())},
                    {"unknown", OrNull(line.rate.unknown)}};
}

Value SumDocument(const BillSum& sum, bool priced) {
  return Value::Map{{"chip_hours", Rounded(sum.chip_hours)},
                    {"unknown_per_hour", static_cast<std::int64_t>(sum.unknown_rates)},
                    {"unknown_chip_hours", static_cast<std::int64_t>(sum.unknown_chips)},
                    {"per_hour", priced ? Value(Rounded(sum.per_hour)) : Value()},
                    {"cost", priced ? Value(Rounded(sum.cost)) : Value()},
                    {"unknown_cost", static_cast<std::int64_t>(sum.unknown_cost)}};
}

}  // namespace

Value BillDocument(const Bill& bill, const std::string& label) {
  const bool priced = !bill.currency.empty();
  Value document = Value::Map{{"format_version", "1.0"},
                              {"currency", OrNull(bill.currency)},
                              {"as_of", OrNull(bill.as_of)},
                              {"since", OrNull(bill.since)},
                              {"known_since", OrNull(bill.known_since)},
                              {"history_damaged", bill.is_cut},
                              {"pods", ListOf(bill.lines, LineDocument)},
                              {"total", SumDocument(bill.Sum(), priced)}};
  if (label.empty()) return document;
  Value sums = Value::EmptyMap();
  for (const auto& [value, sum] : bill.SumsBy(label)) sums.Set(value, SumDocument(sum, priced));
  document.Set("by", Value::Map{{"label", label}, {"sums", std::move(sums)}});
  return document;
}

}  // namespace podctl

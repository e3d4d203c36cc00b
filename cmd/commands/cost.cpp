// podctl cost: what pods cost an hour, and have cost so far.

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>

#include "cmd/command.h"
#include "cmd/reporter.h"
#include "cmd/views/cost_view.h"
#include "cmd/wiring.h"
#include "plans/session/bill.h"
#include "plans/session/plan.h"
#include "plans/spec/spec_files.h"
#include "providers/base/price_words.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

struct CostOptions {
  std::string by;     // a label
  std::string since;  // a duration, a day or a time
};

// nullopt: it is none of these.
std::optional<BillTime> TimeOf(const std::string& text, BillTime now) {
  if (const auto age = ParseDuration(text)) {
    return now - std::chrono::duration_cast<std::chrono::seconds>(*age);
  }
  if (IsDay(text)) return ParseTimestamp(text + "T00:00:00Z");
  return ParseTimestamp(text);
}

std::string ReadSince(const Flag&, const std::string& text, std::string* since) {
  *since = text;
  if (TimeOf(text, BillTime())) return {};
  return fmt::format("`{}` is neither a duration (7d), a day (2026-11-01) nor a time in UTC", text);
}

std::string ReadLabel(const Flag&, const std::string& text, std::string* label) {
  *label = text;
  return text.empty() ? "is empty, which names no label" : "";
}

int RunCost(Wiring& wiring, const CostOptions& options) {
  Reporter& reporter = wiring.reporter();
  const BillTime now = std::chrono::floor<std::chrono::seconds>(wiring.clock().Now());
  const auto since = options.since.empty() ? std::nullopt : TimeOf(options.since, now);
  if (since && *since > now) {
    return reporter.ShowFailure(
        MakeError(ErrorCode::kInvalidArgument,
                  fmt::format("`--since {}` is still to come: it is {}", options.since,
                              FormatTimestamp(wiring.clock().Now())),
                  "Give a time that is over, or a duration until now, such as 7d."));
  }
  Diagnostics problems;
  const Spec spec = wiring.ReadSpec(problems);
  // A state needs no spec to be looked at; one that is there, and wrong, may name prices.
  const bool has_spec =
      !wiring.SpecOptions().paths.empty() || wiring.files().Stat(kDefaultSpecFile).has_value();
  if (has_spec && problems.has_errors()) {
    reporter.Show(WithSourceLines(wiring.files(), problems));
    return 1;
  }
  const auto store = wiring.OpenStore();
  const auto bill = MakeBill(*store, spec.prices ? &*spec.prices : nullptr, since, now);
  if (!bill) return reporter.ShowFailure(bill.error());
  reporter.Document([&] { return BillDocument(*bill, options.by); },
                    [&](Streams& streams) { streams.out << BillText(*bill, options.by); });
  return 0;
}

constexpr Flag kCostFlags[] = {
    OneValue<&CostOptions::by, CostOptions, &ReadLabel>("--by", "LABEL",
                                                        "also a sum for each value of this label"),
    OneValue<&CostOptions::since, CostOptions, &ReadSince>(
        "--since", "TIME", "count from then on: 7d, 2026-11-01, 2026-11-01T12:00:00Z"),
};

}  // namespace

const Command commands::kCost("cost", "what pods cost an hour, and cost so far", kCostFlags,
                              WithWorld<RunCost>);

}  // namespace podctl

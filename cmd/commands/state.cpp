// podctl state list and show, show and status: looking at what podctl remembers.

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cmd/command.h"
#include "cmd/command_line.h"
#include "cmd/commands/apply.h"
#include "cmd/commands/state_edit.h"
#include "cmd/reporter.h"
#include "cmd/views/cost_view.h"
#include "cmd/views/return_view.h"
#include "cmd/views/state_view.h"
#include "cmd/wiring.h"
#include "plans/kinds/output/record.h"
#include "plans/kinds/step/record.h"
#include "plans/session/cost.h"
#include "plans/session/pod_ends.h"
#include "plans/session/status.h"
#include "providers/base/text.h"
#include "state/run_notes.h"
#include "state/state_json.h"

namespace podctl {
namespace {

struct StateListOptions {
  std::vector<std::string> addresses;  // empty: all
};

struct StateShowOptions {
  std::string address;
};

Result<State> StateIn(Result<RunNotes> notes) {
  if (!notes) return notes.error();
  return std::move(notes->state);
}

// Shows the error itself.
std::optional<State> OrShowError(Reporter& reporter, Result<State> state) {
  if (state) return *std::move(state);
  reporter.ShowFailure(state.error());
  return std::nullopt;
}

// The addresses that are `filter`, or steps of the pod that it is.
std::vector<Address> Matching(const State& state, const std::string& filter) {
  std::vector<Address> addresses;
  const auto wanted = ParseAddress(filter);
  if (!wanted) return addresses;
  for (const Address& address : AddressesOf(state)) {
    const StepRecord* step = Steps(state).Get(address);
    const bool is_step_of = step != nullptr && step->pod == wanted;
    if (address == wanted || is_step_of) addresses.push_back(address);
  }
  return addresses;
}

}  // namespace

// `file`: of what could not be saved, or of a state; empty: what is stored.
int RunShow(Wiring& wiring, const std::string& file) {
  Reporter& reporter = wiring.reporter();
  const auto state = OrShowError(reporter, file.empty() ? wiring.LoadState(wiring.StatePath())
                                                        : StateIn(wiring.ReadNotes(file)));
  if (!state) return reporter.FailedExitCode();
  const auto text = [&](Streams& streams) {
    const auto addresses = AddressesOf(*state);
    if (addresses.empty()) streams.out << "The state is empty.\n";
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      streams.out << (i > 0 ? "\n" : "") << ShowAddress(*state, addresses[i]);
    }
  };
  reporter.Document([&] { return StateDocument(*state); }, text);
  return 0;
}

int RunStatus(Wiring& wiring) {
  Reporter& reporter = wiring.reporter();
  const auto store = wiring.OpenStore();
  const auto status =
      GatherStatus(*store, wiring.provider(), wiring.kinds().all, PlaceFlags(wiring.options()),
                   wiring.options().parallelism, wiring.interrupt().drain());
  if (!status) {
    return reporter.interrupted() ? kInterruptedExitCode : reporter.ShowFailure(status.error());
  }
  const State& settled = status->settled;
  auto rows = StatusRows(settled, status->observation);
  Diagnostics problems;
  const Spec spec = wiring.ReadSpec(problems);
  // Of a spec that is wrong, or not at hand, nobody knows what it wants.
  if (!problems.has_errors()) AddNotMade(PodsNotMade(spec, settled), &rows);
  std::vector<PlannedEnd> ends;
  if (!problems.has_errors()) ends = PlannedEnds(spec, settled);
  for (const PlannedEnd& end : ends) {
    for (StatusRow& row : rows) {
      if (row.pod == end.pod && !row.deposed) row.ends_at = end.at;
    }
  }
  std::optional<PlanCost> cost;
  if (!problems.has_errors() && spec.prices) cost = CostOf(Plan(), settled, *spec.prices);
  const WantedJobs wanted = WantedJobsOf(settled);
  const auto text = [&](Streams& streams) {
    const bool color = streams.color && streams.out_is_terminal;
    const std::string others = OtherTables(settled, status->observation, color);
    if (!rows.empty())
      streams.out << StatusTable(rows, color, streams.out_is_terminal ? streams.width : 0)
                  << (others.empty() ? "" : "\n");
    streams.out << others;
    if (rows.empty() && others.empty()) {
      streams.out << fmt::format("There are no pods in the state, {}.\n",
                                 VisibleControls(wiring.StatePath()));
    }
    const std::string not_made = NotMadeText(rows);
    streams.out << (not_made.empty() ? "" : "\n") << not_made;
    if (!wanted.empty()) streams.out << "\n" << WantedLines(wanted);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      streams.out << (i == 0 ? "\n" : "") << ends[i].sentence << "\n";
    }
    if (!cost || rows.empty()) return;
    streams.out << "\n" << Join(RunningCostLines(*cost), "\n") << "\n";
  };
  const auto document = [&] {
    Value all = StatusDocument(rows, settled, status->observation);
    if (!wanted.empty()) {
      Value jobs = Value::EmptyMap();
      for (const auto& [pod, of_pod] : wanted) jobs.Set(pod, WantedDocument(of_pod));
      all.Set("jobs", std::move(jobs));
    }
    if (cost) all.Set("cost", CostDocument(*cost));
    return all;
  };
  reporter.Document(document, text);
  return 0;
}

int RunStateList(Wiring& wiring, const StateListOptions& options) {
  Reporter& reporter = wiring.reporter();
  const auto state = OrShowError(reporter, wiring.LoadState(wiring.StatePath()));
  if (!state) return reporter.FailedExitCode();
  std::set<Address> wanted;
  for (const std::string& filter : options.addresses) {
    const auto addresses = Matching(*state, filter);
    if (addresses.empty()) return reporter.ShowFailure(NotInState(*state, filter));
    wanted.insert(addresses.begin(), addresses.end());
  }
  // As in terraform, outputs are listed by a command of their own.
  std::vector<Address> found = AddressesOf(*state);
  std::erase_if(found, [](const Address& address) { return address.kind == kOutputKind; });
  if (!options.addresses.empty()) found.assign(wanted.begin(), wanted.end());
  const std::vector<std::string> addresses = TextsOf(found);
  const auto document = [&] {
    return Value::Map{{"addresses", Value::List(addresses.begin(), addresses.end())}};
  };
  reporter.Document(document, [&](Streams& streams) {
    for (const std::string& address : addresses) streams.out << address << "\n";
  });
  return 0;
}

int RunStateShow(Wiring& wiring, const StateShowOptions& options) {
  const std::string& address = options.address;
  Reporter& reporter = wiring.reporter();
  const auto state = OrShowError(reporter, wiring.LoadState(wiring.StatePath()));
  if (!state) return reporter.FailedExitCode();
  const auto wanted = ParseAddress(address);
  const std::string text = wanted ? ShowAddress(*state, *wanted) : "";
  if (text.empty()) return reporter.ShowFailure(NotInState(*state, address));
  const auto document = [&] {
    State only = *state;
    std::erase_if(only.records, [&](const auto& entry) { return entry.first != *wanted; });
    return StateDocument(only);
  };
  reporter.Document(document, [&](Streams& streams) { streams.out << text; });
  return 0;
}

namespace {

std::string ShowConflict(const ApplyOptions& options, const GlobalOptions& global) {
  if (options.markdown && !global.json && options.plan_file.empty()) {
    return "`--markdown` shows a saved plan: podctl show --markdown FILE";
  }
  return PlanConflict(options, global);
}

// Rather than a saved plan; one whose text cannot be read is told of as that.
bool HoldsState(FileSystem& files, const std::string& file) {
  if (IsStateUrl(file)) return true;
  const auto text = files.Read(file, kMaxStateBytes);
  return text && MayBeNotes(*text);
}

constexpr Flag kShowFlags[] = {
    OneValue<&ApplyOptions::plan_file>("FILE", "", "a saved plan, or what could not be saved"),
    kMarkdownFlag,
};

}  // namespace

const Command commands::kShow(
    "show", "show the state, a saved plan, or what could not be saved", kShowFlags,
    +[](Context& context, const ApplyOptions& options) {
      const std::string& file = options.plan_file;
      return file.empty() || HoldsState(context.wiring().files(), file)
                 ? RunShow(context.wiring(), file)
                 : RunShowPlan(context.wiring(), options);
    },
    ShowConflict,
    // A saved plan knows its own.
    [](const ApplyOptions& options) { return options.plan_file.empty(); });

const Command commands::kStatus("status", "show the pods, their health and their workers", {},
                                WithWorld<RunStatus>);

const Command commands::kState("state", "look after the state");

constexpr Flag kListFlags[] = {
    Naming(Flag::Names::kAddress, ManyValues<&StateListOptions::addresses>(
                                      "ADDRESS", "", "only these, and the steps of these pods")),
};

const Command commands::kStateList("state list", "list the addresses in the state", kListFlags,
                                   WithWorld<RunStateList>);

constexpr Flag kOneFlags[] = {
    Naming(Flag::Names::kAddress,
           Required(OneValue<&StateShowOptions::address>("ADDRESS", "", "e.g. pod.research"))),
};

const Command commands::kStateShow("state show", "show one address", kOneFlags,
                                   WithWorld<RunStateShow>);

}  // namespace podctl

#include "cmd/commands/state_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cmd/command.h"
#include "cmd/reporter.h"
#include "cmd/views/state_view.h"
#include "cmd/wiring.h"
#include "plans/kinds/moves.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/unaccounted_nodes.h"
#include "plans/kinds/step/record.h"
#include "plans/session/returning_jobs.h"
#include "providers/base/text.h"
#include "state/thing_name.h"

namespace podctl {
namespace {

// Something else in the state that may be meant.
Error WithNearAddress(Error error, const State& state, const std::string& address) {
  if (error.code == ErrorCode::kNotFound && error.hint.empty()) {
    const std::string near = NearestWord(address, TextsOf(AddressesOf(state)));
    error.hint = near.empty() ? "`podctl state list` shows the addresses there are."
                              : fmt::format("Did you mean `{}`?", near);
  }
  return error;
}

// As a spec could have it: another address could never be reached again.
std::optional<Address> ReadAddress(RecordKinds kinds, const std::string& text) {
  auto address = ParseAddress(text);
  if (!address || !address->key.empty() || !address->deposed.empty()) return std::nullopt;
  const std::string& name = address->name;
  const bool known = std::any_of(kinds.begin(), kinds.end(), [&](const RecordCodec* codec) {
    return codec->kind() == address->kind;
  });
  if (!known) return std::nullopt;
  if (address->kind != kStepKind) return IsThingName(name) ? address : std::nullopt;
  const auto dot = name.find('.');
  const bool step = dot != std::string::npos && IsThingName(name.substr(0, dot)) &&
                    IsThingName(name.substr(dot + 1));
  return step ? address : std::nullopt;
}

// Every address that moves, with where it goes: a pod takes its steps along.
std::vector<std::pair<Address, Address>> MovesOf(const State& before, const State& after,
                                                 const Address& from, const Address& to) {
  std::vector<std::pair<Address, Address>> moves = {{from, to}};
  for (const auto& [address, step] : Steps(before)) {
    if (step.pod != from) continue;
    const Address moved = StepAddress(to.name, address.name.substr(address.name.rfind('.') + 1));
    if (Steps(after).contains(moved)) moves.emplace_back(address, moved);
  }
  return moves;
}

// `forgotten`: jobs that were to come back with these pods.
void ShowRemoved(Reporter& reporter, const std::vector<std::string>& removed,
                 const WantedJobs& forgotten, bool dry_run, bool has_pods) {
  const auto document = [&] {
    Value::List jobs;
    for (const auto& [pod, of_pod] : forgotten) {
      for (const auto& [name, job] : of_pod) {
        jobs.push_back(Value::Map{{"pod", pod}, {"job", name}});
      }
    }
    return Value::Map{{"dry_run", dry_run},
                      {"removed", Value::List(removed.begin(), removed.end())},
                      {"forgotten_jobs", std::move(jobs)}};
  };
  reporter.Document(document, [&](Streams& streams) {
    for (const std::string& address : removed) {
      streams.out << fmt::format("{} {}\n", dry_run ? "Would remove" : "Removed", address);
    }
    for (const auto& [pod, of_pod] : forgotten) {
      for (const auto& [name, job] : of_pod) {
        streams.out << fmt::format("Job {} {} come back with {} any more.\n", VisibleControls(name),
                                   dry_run ? "would not" : "does not", PodAddress(pod));
      }
    }
    if (dry_run || !has_pods) return;
    streams.out << "The nodes themselves were left alone, and podctl will not touch them any "
                   "more: `podctl import` takes one back.\n";
  });
}

// What an earlier run left under way for the address and nobody knows the end of; empty: nothing.
std::string PendingOf(const State& state, const Address& address, std::string* risk) {
  if (const PodRecord* pod = Pods(state).Get(address)) {
    const PodRecord& record = *pod;
    *risk = ForgetRisk(record.project, record.zone);
    if (record.pending()) return PendingWords(*record.pending(), record.current.locator);
    for (const Object& deposed : record.deposed) {
      if (deposed.pending()) return PendingWords(*deposed.pending(), deposed.locator);
    }
    return {};
  }
  const auto thing = state.records.find(address);
  const Record* record = thing == state.records.end() ? nullptr : thing->second.objects();
  if (record == nullptr || !record->pending()) return {};
  *risk = thing->second.codec().forget_risk();
  return PendingWords(*record->pending(), fmt::format("the {}", thing->second.codec().noun()));
}

Result<void> CheckForgettable(const State& state, const std::vector<Address>& addresses) {
  for (const Address& address : addresses) {
    std::string risk;
    const std::string pending = PendingOf(state, address, &risk);
    if (pending.empty()) continue;
    return MakeError(ErrorCode::kFailedPrecondition,
                     fmt::format("{} has something under way: the {}", address, pending),
                     fmt::format("`podctl plan` finds out what became of it. To forget it all the "
                                 "same, add `--force-forget`; what that risks: {}",
                                 risk));
  }
  return {};
}

}  // namespace

Error NotInState(const State& state, const std::string& address) {
  return WithNearAddress(
      MakeError(ErrorCode::kNotFound, fmt::format("`{}` is not in the state", address)), state,
      address);
}

int RunStateMove(Wiring& wiring, const StateMvOptions& options) {
  const auto from = ParseAddress(options.from);
  const RecordKinds kinds = wiring.kinds().remembered;
  const auto to = ReadAddress(kinds, options.to);
  Reporter& reporter = wiring.reporter();
  StateAccess access(wiring.OpenStore(), wiring.random(), reporter, wiring.interrupt().drain());
  if (!access.Lock(wiring.lock_request("state mv")) || !access.Load()) return access.exit_code();
  const State before = access.state();
  if (!to) {
    return access.Fail(MakeError(ErrorCode::kInvalidArgument,
                                 fmt::format("`{}` is no address", options.to),
                                 FormsOfAddresses(kinds)));
  }
  // What cannot be read is of no kind, and so of another than `to`.
  if (auto moved = MoveAddress(access.state(), from.value_or(Address{"", options.from}), *to);
      !moved) {
    if (moved.error().code == ErrorCode::kInvalidArgument && moved.error().hint.empty()) {
      return access.Fail(
          MakeError(ErrorCode::kInvalidArgument, moved.error().message, FormsOfAddresses(kinds)));
    }
    return access.Fail(WithNearAddress(moved.error(), before, options.from));
  }
  if (!options.dry_run && !access.Save()) return access.exit_code();
  const auto moves = MovesOf(before, access.state(), *from, *to);
  const auto document = [&] {
    Value::List list;
    for (const auto& [source, target] : moves) {
      list.push_back(Value::Map{{"from", source.Text()}, {"to", target.Text()}});
    }
    return Value::Map{{"dry_run", options.dry_run}, {"moved", std::move(list)}};
  };
  reporter.Document(document, [&](Streams& streams) {
    for (const auto& [source, target] : moves) {
      streams.out << fmt::format("{} {} to {}\n", options.dry_run ? "Would move" : "Moved", source,
                                 target);
    }
  });
  return 0;
}

int RunStateRemove(Wiring& wiring, const StateRmOptions& options) {
  Reporter& reporter = wiring.reporter();
  StateAccess access(wiring.OpenStore(), wiring.random(), reporter, wiring.interrupt().drain());
  if (!access.Lock(wiring.lock_request("state rm")) || !access.Load()) return access.exit_code();
  State& state = access.state();
  const State before = state;
  // All or none: a mistyped address must not leave half of the command done.
  std::vector<Address> addresses;
  const std::vector<Address> known = AddressesOf(before);
  for (const std::string& text : options.addresses) {
    const auto address = ParseAddress(text);
    if (address && std::binary_search(known.begin(), known.end(), *address)) {
      addresses.push_back(*address);
      continue;
    }
    return access.Fail(NotInState(before, text));
  }
  if (auto may = CheckForgettable(before, addresses); !may && !options.force) {
    return access.Fail(may.error());
  }
  for (const Address& address : addresses) {
    state.records.erase(address);
    Steps(state).EraseIf(
        [&](const Address&, const StepRecord& step) { return step.pod == address; });
  }
  std::vector<std::string> removed;
  const auto left = AddressesOf(state);
  for (const Address& address : known) {
    if (!std::binary_search(left.begin(), left.end(), address)) removed.push_back(address.Text());
  }
  WantedJobs forgotten = WantedJobsOf(before);
  std::erase_if(forgotten,
                [&](const auto& of_pod) { return Pods(state).contains(PodAddress(of_pod.first)); });
  if (!options.dry_run && !access.Save()) return access.exit_code();
  ShowRemoved(reporter, removed, forgotten, options.dry_run,
              Pods(state).size() < Pods(before).size());
  return 0;
}

constexpr Flag kMvFlags[] = {
    Naming(Flag::Names::kAddress,
           Required(OneValue<&StateMvOptions::from>("FROM", "", "e.g. pod.a"))),
    Naming(Flag::Names::kAddress, Required(OneValue<&StateMvOptions::to>("TO", "", "e.g. pod.b"))),
    Switch<&StateMvOptions::dry_run>("--dry-run", "only show what would move"),
};

const Command commands::kStateMv("state mv", "give what is remembered another address", kMvFlags,
                                 WithWorld<RunStateMove>);

constexpr Flag kRmFlags[] = {
    Naming(Flag::Names::kAddress,
           Required(ManyValues<&StateRmOptions::addresses>("ADDRESS", "", "e.g. pod.research"))),
    Switch<&StateRmOptions::dry_run>("--dry-run", "only show what would be forgotten"),
    Switch<&StateRmOptions::force>("--force-forget", "also what a run left under way"),
};

const Command commands::kStateRm("state rm", "forget addresses; the pods themselves are left alone",
                                 kRmFlags, WithWorld<RunStateRemove>);

int StateAccess::Fail(const Error& error, const std::string& summary) {
  exit_code_ = reporter_.ShowFailure(error, summary);
  return exit_code_;
}

bool StateAccess::Check(const Result<void>& done, const std::string& summary) {
  if (!done) Fail(done.error(), summary);
  return done.has_value();
}

bool StateAccess::Lock(const LockRequest& request) {
  const auto note = edit_.Lock(request, stop_);
  if (!note) Fail(note.error());
  if (note && !note->empty()) reporter_.Note(*note);
  return note.has_value();
}

bool StateAccess::Load() {
  return Check(edit_.Load());
}

bool StateAccess::LoadOrSetAside() {
  const auto aside = edit_.LoadOrSetAside();
  if (!aside) Fail(aside.error());
  if (aside && !aside->empty()) {
    reporter_.Note(fmt::format("The damaged state was put aside: it is now {}.", *aside));
  }
  return aside.has_value();
}

bool StateAccess::Save(bool push) {
  const auto saved = edit_.Save(push);
  ShowStoreWarnings(reporter_, edit_.TakeWarnings());
  return Check(saved, kNotSaved);
}

void ShowStoreWarnings(Reporter& reporter, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) reporter.Note("Warning: " + warning);
}

}  // namespace podctl

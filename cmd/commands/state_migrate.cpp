// podctl state migrate: the state goes to another place.
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <utility>

#include "cmd/command.h"
#include "cmd/command_line.h"
#include "cmd/reporter.h"
#include "cmd/wiring.h"
#include "plans/session/migrate.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

struct StateMigrateOptions {
  std::string to;
  bool resume = false;
  bool abort = false;
};

// The same from every folder.
std::string WholeName(const std::string& place) {
  if (IsStateUrl(place)) return place;
  return std::filesystem::absolute(place).lexically_normal().string();
}

// Where the interrupted move was to go to.
Result<std::string> InterruptedTarget(StateStore& from) {
  auto placed = from.LoadPlace();
  if (!placed) return placed.error();
  const auto& move = placed->placed.move;
  if (move && move->stage != StateMove::Stage::kArriving) return move->other;
  return MakeError(ErrorCode::kNotFound,
                   fmt::format("no move of the state {} was interrupted", from.Where()),
                   "To begin one: `podctl state migrate --to PLACE`.");
}

// `url`: how a state's URL is written in one way.
Result<std::string> TargetOf(const decltype(LoadOptions::state_url)& url, StateStore& from,
                             const StateMigrateOptions& options) {
  if (options.to.empty()) return InterruptedTarget(from);
  if (const std::string meant = MeantStateUrl(options.to); !meant.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("--to: `{}` is neither a path nor a URL", options.to),
                     fmt::format("did you mean `{}`?", meant));
  }
  if (!IsStateUrl(options.to)) return WholeName(options.to);
  return url(options.to);
}

// As a spec in `folder` writes the place.
std::string WrittenIn(const std::string& folder, const std::string& place) {
  if (IsStateUrl(place)) return place;
  const auto path = std::filesystem::path(place).lexically_relative(
      std::filesystem::absolute(folder).lexically_normal());
  return path.empty() || path.string().starts_with("..") ? place : path.string();
}

// What is to be written where, so that the next run finds the state.
struct SpecLine {
  SourcePlace place;  // no file: no spec says where the state is
  std::string text;
};

SpecLine LineToChange(const Spec& spec, const std::string& to) {
  const std::string file = !spec.state_place.file.empty() ? spec.state_place.file
                           : spec.files.empty()           ? ""
                                                          : spec.files.front();
  return {spec.state_place, "state: " + WrittenIn(FolderOf(file), to)};
}

void ShowMoved(Reporter& reporter, const std::string& from, const std::string& to,
               const MoveEnd& end, const SpecLine& line) {
  const auto document = [&] {
    Value::Map shown{{"moved", end.moved},
                     {"from", from},
                     {"to", to},
                     {"lineage", end.lineage},
                     {"serial", end.serial}};
    if (!end.moved) return shown;
    shown["spec_line"] = line.text;
    if (!line.place.file.empty()) {
      shown["spec_file"] = line.place.file;
      shown["spec_line_number"] = line.place.line;
    }
    return shown;
  };
  reporter.Document(document, [&](Streams& streams) {
    if (!end.moved) {
      streams.out << fmt::format("The state stays in {} (serial {}); it was not moved to {}.\n",
                                 from, end.serial, to);
      return;
    }
    streams.out << fmt::format("{} the state from {} to {}: serial {}, {}.\n",
                               end.was_moved ? "An earlier run moved" : "Moved", from, to,
                               end.serial, Plural(end.records, "record"));
    if (line.place.file.empty()) {
      streams.out << fmt::format("Now write into the spec:\n  {}\n", line.text);
    } else {
      streams.out << fmt::format("Now change {}:{} into:\n  {}\n", line.place.file, line.place.line,
                                 line.text);
    }
    streams.out << fmt::format(
        "Whoever still uses {} is told where the state went, and changes nothing.\n", from);
  });
}

int RunStateMigrate(Wiring& wiring, const StateMigrateOptions& options) {
  Reporter& reporter = wiring.reporter();
  const std::string from = wiring.StatePath();
  const auto old_store = wiring.OpenStore(from);
  const auto to = TargetOf(wiring.SpecOptions().state_url, *old_store, options);
  if (!to) return reporter.ShowFailure(to.error());
  const auto new_store = wiring.OpenStore(*to);
  const LockRequest request = wiring.lock_request("state migrate");
  const MoveDoors doors{wiring.clock(), request, wiring.interrupt().drain(), request.info().who,
                        [&](const std::string& note) { reporter.Note(note); }};
  const MoveHow how = options.resume  ? MoveHow::kResume
                      : options.abort ? MoveHow::kAbort
                                      : MoveHow::kBegin;
  const auto end =
      MoveState(doors, {*old_store, WholeName(from)}, {*new_store, WholeName(*to)}, how);
  if (!end) return reporter.ShowFailure(end.error());
  for (const std::string& warning : end->warnings) reporter.Note("Warning: " + warning);
  if (!end->not_reached.empty()) {
    reporter.ShowWarning(fmt::format("{} could not be asked", *to),
                         fmt::format("{}\nWhat is on its way there is used by no run; a later move "
                                     "there replaces it.",
                                     end->not_reached));
  }
  Diagnostics ignored;
  ShowMoved(reporter, from, *to, *end, LineToChange(wiring.ReadSpec(ignored), *to));
  return 0;
}

std::string MigrateConflict(const StateMigrateOptions& options, const GlobalOptions& /*global*/) {
  if (options.resume && options.abort) {
    return "`--resume` and `--abort` cannot be used together: one ends the move, the other calls "
           "it off";
  }
  if (options.to.empty() && !options.resume && !options.abort) {
    return "where is the state to go? Give --to URL or --to PATH";
  }
  return "";
}

constexpr Flag kMigrateFlags[] = {
    OneValue<&StateMigrateOptions::to>("--to", "URL|PATH", "where the state is to be"),
    Switch<&StateMigrateOptions::resume>("--resume", "end a move that was interrupted"),
    Switch<&StateMigrateOptions::abort>("--abort", "call it off: the state stays where it was"),
};

}  // namespace

const Command commands::kStateMigrate("state migrate", "move the state to another place",
                                      kMigrateFlags, WithWorld<RunStateMigrate>, MigrateConflict);

}  // namespace podctl

// podctl state diff: in what two generations of the state differ.
#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "cmd/command.h"
#include "cmd/reporter.h"
#include "cmd/views/state_diff_view.h"
#include "cmd/wiring.h"
#include "state/run_notes.h"
#include "state/store.h"

namespace podctl {
namespace {

constexpr std::string_view kPresent = "present";

struct StateDiffOptions {
  std::string before;
  std::string after = std::string(kPresent);
};

std::optional<std::uint64_t> SerialOf(const std::string& word) {
  std::uint64_t serial = 0;
  const char* last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, serial);
  return error == std::errc() && end == last ? std::optional(serial) : std::nullopt;
}

Result<State> Generation(StateStore& store, std::uint64_t serial) {
  Result<State> kept = store.LoadHistory(serial);
  if (kept || kept.error().code != ErrorCode::kNotFound) return kept;
  Result<Snapshot> stored = store.Load();
  const bool is_present = stored && stored->state && stored->state->serial == serial;
  return is_present ? Result<State>(*std::move(stored->state)) : kept;
}

// How a file, or an object beside a state, is read.
using ReadPlace = std::function<Result<RunNotes>(const std::string& place)>;

// What `word` names: a serial, the present state, or a file (also what could not be saved).
Result<State> StateNamed(StateStore& store, const ReadPlace& read, const std::string& word,
                         std::string* name) {
  if (word == kPresent) {
    *name = "the present state";
    Result<Snapshot> stored = store.Load();
    if (!stored) return stored.error();
    return std::move(stored->state).value_or(State{});
  }
  if (const auto serial = SerialOf(word)) {
    *name = fmt::format("serial {}", *serial);
    return Generation(store, *serial);
  }
  *name = word;
  Result<RunNotes> notes = read(word);
  if (!notes) return notes.error();
  return std::move(notes->state);
}

int RunStateDiff(Wiring& wiring, const StateDiffOptions& options) {
  Reporter& reporter = wiring.reporter();
  const auto store = wiring.OpenStore();
  const ReadPlace read = [&](const std::string& place) { return wiring.ReadNotes(place); };
  StateSides sides;
  const auto before = StateNamed(*store, read, options.before, &sides.before);
  if (!before) return reporter.ShowFailure(before.error());
  const auto after = StateNamed(*store, read, options.after, &sides.after);
  if (!after) return reporter.ShowFailure(after.error());
  const auto changes = ChangesBetween(*before, *after);
  reporter.Document([&] { return StateDiffDocument(changes, sides); },
                    [&](Streams& streams) {
                      const bool color = streams.color && streams.out_is_terminal;
                      streams.out << StateDiffText(changes, sides, color);
                    });
  return 0;
}

constexpr Flag kDiffFlags[] = {
    Required(OneValue<&StateDiffOptions::before>(
        "A", "", "a serial of `podctl state history`, `present`, or a file")),
    OneValue<&StateDiffOptions::after>("B", "", "another one; without it, the present state"),
};

}  // namespace

const Command commands::kStateDiff("state diff", "show in what two generations differ", kDiffFlags,
                                   WithWorld<RunStateDiff>);

}  // namespace podctl

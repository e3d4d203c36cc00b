// `podctl state history`, `restore`, `pull`, `push`: the state as a whole.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/command.h"
#include "cmd/commands/state_edit.h"
#include "cmd/reporter.h"
#include "cmd/views/state_view.h"
#include "cmd/wiring.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/text.h"
#include "state/run_notes.h"
#include "state/state_json.h"
#include "state/store.h"

namespace podctl {
namespace {

// The stored state as the newest of its generations; one that cannot be read says so.
HistoryEntry PresentEntry(StateStore& store) {
  HistoryEntry present;
  auto stored = store.Load();
  if (!stored) {
    present.problem = stored.error().message;
  } else if (stored->state) {
    present.serial = stored->state->serial;
    present.bytes = StateToJson(*stored->state).size();
    present.records = RecordCounts(*stored->state);
    present.lineage = stored->state->lineage;
    present.remarks = Remarks(*stored->state);
    present.run = store.StoredRun();
  }
  return present;
}

// What the restored state does not know any more, though it may be there.
std::vector<std::string> Forgotten(const State& before, const State& after) {
  std::vector<std::string> addresses;
  for (const auto& [address, record] : Pods(before)) {
    if (!Pods(after).contains(address)) addresses.push_back(address.Text());
  }
  return addresses;
}

// The serial after every one there is, where the stored one cannot be read.
std::uint64_t NewestSerial(const std::vector<HistoryEntry>& history) {
  std::uint64_t newest = 0;
  for (const HistoryEntry& entry : history) newest = std::max(newest, entry.serial);
  return newest;
}

void ShowRestored(Reporter& reporter, std::uint64_t serial, const State& restored,
                  const std::vector<std::string>& forgotten) {
  const auto document = [&] {
    return Value::Map{{"restored", serial},
                      {"serial", restored.serial},
                      {"pods", static_cast<std::uint64_t>(Pods(restored).size())},
                      {"forgotten", Value::List(forgotten.begin(), forgotten.end())}};
  };
  reporter.Document(document, [&](Streams& streams) {
    streams.out << fmt::format(
        "Restored generation {} as serial {}, with {}. What was stored before is kept in the "
        "history.\nThe nodes are as they were: `podctl plan` shows what they and the state differ "
        "in.\n",
        serial, restored.serial, Plural(Pods(restored).size(), "pod"));
    if (forgotten.empty()) return;
    streams.out << fmt::format(
        "No longer in the state, though the nodes may be there (`podctl import` takes one back): "
        "{}\n",
        Join(forgotten, ", "));
  });
}

}  // namespace

int RunStateHistory(Wiring& wiring) {
  Reporter& reporter = wiring.reporter();
  auto store = wiring.OpenStore();
  const HistoryEntry present = PresentEntry(*store);
  auto history = store->History();
  if (!history) return reporter.ShowFailure(history.error());
  reporter.Document([&] { return HistoryDocument(present, *history); },
                    [&](Streams& streams) {
                      const int width = streams.out_is_terminal ? streams.width : 0;
                      streams.out << HistoryTable(present, *history, width);
                    });
  return 0;
}

int RunStateRestore(Wiring& wiring, const StateRestoreOptions& options) {
  Reporter& reporter = wiring.reporter();
  StateAccess access(wiring.OpenStore(), wiring.random(), reporter, wiring.interrupt().drain());
  if (!access.Lock(wiring.lock_request("state restore"))) return access.exit_code();
  auto old = access.edit().store().LoadHistory(options.serial);
  if (!old) {
    Error error = old.error();
    const bool is_present = error.code == ErrorCode::kNotFound &&
                            PresentEntry(access.edit().store()).serial == options.serial;
    if (is_present) error.message = fmt::format("generation {} is the present one", options.serial);
    return access.Fail(error);
  }
  auto history = access.edit().store().History();
  if (!history) return access.Fail(history.error());
  // A damaged state is what this command is for: it is put aside.
  if (!access.LoadOrSetAside()) return access.exit_code();
  const State before = access.edit().exists() ? access.state() : State{};
  access.state() = std::move(*old);
  access.state().serial = access.edit().exists()
                              ? 0  // the next one
                              : std::max(NewestSerial(*history), options.serial) + 1;
  if (!access.Save(true)) return access.exit_code();
  ShowRestored(reporter, options.serial, access.state(), Forgotten(before, access.state()));
  return 0;
}

const Command commands::kStateHistory("state history",
                                      "list the generations of the state that are kept", {},
                                      WithWorld<RunStateHistory>);

namespace {

std::string ReadSerial(const Flag&, const std::string& text, std::uint64_t* serial) {
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, *serial);
  if (error == std::errc() && end == last && *serial > 0) return {};
  return fmt::format("`{}` is no serial; `podctl state history` lists them", text);
}

constexpr Flag kRestoreFlags[] = {
    Naming(Flag::Names::kSerial,
           Required(OneValue<&StateRestoreOptions::serial, StateRestoreOptions, &ReadSerial>(
               "SERIAL", "", "as `podctl state history` lists it"))),
};

}  // namespace

const Command commands::kStateRestore("state restore", "make a kept generation the newest one",
                                      kRestoreFlags, WithWorld<RunStateRestore>);

namespace {

// Everything on stdin; ends early on an interrupt, which is no end of a read (SA_RESTART).
Result<std::string> ReadInput(const Interrupt& interrupt) {
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    if (interrupt.requested()) return MakeError(ErrorCode::kCancelled, "interrupted");
    constexpr int kLookMs = 100;
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = poll(&input, 1, kLookMs);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return MakeError(ErrorCode::kIo, fmt::format("cannot read stdin: {}", std::strerror(errno)));
    }
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxStateBytes) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("more than {} MiB on stdin", kMaxStateBytes >> 20));
    }
  }
}

Result<RunNotes> ReadInputNotes(const Interrupt& interrupt, RecordKinds kinds) {
  auto text = ReadInput(interrupt);
  if (!text) return text.error();
  return NotesFromJson(*text, "stdin", kinds);
}

}  // namespace

int RunStatePull(Wiring& wiring) {
  Reporter& reporter = wiring.reporter();
  StateAccess access(wiring.OpenStore(), wiring.random(), reporter, wiring.interrupt().drain());
  if (!access.Load()) return access.exit_code();
  if (access.edit().exists()) {
    wiring.streams().out << StateToJson(access.state()) << std::flush;
    return 0;
  }
  // Nothing stored: nothing on stdout, as terraform does; but a program is promised a document.
  const auto document = [] { return Value(Value::Map{{"state", Value()}}); };
  reporter.Document(document, [](Streams&) {});
  return 0;
}

int RunStatePush(Wiring& wiring, const StatePushOptions& options) {
  // Read before the lock is taken: stdin may take its time.
  Reporter& reporter = wiring.reporter();
  auto pushed = options.file == "-" ? ReadInputNotes(wiring.interrupt(), wiring.kinds().remembered)
                                    : wiring.ReadNotes(options.file);
  if (!pushed) {
    Error error = pushed.error();
    // What is damaged is what was given, and not the state.
    if (error.code == ErrorCode::kDataLoss) {
      error.hint =
          "`podctl state pull` prints such a text, and a run that could not save leaves one.";
    }
    return reporter.ShowFailure(error);
  }
  StateAccess access(wiring.OpenStore(), wiring.random(), reporter, wiring.interrupt().drain());
  if (!access.Lock(wiring.lock_request("state push"))) return access.exit_code();
  if (!(options.force ? access.LoadOrSetAside() : access.Load())) return access.exit_code();
  const Snapshot stored{
      access.edit().exists() ? std::optional<State>(access.state()) : std::nullopt,
      access.edit().generation()};
  if (auto allowed = CheckPush(stored, *pushed, options.force); !allowed) {
    return access.Fail(allowed.error());
  }
  access.state() = std::move(pushed->state);
  if (!access.Save(true)) return access.exit_code();
  const State& state = access.state();
  const bool dropped = wiring.DropNotes(options.file);
  const auto document = [&] {
    return Value::Map{{"lineage", state.lineage}, {"serial", state.serial}, {"removed", dropped}};
  };
  reporter.Document(document, [&](Streams& streams) {
    streams.out << fmt::format("Pushed to {}: serial {}, {}.\n", access.edit().store().Where(),
                               state.serial, Plural(Pods(state).size(), "pod"));
    if (!NamesNotes(options.file)) return;
    streams.out << fmt::format("{} {}, since it is stored now.\n", VisibleControls(options.file),
                               dropped ? "was removed" : "may be deleted");
  });
  return 0;
}

const Command commands::kStatePull("state pull", "print the whole state", {},
                                   WithWorld<RunStatePull>);

constexpr Flag kPushFlags[] = {
    Required(OneValue<&StatePushOptions::file>("FILE", "",
                                               "a file as `state pull` prints it, or - for stdin")),
    Switch<&StatePushOptions::force>("--force", "also over a newer, unrelated or damaged state"),
};

const Command commands::kStatePush("state push", "replace the state by a file's", kPushFlags,
                                   WithWorld<RunStatePush>);

}  // namespace podctl

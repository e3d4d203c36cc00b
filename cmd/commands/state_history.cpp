#include "cmd/commands/state_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "cmd/command.h"
#include "cmd/commands/commands.h"
#include "cmd/commands/state_access.h"
#include "cmd/context.h"
#include "cmd/reporter.h"
#include "cmd/views/state_view.h"
#include "cmd/wiring.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/text.h"
#include "state/state_json.h"

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
    Value value = Value::EmptyMap();
    value.Set("restored", serial);
    value.Set("serial", restored.serial);
    value.Set("pods", static_cast<std::uint64_t>(Pods(restored).size()));
    value.Set("forgotten", Value::List(forgotten.begin(), forgotten.end()));
    return value;
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
                    [&](Streams& streams) { streams.out << HistoryTable(present, *history); });
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
  access.state().serial =
      access.edit().exists() ? 0 : NewestSerial(*history) + 1;  // 0: the next one
  if (!access.Save(true)) return access.exit_code();
  ShowRestored(reporter, options.serial, access.state(), Forgotten(before, access.state()));
  return 0;
}

const CommandOf<NoOptions> kHistoryCommand("state history",
                                           "list the generations of the state that are kept", {},
                                           WithWorld<RunStateHistory>);

const Command& commands::kStateHistory = kHistoryCommand;

namespace {

std::string ReadSerial(const Flag&, const std::string& text, std::uint64_t* serial) {
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, *serial);
  if (error == std::errc() && end == last && *serial > 0) return {};
  return fmt::format("`{}` is no serial; `podctl state history` lists them", text);
}

using OfRestore = FlagsOf<StateRestoreOptions>;

constexpr Flag kRestoreFlags[] = {
    Naming(Flag::Names::kSerial,
           Required(OfRestore::Value<&StateRestoreOptions::serial, &ReadSerial>(
               "SERIAL", "", "as `podctl state history` lists it"))),
};

const CommandOf<StateRestoreOptions> kRestoreCommand("state restore",
                                                     "make a kept generation the newest one",
                                                     kRestoreFlags, WithWorld<RunStateRestore>);

}  // namespace

const Command& commands::kStateRestore = kRestoreCommand;

}  // namespace podctl

#include "cmd/commands/state_transfer.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "cmd/command.h"
#include "cmd/commands/commands.h"
#include "cmd/commands/state_access.h"
#include "cmd/context.h"
#include "cmd/reporter.h"
#include "cmd/wiring.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/text.h"
#include "state/state_json.h"
#include "state/store.h"

namespace podctl {
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
  const auto document = [] {
    Value none = Value::EmptyMap();
    none.Set("state", Value());
    return none;
  };
  reporter.Document(document, [](Streams&) {});
  return 0;
}

int RunStatePush(Wiring& wiring, const StatePushOptions& options) {
  // Read before the lock is taken: stdin may take its time.
  Reporter& reporter = wiring.reporter();
  const bool is_input = options.file == "-";
  auto text =
      is_input ? ReadInput(wiring.interrupt()) : wiring.files().Read(options.file, kMaxStateBytes);
  if (!text) return reporter.ShowFailure(text.error());
  auto pushed = StateFromJson(*text, is_input ? "stdin" : options.file, wiring.kinds().remembered);
  if (!pushed) return reporter.ShowFailure(pushed.error());
  StateAccess access(wiring.OpenStore(), wiring.random(), reporter, wiring.interrupt().drain());
  if (!access.Lock(wiring.lock_request("state push"))) return access.exit_code();
  if (!(options.force ? access.LoadOrSetAside() : access.Load())) return access.exit_code();
  const Snapshot stored{
      access.edit().exists() ? std::optional<State>(access.state()) : std::nullopt,
      access.edit().generation()};
  if (auto allowed = CheckPush(stored, *pushed, options.force); !allowed) {
    return access.Fail(allowed.error());
  }
  access.state() = std::move(*pushed);
  if (!access.Save(true)) return access.exit_code();
  const State& state = access.state();
  const auto document = [&] {
    Value value = Value::EmptyMap();
    value.Set("lineage", state.lineage);
    value.Set("serial", state.serial);
    return value;
  };
  reporter.Document(document, [&](Streams& streams) {
    streams.out << fmt::format("Pushed to {}: serial {}, {}.\n", access.edit().store().Where(),
                               state.serial, Plural(Pods(state).size(), "pod"));
  });
  return 0;
}

const CommandOf<NoOptions> kPullCommand("state pull", "print the whole state", {},
                                        WithWorld<RunStatePull>);

const Command& commands::kStatePull = kPullCommand;

using OfPush = FlagsOf<StatePushOptions>;

constexpr Flag kPushFlags[] = {
    Required(OfPush::Value<&StatePushOptions::file>(
        "FILE", "", "a file as `state pull` prints it, or - for stdin")),
    OfPush::Switch<&StatePushOptions::force>("--force",
                                             "also over a newer, unrelated or damaged state"),
};

const CommandOf<StatePushOptions> kPushCommand("state push", "replace the state by a file's",
                                               kPushFlags, WithWorld<RunStatePush>);

const Command& commands::kStatePush = kPushCommand;

}  // namespace podctl

#include "cmd/commands/logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cmd/command.h"
#include "cmd/commands/commands.h"
#include "cmd/commands/failure.h"
#include "cmd/commands/plan_run.h"
#include "cmd/commands/pod_target.h"
#include "cmd/context.h"
#include "cmd/views/paint.h"
#include "plans/fleet/kept_file.h"
#include "plans/fleet/log_follower.h"
#include "plans/fleet/worker_round.h"
#include "providers/base/exit_code.h"
#include "providers/base/foreign_text.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/worker_names.h"

namespace podctl {
namespace {

// A laptop that slept, a network that comes back: nobody wants to type it again.
constexpr std::chrono::minutes kPatience{30};

Value Event(const std::string& type, const std::string& pod, int worker) {
  Value event = Value::EmptyMap();
  event.Set("format_version", "1.0");
  event.Set("type", type);
  event.Set("pod", pod);
  event.Set("worker", worker);
  return event;
}

std::string_view KindName(LogEnd::Kind kind) {
  switch (kind) {
    case LogEnd::Kind::kOpen:
      return "running";
    case LogEnd::Kind::kEnded:
      return "ended";
    case LogEnd::Kind::kDied:
      return "died";
    case LogEnd::Kind::kNoSuchJob:
      return "no such job";
    case LogEnd::Kind::kFailed:
      return "failed";
    case LogEnd::Kind::kStopped:
      break;
  }
  return "stopped";
}

std::string Words(const LogEnd& end, const std::string& job) {
  switch (end.kind) {
    case LogEnd::Kind::kEnded:
      return ExitCodeText(end.exit_code);
    case LogEnd::Kind::kDied:
      return "the job died without an exit code: was the worker restarted?";
    case LogEnd::Kind::kNoSuchJob:
      return fmt::format("there is no job {}", job);
    case LogEnd::Kind::kFailed:
      return end.message;
    case LogEnd::Kind::kOpen:
    case LogEnd::Kind::kStopped:
      break;
  }
  return "";
}

// How often it is written down how far the logs were shown: after a kill no more than that comes
// again.
constexpr std::chrono::seconds kKeepPace{2};

std::string PlacesText(const LogPlaces& places) {
  Value document = Value::EmptyMap();
  document.Set("format_version", "1.0");
  Value list = Value::EmptyList();
  for (const auto& [worker, place] : places) {
    Value entry = Value::EmptyMap();
    entry.Set("worker", worker);
    entry.Set("run", place.run);
    entry.Set("seen", place.seen);
    list.MutableList().push_back(std::move(entry));
  }
  document.Set("workers", std::move(list));
  return ToJson(document) + "\n";
}

// What cannot be read is a log that was never shown.
LogPlaces ReadPlaces(const KeptFile& file) {
  LogPlaces places;
  const auto text = file.Load();
  const auto document = text ? ParseJson(*text) : Result<Value>(text.error());
  if (!document || !(*document)["format_version"].AsString().starts_with("1.")) return places;
  for (const Value& entry : (*document)["workers"].AsList()) {
    const std::int64_t seen = entry["seen"].AsInt(-1);
    if (seen < 0 || entry["run"].AsString().empty()) continue;
    places[static_cast<int>(entry["worker"].AsInt(-1))] = {entry["run"].AsString(),
                                                           static_cast<std::uint64_t>(seen)};
  }
  return places;
}

// Writes down now and then, and at its end, how far the logs were shown. Of workers that were not
// asked this time it stays as it was.
class PlaceKeeper {
 public:
  PlaceKeeper(KeptFile& file, LogFollower& follower, Clock& clock)
      : file_(file), follower_(follower), places_(ReadPlaces(file)) {
    thread_ = std::jthread([this, &clock](const std::stop_token& end) {
      while (clock.SleepFor(kKeepPace, end)) Keep();
      Keep();
    });
  }
  const LogPlaces& before() const { return before_; }

 private:
  void Keep() {
    for (auto& [worker, place] : follower_.Places()) {
      LogPlace& known = places_[worker];
      if (known.run != place.run || known.seen < place.seen) known = place;
    }
    std::string text = PlacesText(places_);
    if (text == kept_) return;
    file_.Save(text);
    kept_ = std::move(text);
  }

  KeptFile& file_;
  LogFollower& follower_;
  LogPlaces places_;
  const LogPlaces before_ = places_;
  std::string kept_ = PlacesText(places_);
  std::jthread thread_;  // the last member: it uses the others
};

class LogPrinter {
 public:
  LogPrinter(Streams& streams, bool json, const std::vector<WorkerAccess>& workers)
      : streams_(streams), json_(json), paint_(streams.color && streams.out_is_terminal) {
    for (const WorkerAccess& worker : workers) width_ = std::max(width_, worker.Name().size());
  }

  void Line(const WorkerAccess& worker, std::string_view line) {
    if (json_) {
      Value event = Event("output", worker.pod, worker.index);
      event.Set("line", line);
      streams_.out << ToJson(event) << '\n' << std::flush;
      return;
    }
    streams_.out << paint_(Ink::kCyan, fmt::format("{:<{}} |", worker.Name(), width_)) << ' '
                 << VisibleLine(line) << '\n'
                 << std::flush;
  }
  void Remark(const WorkerAccess& worker, const std::string& remark) {
    streams_.err << fmt::format("{}: {}\n", worker.Name(), VisibleControls(remark)) << std::flush;
  }

 private:
  Streams& streams_;
  const bool json_;
  const Paint paint_;
  std::size_t width_ = 0;
};

// Exit code of a log that was followed, and of one that was only read.
int ExitCodeOf(const std::vector<LogEnd>& ends) {
  std::set<int> codes;
  for (const LogEnd& end : ends) {
    if (end.kind == LogEnd::Kind::kEnded) {
      codes.insert(end.exit_code);
    } else {
      codes.insert(end.kind == LogEnd::Kind::kOpen ? 0 : -1);
    }
  }
  return codes.size() == 1 && *codes.begin() >= 0 ? *codes.begin() : 1;
}

// What is not a plain success, by cause.
void ShowEnds(Wiring& wiring, const std::vector<WorkerAccess>& workers,
              const std::vector<LogEnd>& ends, const LogsOptions& options) {
  if (wiring.options().json) {
    for (std::size_t i = 0; i < ends.size(); ++i) {
      Value event = Event("result", workers[i].pod, workers[i].index);
      event.Set("state", KindName(ends[i].kind));
      if (ends[i].kind == LogEnd::Kind::kEnded) event.Set("exit_code", ends[i].exit_code);
      if (!ends[i].message.empty()) event.Set("message", ends[i].message);
      wiring.streams().out << ToJson(event) << '\n';
    }
    return;
  }
  WorkerGroups causes;
  std::size_t count = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const LogEnd& end = ends[i];
    if (end.kind == LogEnd::Kind::kOpen || end.kind == LogEnd::Kind::kStopped ||
        (end.kind == LogEnd::Kind::kEnded && end.exit_code == 0)) {
      continue;
    }
    causes.Add(Words(end, options.job), workers[i].index);
    ++count;
  }
  if (count == 0) return;
  wiring.streams().err << fmt::format("{} of {} failed:\n", count,
                                      Plural(workers.size(), "worker"));
  for (const auto& group : causes.groups()) {
    wiring.streams().err << fmt::format("  {}: {} ({})\n", group.what,
                                        FormatWorkers(group.workers, workers.front().per_slice),
                                        Plural(group.workers.size(), "worker"));
  }
}

}  // namespace

int RunLogs(Wiring& wiring, const LogsOptions& options) {
  const auto fail = [&](const Error& error) { return ShowFailure(wiring, error); };
  if (!workers::IsJobName(options.job)) {
    return fail(MakeError(ErrorCode::kInvalidArgument,
                          fmt::format("`{}` is no name of a job", options.job),
                          fmt::format("`podctl jobs {}` lists them.", options.pod)));
  }
  auto target = FindPod(wiring, options.pod);
  if (!target) return fail(target.error());
  auto chosen = SelectWorkers(*target, options.workers, "all");
  if (!chosen) return fail(chosen.error());

  workers::LogRequest request;
  request.name = options.job;
  request.follow = options.follow;
  if (options.tail > 0) request.tail = static_cast<std::uint64_t>(options.tail);
  // `podctl logs POD JOB | head -1` ends as `tail -f FILE | head -1` does.
  std::stop_source stop;
  const std::stop_callback on_drain(wiring.interrupt().drain(), [&stop] { stop.request_stop(); });
  LogPrinter printer(wiring.streams(), wiring.options().json, *chosen);
  std::map<int, HostKeyText> learned;
  LogFollower::Listener listener;
  listener.on_line = [&](const WorkerAccess& worker, std::string_view line) {
    printer.Line(worker, line);
    if (!wiring.streams().out) stop.request_stop();
  };
  listener.on_remark = [&](const WorkerAccess& worker, const std::string& remark) {
    printer.Remark(worker, remark);
  };
  listener.on_host_key = [&](int worker, const HostKeyText& key) { learned[worker] = key; };
  LogFollower follower(wiring.ssh(), wiring.clock(), std::move(request), kPatience,
                       std::move(listener));
  KeptFile file(wiring.files(), wiring.environment(), "logs", wiring.StatePath(),
                fmt::format("{}.{}", target->address, options.job));
  std::vector<LogEnd> ends;
  {
    const PlaceKeeper keeper(file, follower, wiring.clock());
    ends = follower.Run(*chosen, options.resume ? keeper.before() : LogPlaces(), stop.get_token());
  }
  RememberHostKeys(wiring, target->address, learned);
  if (wiring.interrupt().requested()) return kInterruptedExitCode;
  if (!wiring.streams().out) return 1;  // main() says why, where anybody can be told
  ShowEnds(wiring, *chosen, ends, options);
  return ExitCodeOf(ends);
}

constexpr int kMostLines = 1'000'000;

using Of = FlagsOf<LogsOptions>;

constexpr Flag kFlags[] = {
    Of::Pod<&LogsOptions::pod>(),
    Of::Workers<&LogsOptions::workers>(),
    Required(Of::Value<&LogsOptions::job>("JOB", "", "name of the job")),
    Of::Switch<&LogsOptions::follow>("--follow", "until the job has ended, with its exit code"),
    Of::Switch<&LogsOptions::resume>("--resume", "only what was not shown here before"),
    Within(1, kMostLines, Of::Value<&LogsOptions::tail>("--tail", "N", "only so many last lines")),
};

const CommandOf<LogsOptions> kCommand("logs", "show what a job has written", kFlags,
                                      WithWorld<RunLogs>);

const Command& commands::kLogs = kCommand;

}  // namespace podctl

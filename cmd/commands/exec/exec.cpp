#include "cmd/commands/exec/exec.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "cmd/commands/plan_run.h"
#include "cmd/commands/pod_target.h"
#include "cmd/views/paint.h"
#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

using ssh::Job;
using ssh::Outcome;
using ssh::WorkerResult;

// For a worker that is READY but does not answer yet; somebody is watching, so not for minutes.
constexpr std::chrono::seconds kPatience{20};
constexpr int kSshFailure = 255;  // what ssh itself exits with when it cannot reach a host

// Prefixes each line with its worker; on a terminal control characters are made visible.
class LinePrinter final : public ssh::Observer {
 public:
  LinePrinter(Streams& streams, const std::vector<Job>& jobs)
      : streams_(streams), out_(streams.color && streams.out_is_terminal) {
    for (const Job& job : jobs) {
      names_.push_back(job.worker.Name());
      width_ = std::max(width_, names_.back().size());
    }
  }

  void OnLine(std::size_t job, ssh::Stream stream, std::string_view line) override {
    const bool to_out = stream == ssh::Stream::kOut;
    std::ostream& target = to_out ? streams_.out : streams_.err;
    const bool terminal = to_out ? streams_.out_is_terminal : streams_.err_is_terminal;
    const std::string prefix = fmt::format("{:<{}} |", names_[job], width_);
    target << (to_out ? out_(Ink::kCyan, prefix) : prefix) << ' '
           << (terminal ? VisibleControls(line) : std::string(line)) << '\n'
           << std::flush;
  }
  void OnPhase(std::size_t, ssh::Phase) override {}

 private:
  Streams& streams_;
  Paint out_;
  std::vector<std::string> names_;
  std::size_t width_ = 0;
};

class JsonPrinter final : public ssh::Observer {
 public:
  JsonPrinter(Streams& streams, const std::vector<Job>& jobs) : streams_(streams), jobs_(jobs) {}

  void OnLine(std::size_t job, ssh::Stream stream, std::string_view line) override {
    Value event = Event("output", jobs_[job]);
    event.Set("stream", stream == ssh::Stream::kOut ? "stdout" : "stderr");
    event.Set("line", line);
    Write(event);
  }
  void OnPhase(std::size_t, ssh::Phase) override {}

  void ShowResult(std::size_t job, const WorkerResult& result) {
    Value event = Event("result", jobs_[job]);
    event.Set("outcome", ssh::OutcomeName(result.outcome));
    if (result.outcome == Outcome::kExited) event.Set("exit_code", result.exit_code);
    if (!result.signal.empty()) event.Set("signal", result.signal);
    if (!result.message.empty()) event.Set("message", result.message);
    event.Set("attempts", result.attempts);
    Write(event);
  }

 private:
  static Value Event(const char* type, const Job& job) {
    Value event = Value::EmptyMap();
    event.Set("format_version", "1.0");
    event.Set("type", type);
    event.Set("pod", job.worker.pod);
    event.Set("worker", job.worker.index);
    return event;
  }
  void Write(const Value& event) { streams_.out << ToJson(event) << '\n' << std::flush; }

  Streams& streams_;
  const std::vector<Job>& jobs_;
};

// Without the worker's address and its number of tries, so that one cause of many workers reads the
// same.
std::string CauseOf(const Job& job, const WorkerResult& result) {
  if (result.outcome == Outcome::kExited) return fmt::format("exit code {}", result.exit_code);
  if (result.outcome == Outcome::kSignaled) return fmt::format("killed by {}", result.signal);
  if (result.message.empty()) return std::string(ssh::OutcomeName(result.outcome));
  std::string cause = result.message;
  if (const auto tries = cause.rfind(" (tried "); tries != std::string::npos) cause.erase(tries);
  const std::string address = fmt::format("{}:{}", job.worker.host, job.worker.port);
  const auto at = cause.find(address);
  if (at == std::string::npos) return cause;
  if (cause.compare(at + address.size(), 1, " ") == 0) return cause.erase(at, address.size() + 1);
  return cause.replace(at, address.size(), fmt::format("port {}", job.worker.port));
}

// "3 of 4 workers failed: …", grouped by cause, the workers as ranges.
void ShowFailures(Streams& streams, const std::vector<Job>& jobs,
                  const std::vector<WorkerResult>& results) {
  std::map<std::string, std::vector<int>> failed;
  std::size_t count = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].ok()) continue;
    failed[CauseOf(jobs[i], results[i])].push_back(jobs[i].worker.index);
    ++count;
  }
  if (failed.empty()) return;
  // One worker that ran its command to a non-zero end has said it all.
  if (jobs.size() == 1 && results[0].outcome == Outcome::kExited) return;
  streams.err << fmt::format("{} of {} failed:\n", count, Plural(jobs.size(), "worker"));
  for (const auto& [cause, workers] : failed) {
    streams.err << fmt::format("  {}: {} ({})\n", cause, FormatRanges(workers),
                               Plural(workers.size(), "worker"));
  }
}

// Passes lines on as long as somebody takes them: `podctl exec POD -- yes | head -1` ends as
// `ssh HOST yes | head -1` does.
class WhileHeard final : public ssh::Observer {
 public:
  WhileHeard(ssh::Observer& printer, const std::ostream& out, std::stop_source& unheard)
      : printer_(printer), out_(out), unheard_(unheard) {}

  void OnLine(std::size_t job, ssh::Stream stream, std::string_view line) override {
    printer_.OnLine(job, stream, line);
    if (!out_) unheard_.request_stop();
  }
  void OnPhase(std::size_t job, ssh::Phase phase) override { printer_.OnPhase(job, phase); }
  void OnResult(std::size_t job, const WorkerResult& result) override {
    printer_.OnResult(job, result);
  }

 private:
  ssh::Observer& printer_;
  const std::ostream& out_;
  std::stop_source& unheard_;
};

int ExitCodeOf(const std::vector<WorkerResult>& results) {
  std::set<int> codes;
  for (const WorkerResult& result : results) {
    if (result.outcome == Outcome::kCancelled) return kInterruptedExitCode;
    if (result.outcome != Outcome::kExited) {
      codes.insert(results.size() == 1 ? kSshFailure : -1);
    } else {
      codes.insert(result.exit_code);
    }
  }
  return codes.size() == 1 && *codes.begin() >= 0 ? *codes.begin() : 1;
}

}  // namespace

int RunExec(Wiring& wiring, const PodOptions& options, const ExecOptions& exec) {
  auto target = FindPod(wiring, options.pod);
  if (!target) {
    ShowError(wiring, nullptr, "", target.error());
    return 1;
  }
  auto workers = SelectWorkers(*target, options.workers, "all");
  if (!workers) {
    ShowError(wiring, nullptr, "", workers.error());
    return 1;
  }
  std::vector<Job> jobs;
  for (WorkerAccess& worker : *workers) {
    jobs.push_back({worker, RemoteCommand(options.command, target->exec_env), nullptr});
  }
  ssh::Limits limits;
  limits.command = exec.timeout;
  limits.retry = kPatience;
  LinePrinter lines(wiring.streams(), jobs);
  JsonPrinter json(wiring.streams(), jobs);
  ssh::Observer& observer = wiring.options().json ? static_cast<ssh::Observer&>(json)
                                                  : static_cast<ssh::Observer&>(lines);
  std::stop_source stop;
  const std::stop_callback on_drain(wiring.interrupt().drain(), [&stop] { stop.request_stop(); });
  WhileHeard heard(observer, wiring.streams().out, stop);
  const auto results = wiring.ssh().Run(jobs, limits, heard, stop.get_token());

  std::map<int, HostKeyText> learned;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].learned_host_key) learned[jobs[i].worker.index] = *results[i].learned_host_key;
    if (wiring.options().json) json.ShowResult(i, results[i]);
  }
  RememberHostKeys(wiring, target->address, learned);
  if (wiring.interrupt().requested()) return kInterruptedExitCode;
  if (!wiring.streams().out) return 1;  // main() says why, where anybody can be told
  if (!wiring.options().json) ShowFailures(wiring.streams(), jobs, results);
  return ExitCodeOf(results);
}

}  // namespace podctl

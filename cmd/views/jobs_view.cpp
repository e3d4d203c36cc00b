#include "cmd/views/jobs_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "cmd/interrupt.h"
#include "cmd/views/byte_count.h"
#include "cmd/views/documents.h"
#include "cmd/views/gather_view.h"
#include "cmd/views/launch_view.h"
#include "cmd/views/table.h"
#include "plans/fleet/pod_target.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"
#include "providers/os/clock.h"

namespace podctl {
namespace {

using workers::JobStatus;

struct JobRow {
  std::string name;
  std::vector<int> running;
  std::vector<int> ending;   // somebody has asked for that
  std::vector<int> waiting;  // for others, without which it does not go on
  std::vector<int> ok;
  std::map<int, std::vector<int>> failed;                          // by exit code
  std::map<std::pair<std::string, int>, std::vector<int>> killed;  // by who had it ended, and code
  std::vector<int> died;
  std::int64_t started = 0;
  std::string command;

  std::string State() const {
    if (!running.empty()) return "running";
    if (!ending.empty()) return "ending";
    if (!waiting.empty()) return "waiting";
    if (!failed.empty()) return "failed";
    // A worker that had died before somebody ended the rest did not end the job.
    if (!killed.empty()) return "killed";
    return died.empty() ? "done" : "failed";
  }
  bool IsOver() const { return running.empty() && ending.empty() && waiting.empty(); }
  std::string Workers(int per_slice) const {
    std::vector<std::string> parts;
    const auto add = [&](const std::vector<int>& numbers, const std::string& what) {
      if (numbers.empty()) return;
      parts.push_back(fmt::format("{} {}", FormatWorkers(numbers, per_slice), what));
    };
    add(running, "running");
    add(ending, "ending");
    add(waiting, "waiting");
    add(ok, "ok");
    for (const auto& [code, numbers] : failed) add(numbers, fmt::format("exit {}", code));
    for (const auto& [end, numbers] : killed) {
      add(numbers, fmt::format("ended by {} (exit {})", end.first, end.second));
    }
    add(died, "died");
    return Join(parts, "; ");
  }
};

std::vector<JobRow> Rows(const std::vector<WorkerJobs>& all) {
  std::map<std::string, JobRow> by_name;
  for (const WorkerJobs& worker : all) {
    for (const JobStatus& job : worker.jobs) {
      JobRow& row = by_name[job.name];
      row.name = job.name;
      if (row.started == 0 || job.started < row.started) row.started = job.started;
      if (row.command.empty()) row.command = job.command;
      if (IsEnding(job)) {
        row.ending.push_back(worker.worker);
      } else if (job.state == JobStatus::State::kRunning) {
        (WaitsForOthers(job) ? row.waiting : row.running).push_back(worker.worker);
      } else if (job.state == JobStatus::State::kDied) {
        row.died.push_back(worker.worker);
      } else if (const std::string who = WhoEnded(job); !who.empty()) {
        row.killed[{who, job.exit_code}].push_back(worker.worker);
      } else if (job.exit_code == 0) {
        row.ok.push_back(worker.worker);
      } else {
        row.failed[job.exit_code].push_back(worker.worker);
      }
    }
  }
  std::vector<JobRow> rows;
  for (auto& [name, row] : by_name) rows.push_back(std::move(row));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const JobRow& a, const JobRow& b) { return a.started > b.started; });
  return rows;
}

std::string_view StateWord(const JobStatus& job) {
  if (IsEnding(job)) return "ending";
  return WaitsForOthers(job) ? "waiting" : workers::JobStateName(job.state);
}

std::string Time(std::int64_t unix_time) {
  return FormatTimestamp(Clock::SystemTime(std::chrono::seconds(unix_time)));
}

std::string StartTime(const JobRow& row, const std::vector<WorkerJobs>& all,
                      const std::map<std::string, WantedJob>& wanted) {
  const auto start = wanted.find(row.name);
  const bool is_that =
      start != wanted.end() && std::any_of(all.begin(), all.end(), [&](const WorkerJobs& worker) {
        return std::any_of(worker.jobs.begin(), worker.jobs.end(), [&](const JobStatus& job) {
          return job.name == row.name && IsRunWithEnd(job.run, start->second.start);
        });
      });
  return is_that ? VisibleControls(start->second.since) : Time(row.started);
}

// Below the table: what a row of it has no room for.
Ink InkOf(const std::string& state) {
  if (state == "killed" || state == "ending" || state == "waiting") return Ink::kYellow;
  return state == "running" ? Ink::kCyan : state == "done" ? Ink::kGreen : Ink::kRed;
}

}  // namespace

std::string GangText(const std::string& job, const workers::GangNews& gang, int per_slice,
                     bool over) {
  std::string text;
  if (gang.attempt > 1) {
    text += fmt::format("{}: attempt {} of {}.\n", job, gang.attempt, gang.attempts);
  }
  const auto& first = gang.first;
  if (first) {
    const std::string of =
        gang.attempts > 1 ? fmt::format(" of attempt {}", first->attempt) : std::string();
    const std::string who =
        first->worker ? fmt::format("worker {} ", FormatWorkers({*first->worker}, per_slice)) : "";
    text += fmt::format("{}: {}{}, {} after the start{}; {} ended for it.\n", job, who,
                        first->cause, FormatDuration(first->after), of,
                        first->worker ? "the others were" : "all were");
  }
  if (gang.attached) return text;
  const std::string anew = fmt::format("`podctl run {} --detach` starts all of them anew", job);
  if (!gang.waiting.empty()) {
    text += fmt::format("{}: waiting for worker{} {}, without which it does not go on; {}.\n", job,
                        gang.waiting.size() == 1 ? "" : "s", FormatWorkers(gang.waiting, per_slice),
                        anew);
  } else if (over && first && first->reason == "connection" && first->attempt == gang.attempt) {
    text += fmt::format("{}: it does not begin again by itself; {}.\n", job, anew);
  }
  return text;
}

void AddGang(const workers::GangNews& gang, Value* document) {
  document->Set("attempt", gang.attempt);
  document->Set("attempts", gang.attempts);
  document->Set(
      "first",
      gang.first ? Value::Map{{"attempt", gang.first->attempt},
                              {"worker", gang.first->worker ? Value(*gang.first->worker) : Value()},
                              {"after_ms", std::int64_t{gang.first->after.count()}},
                              {"reason", gang.first->reason},
                              {"cause", gang.first->cause}}
                 : Value());
  document->Set("waiting_for", ListOf(gang.waiting));
}

std::string JobsTable(const std::vector<WorkerJobs>& all, bool color, int per_slice,
                      const std::map<std::string, WantedJob>& wanted) {
  const std::vector<JobRow> rows = Rows(all);
  if (rows.empty()) return "There are no jobs.\n";
  std::vector<TableRow> table = {{"JOB", "STATE  ", "WORKERS", "STARTED", "COMMAND"}};
  for (const JobRow& row : rows) {
    table.push_back({row.name, fmt::format("{:<7}", row.State()), row.Workers(per_slice),
                     StartTime(row, all, wanted), row.command});
  }
  const Paint paint(color);
  const auto state = [&](std::size_t row, std::size_t column, const std::string& cell) {
    return row > 0 && column == 1 ? paint(InkOf(rows[row - 1].State()), cell) : cell;
  };
  std::string text = BoldHead(TableText(table, state), paint);
  for (const JobRow& row : rows) {
    const bool over = row.IsOver() && row.killed.empty();
    if (const auto gang = GangOf(all, row.name)) {
      text += GangText(row.name, *gang, per_slice, over);
    }
  }
  return text;
}

std::string UnheardText(const std::vector<WorkerAnswer>& answers) {
  std::vector<int> silent;
  for (const WorkerAnswer& answer : answers) {
    if (!answer.result.ok()) silent.push_back(answer.worker.index);
  }
  if (silent.empty()) return {};
  const WorkerAccess& any = answers.front().worker;
  return fmt::format("Without {}, which did not answer.\n",
                     WorkersName(any.pod, silent, any.per_slice));
}

Value JobsDocument(const std::string& pod, const std::vector<WorkerJobs>& all) {
  std::map<std::string, Value::List> by_name;
  for (const WorkerJobs& worker : all) {
    for (const JobStatus& job : worker.jobs) {
      const bool ended = job.state == JobStatus::State::kEnded;
      by_name[job.name].push_back(Value::Map{
          {"worker", worker.worker},
          {"run", job.run},
          {"state", StateWord(job)},
          {"exit_code", ended ? Value(job.exit_code) : Value()},
          {"started_at", Time(job.started)},
          {"ended_at", ended ? Value(Time(job.ended)) : Value()},
          {"ended_by", WhoEnded(job).empty() && !IsEnding(job) ? Value() : Value(job.ended_by)},
          {"log_bytes", job.log_bytes},
          {"command", job.command}});
    }
  }
  const auto job = [&](const JobRow& row) {
    Value document =
        Value::Map{{"name", row.name}, {"state", row.State()}, {"workers", by_name[row.name]}};
    if (const auto gang = GangOf(all, row.name)) AddGang(*gang, &document);
    return document;
  };
  return Value::Map{{"format_version", "1.0"}, {"pod", pod}, {"jobs", ListOf(Rows(all), job)}};
}

std::string KilledText(const std::string& job, const std::string& pod, int per_slice,
                       const KillReport& report) {
  std::string text;
  for (const auto& group : report.became.groups()) {
    text += fmt::format("{}: {} {}\n", WorkersName(pod, group.workers, per_slice), job, group.what);
  }
  return text;
}

std::string StartedText(const std::string& job, const std::string& pod, int per_slice,
                        const StartReport& report) {
  if (report.started.empty()) return {};
  return fmt::format("Job {} started on {}.\n", job, WorkersName(pod, report.started, per_slice));
}

Value StartedDocument(const std::string& job, const std::string& pod, const StartReport& report) {
  return Value::Map{{"format_version", "1.0"},
                    {"pod", pod},
                    {"job", job},
                    {"started", ListOf(report.started)},
                    {"running_already", ListOf(report.already)}};
}

namespace {

std::string NameOf(const SomeOf& some) {
  return WorkersName(some.pod, some.workers, some.per_slice);
}

struct NewsWords {
  std::string operator()(const EarlierRunEnded& news) const {
    return fmt::format(
        "{}: ended {} of an earlier run of {}.", NameOf(news.where),
        news.processes == 1 ? "a process" : fmt::format("{} processes", news.processes), news.job);
  }
  std::string operator()(const ConflictingJobEnded& news) const {
    return fmt::format("{}: ended the job {}.", NameOf(news.where), news.job);
  }
  std::string operator()(const HolderEnding& news) const {
    return fmt::format("{}: ending {}: {}", news.worker.Name(),
                       workers::DescribeHolder(news.holder), news.holder.command);
  }
  std::string operator()(const FilesCopied& news) const {
    return fmt::format("Copied {} to {} on {}: {}, {}.", news.source, news.destination,
                       Plural(news.workers, "worker"), Plural(news.files, "file"),
                       ByteCount(news.bytes));
  }
};

void Show(Streams& streams, const std::string& text, Value event) {
  if (streams.json) {
    event.Set("message", text);
    streams.out << ToJson(event) << '\n' << std::flush;
  } else {
    streams.err << text << '\n' << std::flush;
  }
}

}  // namespace

std::string PrepareEventText(const PrepareEvent& news) {
  return std::visit(NewsWords{}, news);
}

void ShowRemark(Streams& streams, const std::string& text) {
  Show(streams, text, Value::Map{{"format_version", "1.0"}, {"type", "remark"}});
}

Value JobView::Event(const std::string& type) const {
  return Value::Map{{"format_version", "1.0"},
                    {"type", type},
                    {"job", job_.name},
                    {"pod", job_.pod},
                    {"time", FormatTimestamp(clock_.Now())}};
}

void JobView::Tell(const std::string& text, Value event) {
  Show(streams_, streams_.json ? text : display_.Stamped(text), std::move(event));
}

void JobView::TellEnd(const AttemptResult& result, const std::optional<JobVerdict>& verdict) {
  if (!streams_.json) return;
  if (result.started && result.first && !is_failure_reported_) {
    Value event = Event("failed");
    event.Set("worker", result.outcome.jobs[*result.first].worker.index);
    event.Set("cause", CauseOfFirst(result));
    event.Set("after_ms", static_cast<std::int64_t>(result.first_after.count()));
    streams_.out << ToJson(event) << '\n' << std::flush;
  }
  if (!verdict || verdict->node.empty()) return;
  Value event = Event("node");
  event.Set("state", verdict->node);
  event.Set("reason", RestartReasonName(verdict->reason));
  Tell(fmt::format("By now {}.", verdict->because), std::move(event));
}

void JobView::OnStarted(std::size_t workers) {
  is_failure_reported_ = false;
  std::string text = fmt::format("Started on {}", Plural(workers, "worker"));
  if (shown_.only) {
    const std::vector<int> only(shown_.only->begin(), shown_.only->end());
    text += fmt::format("; watched: {}", FormatRanges(only));
  }
  display_.Tell(text + ".", Event("started"));
}

void JobView::OnFailure(const AttemptFailure& failure) {
  is_failure_reported_ = true;
  Value event = Event("failed");
  event.Set("worker", failure.worker.index);
  event.Set("cause", failure.cause);
  event.Set("after_ms", static_cast<std::int64_t>(failure.after.count()));
  display_.Tell(FailureText(failure.worker.Name(), failure.cause, failure.aftermath), event);
}

void JobView::OnPrepareEvent(const PrepareEvent& news) {
  Tell(PrepareEventText(news), Event("remark"));
}

void JobView::OnRestart(const AttemptResult& ended, int restart, const JobVerdict& why) {
  bool interrupted = ended.outcome.interrupted;
  ShowGroups(&interrupted);
  TellEnd(ended, why);
  std::string text = why.node.empty() ? std::string()
                                      : NodeRestartText(ended, restart, job_.restart.attempts, why);
  if (text.empty()) {
    if (!streams_.json) streams_.err << display_.Stamped(SummaryOf(ended));
    text = fmt::format("Restart {} of {}, on {}: {}.", restart, job_.restart.attempts,
                       RestartReasonName(why.reason), why.because);
  }
  Value event = Event("restart");
  event.Set("restart", restart);
  event.Set("of", job_.restart.attempts);
  event.Set("reason", RestartReasonName(why.reason));
  Tell(text, std::move(event));
}

std::string JobView::SummaryOf(const AttemptResult& result) const {
  std::string text = RunSummary(result);
  if (!result.first) return text;
  const std::vector<std::string> words = display_.LastUnseen(*result.first);
  if (words.empty()) return text;
  const std::string name = result.outcome.jobs[*result.first].worker.Name();
  text += "The last of its standard error, which was not watched:\n";
  for (const std::string& line : words) text += fmt::format("{} | {}\n", name, line);
  if (outputs_ == nullptr || outputs_->folder().empty()) {
    text += "All of it is kept with `--output-dir DIR`, and seen without `--worker`.\n";
  }
  return text;
}

void JobView::OnWaiting(bool absent) {
  const Address pod = PodAddress(job_.pod);
  Tell(absent ? fmt::format("Waiting until {} is there again{} {}", pod, watched_ ? "." : ";",
                            AdviceForLost(pod, watched_, "makes it anew"))
              : fmt::format("Waiting until the workers of pod.{} answer.", job_.pod),
       Event("waiting"));
}

// Of a start that has ended.
void JobView::ShowGroups(bool* interrupted) {
  const KeptOutputs* kept = outputs_ == nullptr ? nullptr : outputs_->kept();
  if (kept == nullptr || kept->gatherer() == nullptr || kept->gatherer()->trouble()) return;
  ShowOutputs(*kept->gatherer(), diff_, shown_.stops, clock_, streams_, interrupted);
}

int JobView::ShowEnd(const RunReport& report) {
  if (report.end == RunReport::End::kUnheard) return 1;
  if (report.end == RunReport::End::kInterrupted) {
    Tell(report.begun ? "Interrupted: it was not started again."
                      : "Interrupted: nothing was started.",
         Event("interrupted"));
    return kInterruptedExitCode;
  }
  const AttemptResult& result = report.result;
  int code = RunExitCode(result);
  bool interrupted = result.outcome.interrupted;
  ShowGroups(&interrupted);
  if (interrupted) code = kInterruptedExitCode;
  TellEnd(result, report.verdict);
  if (streams_.json) {
    Value event = Event("summary");
    const Value summary = RunSummaryEvent(result, code, report.restarts);
    for (const auto& [key, value] : summary.AsMap()) event.Set(key, value);
    streams_.out << ToJson(event) << '\n' << std::flush;
    return code;
  }
  // main() says why, where anybody can be told.
  if (!streams_.out && !interrupted) return 1;
  std::string text = SummaryOf(result);
  if (code == 0) {
    text +=
        fmt::format("Job {} ended well on {}, after {}.\n", job_.name,
                    Plural(result.outcome.jobs.size(), "worker"), FormatDuration(result.elapsed));
  } else if (report.verdict) {
    if (!report.verdict->node.empty() && !result.reported) {
      text += fmt::format("By now {}.\n", report.verdict->because);
    }
    if (report.restarts > 0 && report.restarts >= job_.restart.attempts) {
      text += fmt::format("It was started again {} before; that was the last time.\n",
                          report.restarts == 1 ? "once" : fmt::format("{} times", report.restarts));
    }
  }
  streams_.err << display_.Stamped(text);
  return code;
}

}  // namespace podctl

#include "cmd/views/jobs_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "cmd/views/paint.h"
#include "providers/base/text.h"
#include "providers/base/worker_names.h"
#include "providers/os/clock.h"

namespace podctl {
namespace {

using workers::JobStatus;

struct Row {
  std::string name;
  std::vector<int> running;
  std::vector<int> ok;
  std::map<int, std::vector<int>> failed;  // by exit code
  std::vector<int> died;
  std::int64_t started = 0;
  std::string command;

  std::string State() const {
    if (!running.empty()) return "running";
    return failed.empty() && died.empty() ? "done" : "failed";
  }
  std::string Workers(int per_slice) const {
    std::vector<std::string> parts;
    const auto add = [&](const std::vector<int>& numbers, const std::string& what) {
      if (numbers.empty()) return;
      parts.push_back(fmt::format("{} {}", FormatWorkers(numbers, per_slice), what));
    };
    add(running, "running");
    add(ok, "ok");
    for (const auto& [code, numbers] : failed) add(numbers, fmt::format("exit {}", code));
    add(died, "died");
    return Join(parts, "; ");
  }
};

std::vector<Row> Rows(const std::vector<WorkerJobs>& all) {
  std::map<std::string, Row> by_name;
  for (const WorkerJobs& worker : all) {
    for (const JobStatus& job : worker.jobs) {
      Row& row = by_name[job.name];
      row.name = job.name;
      if (row.started == 0 || job.started < row.started) row.started = job.started;
      // A job of `run` becomes its command; who reads the table has not written that word.
      constexpr std::string_view kBecomes = "exec ";
      const bool becomes = job.command.starts_with(kBecomes);
      if (row.command.empty()) row.command = job.command.substr(becomes ? kBecomes.size() : 0);
      if (job.state == JobStatus::State::kRunning) {
        row.running.push_back(worker.worker);
      } else if (job.state == JobStatus::State::kDied) {
        row.died.push_back(worker.worker);
      } else if (job.exit_code == 0) {
        row.ok.push_back(worker.worker);
      } else {
        row.failed[job.exit_code].push_back(worker.worker);
      }
    }
  }
  std::vector<Row> rows;
  for (auto& [name, row] : by_name) rows.push_back(std::move(row));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.started > b.started; });
  return rows;
}

std::string Time(std::int64_t seconds) {
  return FormatTimestamp(Clock::SystemTime(std::chrono::seconds(seconds)));
}

Ink InkOf(const std::string& state) {
  return state == "running" ? Ink::kCyan : state == "done" ? Ink::kGreen : Ink::kRed;
}

}  // namespace

std::string JobsTable(const std::vector<WorkerJobs>& all, bool color, int per_slice) {
  const std::vector<Row> rows = Rows(all);
  if (rows.empty()) return "There are no jobs.\n";
  const Paint paint(color);
  std::size_t names = 3;
  std::size_t workers = 7;
  for (const Row& row : rows) {
    names = std::max(names, row.name.size());
    workers = std::max(workers, row.Workers(per_slice).size());
  }
  std::string text =
      paint(Ink::kBold, fmt::format("{:<{}}  {:<7}  {:<{}}  {:<20}  {}", "JOB", names, "STATE",
                                    "WORKERS", workers, "STARTED", "COMMAND")) +
      "\n";
  for (const Row& row : rows) {
    text += fmt::format("{:<{}}  {}  {:<{}}  {:<20}  {}\n", row.name, names,
                        paint(InkOf(row.State()), fmt::format("{:<7}", row.State())),
                        row.Workers(per_slice), workers, Time(row.started), row.command);
  }
  return text;
}

Value JobsDocument(const std::string& pod, const std::vector<WorkerJobs>& all) {
  std::map<std::string, Value::List> by_name;
  for (const WorkerJobs& worker : all) {
    for (const JobStatus& job : worker.jobs) {
      Value entry = Value::EmptyMap();
      entry.Set("worker", worker.worker);
      entry.Set("run", job.run);
      entry.Set("state", workers::JobStateName(job.state));
      const bool ended = job.state == JobStatus::State::kEnded;
      entry.Set("exit_code", ended ? Value(job.exit_code) : Value());
      entry.Set("started_at", Time(job.started));
      entry.Set("ended_at", ended ? Value(Time(job.ended)) : Value());
      entry.Set("log_bytes", job.log_bytes);
      entry.Set("command", job.command);
      by_name[job.name].push_back(std::move(entry));
    }
  }
  Value::List jobs;
  for (const Row& row : Rows(all)) {
    Value job = Value::EmptyMap();
    job.Set("name", row.name);
    job.Set("state", row.State());
    job.Set("workers", std::move(by_name[row.name]));
    jobs.push_back(std::move(job));
  }
  Value document = Value::EmptyMap();
  document.Set("format_version", "1.0");
  document.Set("pod", pod);
  document.Set("jobs", std::move(jobs));
  return document;
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
  Value document = Value::EmptyMap();
  document.Set("format_version", "1.0");
  document.Set("pod", pod);
  document.Set("job", job);
  document.Set("started", Value::List(report.started.begin(), report.started.end()));
  document.Set("running_already", Value::List(report.already.begin(), report.already.end()));
  return document;
}

}  // namespace podctl

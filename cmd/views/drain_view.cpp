#include "cmd/views/drain_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/base/text.h"

namespace podctl {
namespace {

using workers::DrainReport;
using workers::Holder;

std::string EndedWords(DrainReport::Ended::How how) {
  switch (how) {
    case DrainReport::Ended::How::kGone:
      return "had gone by itself";
    case DrainReport::Ended::How::kTerm:
      return "ended with TERM";
    case DrainReport::Ended::How::kKill:
      return "ended with KILL";
    case DrainReport::Ended::How::kRefused:
      return "could not be ended";
  }
  return "";
}

std::string DrainedLines(const Leftover& left, const DrainReport& report) {
  std::string text;
  for (const DrainReport::Ended& ended : report.ended) {
    const auto holder = std::find_if(left.victims.begin(), left.victims.end(),
                                     [&](const Holder& each) { return each.pid == ended.pid; });
    if (holder == left.victims.end()) continue;
    text += fmt::format("{}: pid {} of {} {}: {}\n", left.worker.Name(), ended.pid, holder->user,
                        EndedWords(ended.how), holder->command);
  }
  if (report.lock == DrainReport::Lock::kRemoved) {
    text += fmt::format("{}: /tmp/libtpu_lockfile removed\n", left.worker.Name());
  } else if (report.lock == DrainReport::Lock::kRefused) {
    text += fmt::format("{}: /tmp/libtpu_lockfile could not be removed\n", left.worker.Name());
  }
  return text;
}

// `report`: nullptr before it is ended.
Value WorkerDocument(const Leftover& left, const DrainReport* report) {
  Value entry = Value::EmptyMap();
  entry.Set("worker", left.worker.index);
  Value::List processes;
  for (const Holder& holder : left.victims) {
    Value process = Value::EmptyMap();
    process.Set("pid", holder.pid);
    process.Set("user", holder.user);
    process.Set("command", holder.command);
    if (report != nullptr) {
      for (const DrainReport::Ended& ended : report->ended) {
        if (ended.pid == holder.pid) process.Set("result", EndedWords(ended.how));
      }
    }
    processes.push_back(std::move(process));
  }
  entry.Set("processes", std::move(processes));
  entry.Set("lock_file", left.lock_file);
  return entry;
}

}  // namespace

// "research/3: pid 4711 of alice, /dev/accel0, for 2h5m: python3 train.py".
std::string LeftoversText(const std::vector<Leftover>& leftovers) {
  std::string text;
  for (const Leftover& left : leftovers) {
    for (const Holder& holder : left.victims) {
      text += fmt::format("{}: {}: {}\n", left.worker.Name(), workers::DescribeHolder(holder),
                          holder.command);
    }
    if (left.victims.empty() && left.lock_file) {
      text += fmt::format("{}: /tmp/libtpu_lockfile, left behind\n", left.worker.Name());
    }
  }
  return text;
}

std::string LeftoversWords(const std::vector<Leftover>& leftovers) {
  std::size_t processes = 0;
  std::size_t locks = 0;
  for (const Leftover& left : leftovers) {
    processes += left.victims.size();
    locks += left.lock_file ? 1 : 0;
  }
  std::string text;
  if (processes > 0) {
    text = fmt::format("{} to end",
                       processes == 1 ? "1 process" : fmt::format("{} processes", processes));
  }
  if (locks > 0) {
    text += fmt::format("{}{} to remove", text.empty() ? "" : ", ", Plural(locks, "lock file"));
  }
  return fmt::format("{} on {}", text, Plural(leftovers.size(), "worker"));
}

std::string DrainedText(const std::vector<Leftover>& leftovers, const DrainOutcome& outcome) {
  std::string text;
  for (std::size_t i = 0; i < leftovers.size(); ++i) {
    if (outcome.reports[i]) text += DrainedLines(leftovers[i], *outcome.reports[i]);
  }
  return text;
}

Value DrainDocument(const std::string& pod, const std::vector<Leftover>& leftovers,
                    const DrainOutcome* outcome, bool dry_run) {
  Value::List workers;
  for (std::size_t i = 0; i < leftovers.size(); ++i) {
    if (outcome == nullptr) {
      workers.push_back(WorkerDocument(leftovers[i], nullptr));
    } else if (const auto& report = outcome->reports[i]) {
      workers.push_back(WorkerDocument(leftovers[i], &*report));
    }
  }
  Value document = Value::EmptyMap();
  document.Set("format_version", "1.0");
  document.Set("pod", pod);
  document.Set("dry_run", dry_run);
  document.Set("workers", std::move(workers));
  return document;
}

}  // namespace podctl

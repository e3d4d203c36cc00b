#include "cmd/commands/drain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cmd/command.h"
#include "cmd/commands/ask.h"
#include "cmd/commands/commands.h"
#include "cmd/commands/failure.h"
#include "cmd/commands/plan_run.h"
#include "cmd/commands/pod_target.h"
#include "cmd/commands/worker_round.h"
#include "cmd/context.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/workers/drain.h"
#include "providers/workers/probe.h"

namespace podctl {
namespace {

using workers::DrainReport;
using workers::Holder;

// One worker that has something to drain.
struct Leftover {
  WorkerAccess worker;
  std::vector<Holder> victims;
  bool lock_file = false;
  bool saw_all = true;
};

bool IsVictim(const Holder& holder, bool with_jobs) {
  switch (holder.owner) {
    case Holder::Owner::kRuntime:
      return false;
    case Holder::Owner::kJob:
      return with_jobs;
    case Holder::Owner::kNobody:
    case Holder::Owner::kStartupScript:
      return true;
  }
  return false;
}

std::optional<Leftover> LeftoverOf(const WorkerAnswer& answer, const workers::ProbeReport& probe,
                                   bool with_jobs) {
  Leftover left;
  left.worker = answer.worker;
  left.saw_all = probe.saw_all;
  bool held = false;
  for (const Holder& holder : probe.holders) {
    if (IsVictim(holder, with_jobs)) {
      left.victims.push_back(holder);
    } else {
      held = true;
    }
  }
  left.lock_file = !probe.lock_owner.empty() && !held;
  if (left.victims.empty() && !left.lock_file) return std::nullopt;
  return left;
}

// "research/3: pid 4711 of alice, /dev/accel0, for 2h5m: python3 train.py".
void ShowLeftovers(Wiring& wiring, const std::vector<Leftover>& leftovers) {
  std::ostream& out = wiring.streams().out;
  for (const Leftover& left : leftovers) {
    for (const Holder& holder : left.victims) {
      out << fmt::format("{}: {}: {}\n", left.worker.Name(), workers::DescribeHolder(holder),
                         holder.command);
    }
    if (left.victims.empty() && left.lock_file) {
      out << fmt::format("{}: /tmp/libtpu_lockfile, left behind\n", left.worker.Name());
    }
  }
  out << std::flush;
}

std::string Words(const std::vector<Leftover>& leftovers) {
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

// What became of it, a line for each process; false when something is left.
bool ShowDrained(Wiring& wiring, const Leftover& left, const DrainReport& report) {
  std::ostream& out = wiring.streams().out;
  bool ok = true;
  for (const DrainReport::Ended& ended : report.ended) {
    const auto holder = std::find_if(left.victims.begin(), left.victims.end(),
                                     [&](const Holder& each) { return each.pid == ended.pid; });
    if (holder == left.victims.end()) continue;
    ok = ok && ended.how != DrainReport::Ended::How::kRefused;
    out << fmt::format("{}: pid {} of {} {}: {}\n", left.worker.Name(), ended.pid, holder->user,
                       EndedWords(ended.how), holder->command);
  }
  if (report.lock == DrainReport::Lock::kRemoved) {
    out << fmt::format("{}: /tmp/libtpu_lockfile removed\n", left.worker.Name());
  } else if (report.lock == DrainReport::Lock::kRefused) {
    out << fmt::format("{}: /tmp/libtpu_lockfile could not be removed\n", left.worker.Name());
    ok = false;
  }
  out << std::flush;
  return ok;
}

Value DrainedDocument(const Leftover& left, const DrainReport* report) {
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

void ShowDocument(Wiring& wiring, const std::string& pod, Value::List drained, bool dry_run) {
  Value document = Value::EmptyMap();
  document.Set("format_version", "1.0");
  document.Set("pod", pod);
  document.Set("dry_run", dry_run);
  document.Set("workers", std::move(drained));
  wiring.streams().out << ToJson(document, JsonStyle::kIndented) << "\n";
}

// 0: go on; otherwise the exit code.
int ApproveDrain(Wiring& wiring, const DrainOptions& options, const std::string& what) {
  if (options.auto_approve) return 0;
  return Approve(wiring, nullptr,
                 {"ending processes needs to be approved, and there is nobody to ask",
                  "Add `--auto-approve` to approve it in advance, or `--dry-run` to look.",
                  fmt::format("\n{}. Running work is lost.\n  Only 'yes' will be accepted to "
                              "confirm.\n\n  Enter a value: ",
                              what),
                  "Drain cancelled.", "Interrupted. Nothing was ended."});
}

struct Survey {
  std::vector<Leftover> leftovers;
  std::size_t silent = 0;
};

Survey TakeSurvey(Wiring& wiring, const PodTarget& target, const std::vector<WorkerAccess>& chosen,
                  bool with_jobs) {
  auto answers = AskWorkers(wiring, target.address, chosen, workers::ProbeCommand({}));
  Survey survey;
  for (WorkerAnswer& answer : answers) {
    if (answer.result.ok()) {
      if (auto probe = workers::ParseProbe(answer.lines)) {
        if (auto left = LeftoverOf(answer, *probe, with_jobs)) {
          survey.leftovers.push_back(*std::move(left));
        }
        continue;
      }
      answer.result.outcome = ssh::Outcome::kLost;
      answer.result.message = "its answer to the probe cannot be read";
    }
    ++survey.silent;
  }
  if (!wiring.interrupt().requested()) ShowSilent(wiring, answers);
  return survey;
}

// Exit code.
int Drain(Wiring& wiring, const DrainOptions& options, const PodTarget& target,
          const Survey& survey) {
  const auto grace = std::chrono::ceil<std::chrono::seconds>(options.grace.value_or(kEndingGrace));
  std::vector<ssh::Job> jobs;
  for (const Leftover& left : survey.leftovers) {
    jobs.push_back(
        {left.worker, workers::DrainCommand(left.victims, grace), nullptr, nullptr, kEndsByItself});
  }
  auto answers = AskWorkers(wiring, target.address, jobs, grace + std::chrono::minutes(1));
  bool ok = survey.silent == 0;
  Value::List documents;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    auto report = workers::ParseDrain(answers[i].lines);
    if (answers[i].result.ok() && !report) {
      answers[i].result.outcome = ssh::Outcome::kLost;
      answers[i].result.message = report.error().message;
    }
    if (!answers[i].result.ok()) {
      ok = false;
    } else if (wiring.options().json) {
      documents.push_back(DrainedDocument(survey.leftovers[i], &*report));
    } else {
      ok = ShowDrained(wiring, survey.leftovers[i], *report) && ok;
    }
  }
  ShowSilent(wiring, answers);
  if (wiring.options().json) {
    ShowDocument(wiring, BarePodName(options.pod), std::move(documents), false);
  }
  return ok ? 0 : 1;
}

}  // namespace

int RunDrain(Wiring& wiring, const DrainOptions& options) {
  const auto fail = [&](const Error& error) { return ShowFailure(wiring, error); };
  auto target = FindPod(wiring, options.pod);
  if (!target) return fail(target.error());
  auto chosen = SelectWorkers(*target, options.workers, "all");
  if (!chosen) return fail(chosen.error());
  const bool json = wiring.options().json;
  const Survey survey = TakeSurvey(wiring, *target, *chosen, options.with_jobs);
  if (wiring.interrupt().requested()) return kInterruptedExitCode;
  const bool nothing = survey.leftovers.empty();
  if (!json) ShowLeftovers(wiring, survey.leftovers);
  if (nothing || options.dry_run) {
    if (json) {
      Value::List documents;
      for (const Leftover& left : survey.leftovers) {
        documents.push_back(DrainedDocument(left, nullptr));
      }
      ShowDocument(wiring, BarePodName(options.pod), std::move(documents), options.dry_run);
    } else {
      wiring.streams().out << (nothing ? "Nothing to drain." : Words(survey.leftovers) + ".")
                           << "\n";
    }
    return survey.silent == 0 ? 0 : 1;
  }
  if (const int code = ApproveDrain(wiring, options, Words(survey.leftovers)); code != 0)
    return code;
  return Drain(wiring, options, *target, survey);
}

using Of = FlagsOf<DrainOptions>;

constexpr Flag kFlags[] = {
    Of::Pod<&DrainOptions::pod>(),
    Of::Workers<&DrainOptions::workers>(),
    Of::Value<&DrainOptions::grace>("--grace", "DURATION", "from TERM to KILL (default 30s)"),
    Of::Switch<&DrainOptions::with_jobs>("--jobs", "also jobs of podctl"),
    Of::Switch<&DrainOptions::dry_run>("--dry-run", "only show what would be ended"),
    Of::Switch<&DrainOptions::auto_approve>("--auto-approve", "do not ask"),
};

const CommandOf<DrainOptions> kCommand("drain", "end leftover processes that hold the TPU", kFlags,
                                       WithWorld<RunDrain>);

const Command& commands::kDrain = kCommand;

}  // namespace podctl

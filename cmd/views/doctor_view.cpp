#include "cmd/views/doctor_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cmd/views/documents.h"
#include "cmd/views/jobs_view.h"
#include "cmd/views/paint.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"

namespace podctl {
namespace {

constexpr std::size_t kMostDetails = 8;
constexpr std::string_view kPodMark = "{pod}";
constexpr std::string_view kWorkersMark = "{workers}";

struct Trouble {
  const workers::Finding* finding = nullptr;
  std::vector<int> workers;
  std::vector<std::string> details;  // one for each worker that has one
};

// What is to be done, ready to be pasted into a shell. What is put in is not looked at again: a
// worker may have a disk called "{workers}".
std::string WhatToDo(const workers::Finding& finding, const std::string& pod,
                     const std::string& numbers) {
  std::string text;
  std::string_view rest = finding.to_do;
  while (!rest.empty()) {
    if (rest.starts_with(kPodMark)) {
      text += pod;
      rest.remove_prefix(kPodMark.size());
    } else if (rest.starts_with(kWorkersMark)) {
      text += numbers;
      rest.remove_prefix(kWorkersMark.size());
    } else {
      text += rest.front();
      rest.remove_prefix(1);
    }
  }
  return finding.argument.empty() ? text : text + " " + ShellQuote(finding.argument);
}

// Those of most workers first.
std::vector<Trouble> Troubles(const DoctorReport& report) {
  std::map<std::string, Trouble> by_summary;
  for (const DoctorReport::Worker& worker : report.workers) {
    for (const workers::Finding& finding : worker.findings) {
      Trouble& trouble = by_summary[finding.summary];
      trouble.finding = &finding;
      if (trouble.workers.empty() || trouble.workers.back() != worker.index) {
        trouble.workers.push_back(worker.index);
      }
      if (!finding.detail.empty()) {
        trouble.details.push_back(
            fmt::format("{}: {}", FormatWorkers({worker.index}, report.per_slice), finding.detail));
      }
    }
  }
  std::vector<Trouble> troubles;
  for (auto& [summary, trouble] : by_summary) troubles.push_back(std::move(trouble));
  std::stable_sort(troubles.begin(), troubles.end(), [](const Trouble& a, const Trouble& b) {
    return std::pair(b.workers.size(), a.workers.front()) <
           std::pair(a.workers.size(), b.workers.front());
  });
  return troubles;
}

void AppendTrouble(const DoctorReport& report, const Trouble& trouble, const Paint& paint,
                   std::string* text) {
  const int per_slice = report.per_slice;
  const std::size_t count = trouble.workers.size();
  const std::string number = count == 1 ? "" : fmt::format(" ({} workers)", count);
  *text += fmt::format("\n  {}{}: {}\n",
                       paint(Ink::kBold, WorkersName(report.pod, trouble.workers, per_slice)),
                       number, paint(Ink::kRed, trouble.finding->summary));
  std::size_t shown = 0;
  for (const std::string& detail : trouble.details) {
    if (++shown > kMostDetails) {
      *text += fmt::format("      … and {} more\n", trouble.details.size() - kMostDetails);
      break;
    }
    // Of one worker its number says nothing.
    *text += fmt::format("      {}\n", count == 1 ? detail.substr(detail.find(' ') + 1) : detail);
  }
  if (trouble.finding->to_do.empty()) return;
  *text +=
      fmt::format("      → {}\n", WhatToDo(*trouble.finding, report.pod,
                                           ShellQuote(FormatWorkers(trouble.workers, per_slice))));
}

Value FindingDocument(const workers::Finding& finding, const std::string& pod,
                      const std::string& numbers) {
  return Value::Map{{"code", finding.code},
                    {"summary", finding.summary},
                    {"detail", finding.detail},
                    {"to_do", WhatToDo(finding, pod, numbers)}};
}

Value ProbeDocument(const workers::ProbeReport& probe) {
  const auto holder = [](const workers::Holder& each) {
    return Value::Map{{"pid", each.pid},
                      {"user", each.user},
                      {"seconds", static_cast<std::int64_t>(each.age.count())},
                      {"command", each.command},
                      {"job", OrNull(each.job)},
                      {"files", ListOf(each.files)}};
  };
  const bool unit = probe.runtime == workers::ProbeReport::Runtime::kUnit;
  return Value::Map{{"tpu_runtime", unit ? Value(probe.runtime_state) : Value()},
                    {"tpu_devices", probe.devices},
                    {"user", probe.user},
                    {"tpu_holders", ListOf(probe.holders, holder)}};
}

Value PodProbeDocument(const workers::PodProbeAnswer& answer) {
  const auto versions = [](const std::map<std::string, std::string>& of) {
    Value all = Value::EmptyMap();
    for (const auto& [name, version] : of) all.Set(name, version);
    return all;
  };
  const auto egress = [](const workers::PodProbeAnswer::Egress& each) {
    const bool tried = !each.proxied;
    return Value::Map{{"target", workers::TargetName(each.target)},
                      {"reached", tried ? Value(each.why.empty()) : Value()},
                      {"why", OrNull(each.why)}};
  };
  return Value::Map{{"kernel", answer.kernel},
                    {"drivers", versions(answer.drivers)},
                    {"python", OrNull(answer.python)},
                    {"packages", versions(answer.packages)},
                    {"accel", answer.accel},
                    {"vfio", answer.vfio ? Value(*answer.vfio) : Value()},
                    {"egress", ListOf(answer.egress, egress)}};
}

// Whom a worker called: the numbers of workers, not places.
Value PeersDocument(const ProbeReportOfPod& probe, const workers::PodProbeAnswer& answer) {
  return ListOf(answer.peers, [&](const workers::PodProbeAnswer::Peer& peer) {
    const bool reached = peer.why.empty();
    return Value::Map{{"worker", probe.workers[peer.place].worker},
                      {"reached", reached},
                      {"why", OrNull(peer.why)},
                      {"round_trip_us", reached ? Value(std::int64_t{peer.way.count()}) : Value()},
                      {"kbit_per_s", peer.kbits > 0 ? Value(peer.kbits) : Value()}};
  });
}

Value ProbedDocument(const ProbeReportOfPod& probe, const workers::ProbedWorker& worker) {
  Value entry = Value::Map{{"worker", worker.worker},
                           {"answered", worker.answer.has_value()},
                           {"silence", OrNull(worker.silence)}};
  const auto failures = probe.failures.find(worker.worker);
  entry.Set("failures_in_a_row", failures == probe.failures.end() ? 0 : failures->second);
  if (worker.clock) {
    entry.Set("clock_offset_ms", std::int64_t{worker.clock->offset.count()});
    entry.Set("clock_error_ms", std::int64_t{worker.clock->error.count()});
  }
  if (!worker.answer) return entry;
  entry.Set("facts", PodProbeDocument(*worker.answer));
  entry.Set("neighbours", PeersDocument(probe, *worker.answer));
  return entry;
}

Value CollectiveDocument(const ProbeReportOfPod& probe) {
  const auto worker = [](const workers::CollectiveWorker& each) {
    using Stage = workers::CollectiveAnswer::Stage;
    const bool done = each.answer && each.answer->stage == Stage::kDone;
    Value entry = Value::Map{{"worker", each.worker}, {"done", done}};
    entry.Set("why", OrNull(each.answer ? each.answer->why : each.silence));
    if (!done) return entry;
    entry.Set("processes", each.answer->processes);
    entry.Set("devices", each.answer->devices);
    entry.Set("local_devices", each.answer->local);
    entry.Set("platform", each.answer->platform);
    entry.Set("milliseconds", std::int64_t{each.answer->after.count()});
    return entry;
  };
  return Value::Map{{"run", !probe.collective.empty()},
                    {"why_not", OrNull(probe.no_collective)},
                    {"workers", ListOf(probe.collective, worker)}};
}

Value ProbeOfPodDocument(const ProbeReportOfPod& probe) {
  const auto rate = [](const std::optional<std::int64_t>& of) { return of ? Value(*of) : Value(); };
  const auto worker = [&](const workers::ProbedWorker& each) {
    return ProbedDocument(probe, each);
  };
  return Value::Map{{"neighbours", probe.neighbours},
                    {"joined", static_cast<std::int64_t>(probe.joined)},
                    {"slowest_kbit_per_s", rate(probe.slowest)},
                    {"median_kbit_per_s", rate(probe.median)},
                    {"notes", ListOf(probe.notes)},
                    {"collective", CollectiveDocument(probe)},
                    {"workers", ListOf(probe.workers, worker)}};
}

std::string ProbeNotes(const ProbeReportOfPod& probe) {
  std::string text;
  if (probe.neighbours) {
    text += fmt::format("  probe: {} of {} joined their neighbours", probe.joined,
                        Plural(probe.workers.size(), "worker"));
    if (probe.slowest && probe.median) {
      text += fmt::format("; {} between them, {} at least", workers::RateWords(*probe.median),
                          workers::RateWords(*probe.slowest));
    }
    text += "\n";
  }
  for (const std::string& note : probe.notes) text += fmt::format("  probe: {}\n", note);
  if (!probe.no_collective.empty()) {
    text += fmt::format("  probe: no collective was run: {}\n", probe.no_collective);
  }
  return text;
}

// What is no trouble, but good to know.
std::string Notes(const DoctorReport& report) {
  std::string text;
  if (!report.unread.empty()) {
    text += fmt::format("  The API does not answer, so the node is taken as it was last seen: {}\n",
                        report.unread);
  }
  const auto name = [&](const WorkerGroups::Group& group) {
    return WorkersName(report.pod, group.workers, report.per_slice);
  };
  for (const auto& group : report.died.groups()) {
    text += fmt::format("  job {} died without an exit code on {}\n", group.what, name(group));
  }
  for (const auto& group : report.at_work.groups()) {
    text += fmt::format("  job {} uses the TPU of {}\n", group.what, name(group));
  }
  for (const auto& [job, gang] : report.gangs) {
    const std::string news = GangText(job, gang, report.per_slice, report.lost.contains(job));
    for (const std::string_view line : SplitLines(news)) {
      text += fmt::format("  job {}\n", line);
    }
  }
  if (report.probe) text += ProbeNotes(*report.probe);
  return text;
}

}  // namespace

std::string DoctorText(const DoctorReport& report, bool color) {
  const Paint paint(color);
  const std::size_t healthy = report.HealthyWorkers();
  std::string text = fmt::format("{}: node {}{}", paint(Ink::kBold, report.pod), report.state,
                                 report.health.empty() ? "" : ", " + report.health);
  if (!report.workers.empty()) {
    text +=
        healthy == report.workers.size()
            ? fmt::format("; {} healthy", healthy == 1 ? "its 1 worker is"
                                                       : fmt::format("all {} workers are", healthy))
            : fmt::format("; {} of {} healthy", healthy, Plural(report.workers.size(), "worker"));
  }
  text += "\n";
  std::vector<int> fine;
  for (const DoctorReport::Worker& worker : report.workers) {
    if (worker.findings.empty()) fine.push_back(worker.index);
  }
  if (!fine.empty()) {
    text += fmt::format("  {}: {}\n", WorkersName(report.pod, fine, report.per_slice),
                        paint(Ink::kGreen, "healthy"));
  }
  text += Notes(report);
  for (const workers::Finding& finding : report.findings) {
    text += fmt::format("\n  {}: {}\n", paint(Ink::kBold, "the node"),
                        paint(Ink::kRed, finding.summary));
    if (!finding.detail.empty()) text += fmt::format("      {}\n", finding.detail);
    text += fmt::format("      → {}\n", WhatToDo(finding, report.pod, ""));
  }
  for (const Trouble& trouble : Troubles(report)) {
    AppendTrouble(report, trouble, paint, &text);
  }
  return text;
}

Value DoctorDocument(const DoctorReport& report) {
  const auto findings = [&](const std::vector<workers::Finding>& all, const std::string& numbers) {
    return ListOf(all, [&](const workers::Finding& finding) {
      return FindingDocument(finding, report.pod, numbers);
    });
  };
  const auto worker = [&](const DoctorReport::Worker& each) {
    Value entry = Value::Map{{"worker", each.index},
                             {"address", each.host},
                             {"healthy", each.findings.empty()},
                             {"findings", findings(each.findings, std::to_string(each.index))}};
    if (each.probe) entry.Set("facts", ProbeDocument(*each.probe));
    return entry;
  };
  const auto job = [&](const auto& gang) {
    const bool lost = report.lost.contains(gang.first);
    Value entry = Value::Map{{"name", gang.first},
                             {"state", lost                          ? "failed"
                                       : gang.second.waiting.empty() ? "running"
                                                                     : "waiting"}};
    AddGang(gang.second, &entry);
    return entry;
  };
  Value document =
      Value::Map{{"format_version", "1.0"},           {"pod", report.pod},
                 {"healthy", report.Healthy()},       {"state", report.state},
                 {"health", report.health},           {"findings", findings(report.findings, "")},
                 {"jobs", ListOf(report.gangs, job)}, {"workers", ListOf(report.workers, worker)}};
  if (report.probe) document.Set("probe", ProbeOfPodDocument(*report.probe));
  return document;
}

}  // namespace podctl

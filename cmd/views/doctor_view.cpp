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
  return Value::Map{
      {"format_version", "1.0"},           {"pod", report.pod},
      {"healthy", report.Healthy()},       {"state", report.state},
      {"health", report.health},           {"findings", findings(report.findings, "")},
      {"jobs", ListOf(report.gangs, job)}, {"workers", ListOf(report.workers, worker)}};
}

}  // namespace podctl

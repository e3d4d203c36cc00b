// What a worker answers to podctl's questions: the probe of doctor, the list of jobs, the notes of
// a log; and what it says of a run. The first byte says which; the rest is standard output, or a
// line of standard error.
#include <string>
#include <vector>

#include "cmd/views/doctor_view.h"
#include "cmd/views/jobs_view.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/workers/jobs.h"
#include "providers/workers/pod_verdict.h"
#include "providers/workers/probe.h"
#include "providers/workers/runs.h"
#include "tests/fuzz/fuzz_target.h"

namespace podctl::fuzz {
namespace {

void ExpectFindings(const workers::PodFindings& found) {
  const auto expect = [](const workers::Finding& finding) {
    Expect(!finding.code.empty() && !finding.summary.empty(), "a finding says what it is");
    ExpectShowable(finding.summary);
    ExpectShowable(finding.detail);
    ExpectShowable(finding.argument);
    Expect(!finding.argument.starts_with('-'), "what is put into a command is no flag",
           finding.argument);
  };
  for (const workers::Finding& finding : found.pod) expect(finding);
  for (const auto& [worker, findings] : found.workers) {
    for (const workers::Finding& finding : findings) expect(finding);
  }
}

// One of four answers so, the others say nothing of it.
void PodProbe(const std::vector<std::string>& lines) {
  constexpr std::size_t kMembers = 4;
  workers::PodProbe probe;
  for (int i = 0; i < static_cast<int>(kMembers); ++i) probe.members.push_back({i, "", {}});
  if (const auto answer = workers::ParsePodProbe(lines, kMembers)) {
    std::vector<workers::ProbedWorker> probed(kMembers);
    for (int i = 0; i < static_cast<int>(kMembers); ++i) {
      probed[static_cast<std::size_t>(i)].worker = i;
      probed[static_cast<std::size_t>(i)].answer.emplace();
    }
    probed[0].answer = *answer;
    ExpectFindings(JudgePodProbe(probe, probed, {}));
    DoctorReport report;
    report.pod = "research";
    report.probe.emplace();
    report.probe->workers = std::move(probed);
    ExpectShowable(DoctorText(report, false), Shape::kLines);
    Expect(static_cast<bool>(ParseJson(ToJson(DoctorDocument(report)))), "JSON is JSON");
  }
  if (const auto answer = workers::ParseCollective(lines)) {
    std::vector<workers::CollectiveWorker> summed(kMembers);
    for (workers::CollectiveWorker& worker : summed) worker.answer = *answer;
    ExpectFindings(JudgeCollective(probe, summed));
  }
}

void Probe(const std::vector<std::string>& lines) {
  const auto probe = workers::ParseProbe(lines);
  if (!probe) {
    ExpectShowable(probe.error());
    return;
  }
  workers::Expectation expected;
  expected.clock = 1'700'000'000;
  expected.variables["LIBTPU_INIT_ARGS"] = std::string(64, '0');
  DoctorReport report;
  report.pod = "research";
  report.state = "READY";
  report.workers.push_back({0, "203.0.113.1", workers::Judge(*probe, expected), *probe});
  for (const workers::Finding& finding : report.workers.front().findings) {
    Expect(!finding.code.empty() && !finding.summary.empty(), "a finding says what it is");
    ExpectShowable(finding.summary);
    ExpectShowable(finding.argument);
    Expect(finding.argument.empty() || finding.argument.front() == '/',
           "what is put into a command is no flag", finding.argument);
  }
  ExpectShowable(DoctorText(report, false), Shape::kLines);
  Expect(static_cast<bool>(ParseJson(ToJson(DoctorDocument(report)))), "JSON is JSON");
}

void Jobs(const std::vector<std::string>& lines) {
  const auto jobs = workers::ParseJobs(lines);
  if (!jobs) {
    ExpectShowable(jobs.error());
    return;
  }
  for (const workers::JobStatus& job : *jobs) {
    Expect(workers::IsJobName(job.name), "a job's name can stand in a command", job.name);
  }
  ExpectShowable(JobsTable({{0, *jobs}}, false, 0), Shape::kLines);
  Expect(static_cast<bool>(ParseJson(ToJson(JobsDocument("research", {{0, *jobs}})))),
         "JSON is JSON");
}

void OwnLine(std::string_view line) {
  const std::size_t at = workers::OwnLineIn(line, "r1");
  if (at == std::string_view::npos) return;
  Expect(at < line.size(), "it stands in the line");
  if (const auto who = workers::ReadEndedBy(line.substr(at), "r1")) ExpectShowable(*who);
  if (const auto first = workers::ReadFirst(line.substr(at), "r1")) {
    ExpectShowable(first->cause);
    Expect(first->after.count() >= 0, "a time is not before the start");
  }
}

}  // namespace
}  // namespace podctl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace podctl;
  using namespace podctl::fuzz;
  if (size == 0) return 0;
  const std::string_view text = TextOf(data + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      Probe(SplitLines(text));
      PodProbe(SplitLines(text));
      break;
    case 1:
      Jobs(SplitLines(text));
      break;
    case 2: {
      std::vector<workers::Holder> holders;
      if (workers::TakeHolder(std::string(text), &holders)) {
        ExpectShowable(workers::DescribeHolder(holders.front()), Shape::kLines);
      }
      break;
    }
    default:
      if (const auto note = workers::ReadLogNote(text)) {
        Expect(text.starts_with("podctl-log "), "a note has its mark");
      }
      OwnLine(text);
  }
  return 0;
}

#include "cmd/commands/kept_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "cmd/interrupt.h"
#include "plans/jobs/launch.h"
#include "plans/kinds/pod/spec.h"
#include "plans/session/plan.h"
#include "providers/base/text.h"

namespace podctl {

std::optional<LogTime> LogTimeOf(const std::string& text, LogTime now) {
  if (const auto ago = ParseDuration(text)) return now - *ago;
  const auto time = ParseTimestamp(text);
  return time ? std::optional<LogTime>(*time) : std::nullopt;
}

// As many as the pod has, or will have; the state, which may not be at hand, is not asked.
std::optional<int> KeptLogs::WorkersIn(const Spec& spec) const {
  const PodSpec* pod = FindDeclaredPod(spec, question_.pod);
  const auto launched = pod == nullptr ? std::nullopt : LaunchPodOf(*pod, nullptr);
  return launched ? std::optional(static_cast<int>(launched->workers.size())) : std::nullopt;
}

Result<gcp::StoragePlace> KeptLogs::PlaceIn(const Spec& spec) const {
  const auto job = std::find_if(spec.jobs.begin(), spec.jobs.end(), [&](const JobSpec& each) {
    return each.name == question_.job && each.pod == question_.pod;
  });
  const bool is_there = job != spec.jobs.end();
  const auto place = is_there ? KeptLogsOf(*job) : std::nullopt;
  if (place) return *place;
  return MakeError(
      ErrorCode::kNotFound,
      is_there ? fmt::format("the job `{}` of the spec keeps no log", question_.job)
               : fmt::format("the spec has no job `{}` of {}", question_.job, question_.pod),
      "`logs: gs://BUCKET/PREFIX` in the job has it kept; `--from gs://BUCKET/PREFIX` reads what "
      "is "
      "kept already.");
}

int KeptLogs::Show(const std::string& from) const {
  Result<gcp::StoragePlace> place = gcp::ParseStoragePlace(from);
  std::optional<int> count;
  if (from.empty()) {
    Diagnostics problems;
    const Spec spec = doors_.read_spec(problems);
    place = PlaceIn(spec);
    count = WorkersIn(spec);
    if (!place && problems.has_errors()) {
      doors_.reporter.Show(WithSourceLines(doors_.files, problems));
      return 1;
    }
  }
  if (!place) return doors_.reporter.ShowFailure(place.error());
  const auto client = doors_.storage();
  return client ? Read(**client, *place, count) : doors_.reporter.ShowFailure(client.error());
}

std::optional<int> KeptLogs::ShowInstead(const Error& why) const {
  Diagnostics ignored;
  const Spec spec = doors_.read_spec(ignored);
  const auto place = PlaceIn(spec);
  if (!place) return std::nullopt;
  const auto client = doors_.storage();
  if (!client) return std::nullopt;
  doors_.streams.err << fmt::format("{} What was kept of {} in {} follows.\n",
                                    Sentence(why.message), question_.job, place->Text());
  return Read(**client, *place, WorkersIn(spec));
}

int KeptLogs::Read(gcp::StorageClient& client, const gcp::StoragePlace& place,
                   std::optional<int> count) const {
  const LogTime now = std::chrono::floor<std::chrono::milliseconds>(doors_.clock.Now());
  KeptLogRequest request;
  request.folder = KeptLogFolder(place, question_.pod, question_.job);
  if (!question_.since.empty()) request.since = LogTimeOf(question_.since, now);
  request.attempt = question_.attempt;
  request.pod = question_.named;
  request.workers = question_.workers;
  request.count = count;
  if (question_.tail > 0) request.tail = static_cast<std::uint64_t>(question_.tail);
  std::stop_source over;
  const std::stop_callback on_stop(doors_.stop, [&over] { over.request_stop(); });
  KeptLogView view(doors_.streams, question_.pod, question_.job, question_.style, over);
  BucketObjects objects(client, place.bucket);
  const auto told = ReadKeptLog(objects, request, view, over.get_token());
  doors_.streams.out << std::flush;
  if (doors_.reporter.interrupted()) return kInterruptedExitCode;
  if (!doors_.streams.out) return 1;  // main() says why, where anybody can be told
  if (!told) return doors_.reporter.ShowFailure(told.error());
  if (*told > 0) return 0;
  return doors_.reporter.ShowFailure(MakeError(
      ErrorCode::kNotFound,
      fmt::format("nothing of the job {} of {} is kept in {}", question_.job, question_.pod,
                  place.Text()),
      "What a worker writes is there some 10 s later, where the job was started with `logs`; "
      "`--since`, `--attempt` and `--worker` choose some of it."));
}

}  // namespace podctl

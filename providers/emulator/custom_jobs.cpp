// A part of service.h: custom jobs of Vertex AI are taken, looked at and ended. Nothing of
// them runs: their states follow the clock.
#include <fmt/format.h>

#include <utility>

#include "providers/emulator/service.h"

namespace podctl::emulator {
namespace {

// By number, as the service names its resources; a project may be asked for by either.
std::string JobParent(const Place& place) {
  return fmt::format("projects/{}/locations/{}", ProjectNumber(place.project), place.zone);
}

std::string JobName(const Place& place, std::string_view id) {
  return fmt::format("{}/customJobs/{}", JobParent(place), id);
}

}  // namespace

Result<void> Service::SaveJob(const std::string& name) {
  const CustomJob& job = jobs_.at(name);
  Value record;
  record.Set("resource", job.resource);
  record.Set("createdMs", job.created_ms);
  record.Set("cancelledMs", job.cancelled_ms);
  record.Set("struckMs", job.struck_ms);
  record.Set("struckAs", job.struck_as);
  return journal_->Put("job:" + name, record);
}

void Service::RestoreJob(const std::string& name, const Value& record) {
  CustomJob job;
  job.resource = record["resource"];
  job.created_ms = record["createdMs"].AsInt();
  job.cancelled_ms = record["cancelledMs"].AsInt();
  job.struck_ms = record["struckMs"].AsInt();
  job.struck_as = record["struckAs"].AsString();
  jobs_[name] = std::move(job);
}

Answer Service::CreateJob(const Place& place, const Value& body) {
  if (auto refused = CheckCustomJob(body)) return *std::move(refused);
  std::lock_guard lock(mutex_);
  CustomJob job;
  job.created_ms = clock_.NowMs();
  // Numbers that grow, so that a list by name is one by age.
  std::int64_t number = job.created_ms * 1000;
  while (jobs_.contains(JobName(place, std::to_string(number)))) ++number;
  const std::string name = JobName(place, std::to_string(number));
  job.resource = body;
  for (const char* output :
       {"state", "createTime", "startTime", "endTime", "updateTime", "error"}) {
    job.resource.Erase(output);
  }
  job.resource.Set("name", name);
  jobs_[name] = std::move(job);
  if (auto saved = SaveJob(name); !saved) {
    jobs_.erase(name);
    return ApiError{.status = "INTERNAL", .message = saved.error().message, .details = {}};
  }
  return JobView(jobs_.at(name), clock_.NowMs(), DelayMs());
}

Answer Service::GetJob(const Place& place, const std::string& id) {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(JobName(place, id));
  if (found == jobs_.end()) return NotFound(JobName(place, id));
  return JobView(found->second, clock_.NowMs(), DelayMs());
}

Answer Service::ListJobs(const Place& place, const PageRequest& page, std::string_view filter) {
  auto parsed = ParseJobFilter(filter);
  if (auto* refusal = std::get_if<ApiError>(&parsed)) return std::move(*refusal);
  const std::string prefix = JobName(place, "");
  std::lock_guard lock(mutex_);
  Value::List listed;
  Value answer = Value::EmptyMap();
  std::string last;
  // The newest first.
  auto at =
      page.after.empty() ? jobs_.lower_bound(JobName(place, "~")) : jobs_.lower_bound(page.after);
  while (at != jobs_.begin()) {
    --at;
    if (at->first.rfind(prefix, 0) != 0) break;
    Value view = JobView(at->second, clock_.NowMs(), DelayMs());
    if (!MatchesFilter(std::get<JobFilter>(parsed), view)) continue;
    if (static_cast<int>(listed.size()) == PageLimit(page)) {
      answer.Set("nextPageToken", MakePageToken(last));
      break;
    }
    listed.push_back(std::move(view));
    last = at->first;
  }
  if (!listed.empty()) answer.Set("customJobs", std::move(listed));
  return answer;
}

// Of a job that is over, or being cancelled already: nothing happens.
Answer Service::CancelJob(const Place& place, const std::string& id) {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(JobName(place, id));
  if (found == jobs_.end()) return NotFound(JobName(place, id));
  CustomJob& job = found->second;
  if (job.cancelled_ms == 0 && !IsJobOver(job, clock_.NowMs(), DelayMs())) {
    job.cancelled_ms = clock_.NowMs();
    static_cast<void>(SaveJob(found->first));  // a full disk shows at the next request
  }
  return Value::EmptyMap();
}

Answer Service::DeleteJob(const Place& place, const std::string& id) {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(JobName(place, id));
  if (found == jobs_.end()) return NotFound(JobName(place, id));
  if (!IsJobOver(found->second, clock_.NowMs(), DelayMs())) {
    return FailedPrecondition(
        fmt::format("The job {} has not ended; cancel it first.", found->first));
  }
  static_cast<void>(journal_->Erase("job:" + found->first));
  jobs_.erase(found);
  Value operation;
  operation.Set("name", fmt::format("{}/operations/{}", JobParent(place), id));
  operation.Set("done", true);
  operation.SetPath("response", Value::EmptyMap());
  operation.MutableMap()["response"].Set("@type", "type.googleapis.com/google.protobuf.Empty");
  return operation;
}

std::vector<std::string> Service::FindJobs(const std::string& id) {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, job] : jobs_) {
    const bool is_it =
        name == id || IdOf(name) == id || job.resource["displayName"].AsString() == id;
    if (is_it) names.push_back(name);
  }
  return names;
}

Answer Service::StrikeJob(const std::string& name, std::string_view verb) {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(name);
  if (found == jobs_.end()) return NotFound(name);
  if (verb != "fail" && verb != "succeed") {
    return InvalidArgument(fmt::format("\"{}\" is not fail or succeed", verb));
  }
  CustomJob& job = found->second;
  if (IsJobOver(job, clock_.NowMs(), DelayMs())) return FailedPrecondition("The job has ended.");
  job.struck_ms = clock_.NowMs();
  job.struck_as = verb == "fail" ? "JOB_STATE_FAILED" : "JOB_STATE_SUCCEEDED";
  job.cancelled_ms = 0;
  static_cast<void>(SaveJob(name));  // a full disk shows at the next request
  return JobView(job, clock_.NowMs(), DelayMs());
}

}  // namespace podctl::emulator

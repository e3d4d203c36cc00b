#include "providers/emulator/service/custom_jobs.h"

#include <fmt/format.h>

#include <utility>

namespace podctl::emulator {
namespace {

// By number, as the service names its resources; a project may be asked for by either.
Place ByNumber(const Place& place) {
  return {ProjectNumber(place.project), place.zone};
}

std::string NameOf(const Call& call) {
  return ByNumber(call.place).Name("customJobs", call.id);
}

}  // namespace

Value CustomJobs::View(const CustomJob& job) const {
  return JobView(job, core_->clock.NowMs(), core_->DelayMs());
}

bool CustomJobs::IsOver(const CustomJob& job) const {
  return IsJobOver(job, core_->clock.NowMs(), core_->DelayMs());
}

void CustomJobs::Restore(const std::string& name, const Value& record) {
  jobs_.Restore(name, record);
}

std::vector<std::string> CustomJobs::NamesOf(const std::string& id) const {
  std::vector<std::string> names;
  for (const auto& [name, job] : jobs_.rows()) {
    const bool is_it =
        name == id || IdOf(name) == id || job.resource["displayName"].AsString() == id;
    if (is_it) names.push_back(name);
  }
  return names;
}

Answer CustomJobs::Create(const Call& call) {
  if (auto refused = CheckCustomJob(call.body)) return *std::move(refused);
  CustomJob job;
  job.created_ms = core_->clock.NowMs();
  const Place place = ByNumber(call.place);
  // Numbers that grow, so that a list by name is one by age.
  std::int64_t number = job.created_ms * 1000;
  while (jobs_.Find(place.Name("customJobs", std::to_string(number))) != nullptr) ++number;
  const std::string name = place.Name("customJobs", std::to_string(number));
  job.resource = call.body;
  for (const char* output :
       {"state", "createTime", "startTime", "endTime", "updateTime", "error"}) {
    job.resource.Erase(output);
  }
  job.resource.Set("name", name);
  if (auto saved = jobs_.Put(name, std::move(job)); !saved) {
    return MakeStatus("INTERNAL", saved.error().message);
  }
  return View(jobs_.at(name));
}

Answer CustomJobs::Get(const Call& call) const {
  const CustomJob* job = jobs_.Find(NameOf(call));
  if (job == nullptr) return NotFound(NameOf(call));
  return View(*job);
}

Answer CustomJobs::List(const Call& call) const {
  auto filter = ParseJobFilter(call.filter);
  if (auto* refusal = std::get_if<ApiError>(&filter)) return std::move(*refusal);
  const std::string prefix = ByNumber(call.place).Name("customJobs", "");
  Page page("customJobs", call.page);
  // The newest first.
  auto at = jobs_.rows().lower_bound(call.page.after.empty() ? prefix + "~" : call.page.after);
  while (at != jobs_.rows().begin()) {
    --at;
    if (!at->first.starts_with(prefix)) break;
    Value view = View(at->second);
    const bool listed = MatchesFilter(std::get<JobFilter>(filter), view);
    if (listed && !page.Add(at->first, std::move(view))) break;
  }
  return page.Take();
}

Answer CustomJobs::Cancel(const Call& call) {
  const std::string name = NameOf(call);
  CustomJob* job = jobs_.Find(name);
  if (job == nullptr) return NotFound(name);
  if (job->cancelled_ms == 0 && !IsOver(*job)) {
    job->cancelled_ms = core_->clock.NowMs();
    jobs_.Keep(name);
  }
  return Value::EmptyMap();
}

Answer CustomJobs::Delete(const Call& call) {
  const std::string name = NameOf(call);
  const CustomJob* job = jobs_.Find(name);
  if (job == nullptr) return NotFound(name);
  if (!IsOver(*job)) {
    return FailedPrecondition(fmt::format("The job {} has not ended; cancel it first.", name));
  }
  jobs_.Erase(name);
  return Value::Map{{"name", ByNumber(call.place).Name("operations", call.id)},
                    {"done", true},
                    {"response", TypedEmpty()}};
}

Answer CustomJobs::Incident(const std::string& name, std::string_view verb) {
  CustomJob* job = jobs_.Find(name);
  if (job == nullptr) return NotFound(name);
  if (verb != "fail" && verb != "succeed") {
    return InvalidArgument(fmt::format("\"{}\" is not fail or succeed", verb));
  }
  if (IsOver(*job)) return FailedPrecondition("The job has ended.");
  job->struck_ms = core_->clock.NowMs();
  job->struck_as = verb == "fail" ? "JOB_STATE_FAILED" : "JOB_STATE_SUCCEEDED";
  job->cancelled_ms = 0;
  jobs_.Keep(name);
  return View(*job);
}

}  // namespace podctl::emulator

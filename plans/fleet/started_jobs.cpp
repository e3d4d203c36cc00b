#include "plans/fleet/started_jobs.h"

#include <utility>

#include "plans/kinds/pod/record.h"
#include "providers/base/json.h"
#include "providers/base/value.h"

namespace podctl {
namespace {

constexpr std::size_t kMostStartedJobs = 100;  // of a pod

bool DropNamed(const std::string& name, std::vector<StartedJob>* jobs) {
  return std::erase_if(*jobs, [&](const StartedJob& job) { return job.name == name; }) > 0;
}

}  // namespace

void StartedJobs::Started(const StartedJob& job) {
  std::vector<StartedJob> jobs = Load();
  DropNamed(job.name, &jobs);
  if (jobs.size() == kMostStartedJobs) jobs.erase(jobs.begin());
  jobs.push_back(job);
  Keep(jobs);
}

void StartedJobs::Ended(const std::string& name) {
  std::vector<StartedJob> jobs = Load();
  if (DropNamed(name, &jobs)) Keep(jobs);
}

std::vector<StartedJob> StartedJobs::Load() const {
  std::vector<StartedJob> jobs;
  const auto text = file_.Load();
  const auto document = text ? ParseJson(*text) : Result<Value>(text.error());
  if (!document || !(*document)["format_version"].AsString().starts_with("1.")) return jobs;
  for (const Value& entry : (*document)["jobs"].AsList()) {
    if (entry["name"].AsString().empty() || entry["started_at"].AsString().empty()) continue;
    jobs.push_back(
        {entry["name"].AsString(), entry["started_at"].AsString(), entry["uid"].AsString()});
  }
  return jobs;
}

void StartedJobs::Keep(const std::vector<StartedJob>& jobs) {
  Value::List list;
  for (const StartedJob& job : jobs) {
    list.emplace_back(
        Value::Map{{"name", job.name}, {"started_at", job.started_at}, {"uid", job.uid}});
  }
  file_.Save(ToJson(Value::Map{{"format_version", "1.0"}, {"jobs", std::move(list)}}) + "\n");
}

StartedJobs StartedOnPods::On(const std::string& pod) const {
  return StartedJobs(
      KeptFile(files_, environment_, "started", state_path_, PodAddress(pod).Text()));
}

}  // namespace podctl

// A service of training jobs in memory. Jobs advance with looks: each Get moves one a state on,
// from QUEUED to RUNNING, and stays there; from CANCELLING to CANCELLED. Thread safe.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "providers/custom_jobs.h"

namespace podctl::testing {

class FakeJobs final : public CustomJobs {
 public:
  Result<Value> Get(const std::string& job, std::stop_token /*stop*/) override {
    std::lock_guard lock(mutex_);
    ++gets;
    const auto found = jobs_.find(job);
    if (found == jobs_.end()) return MakeError(ErrorCode::kNotFound, "no such job");
    const std::string state = found->second["state"].AsString();
    if (state == "JOB_STATE_QUEUED") found->second.Set("state", "JOB_STATE_PENDING");
    if (state == "JOB_STATE_PENDING" && !stuck) found->second.Set("state", "JOB_STATE_RUNNING");
    if (state == "JOB_STATE_CANCELLING") found->second.Set("state", "JOB_STATE_CANCELLED");
    return found->second;
  }
  Result<Value> Find(const std::string& project, const std::string& region,
                     const std::string& label, const std::string& value,
                     std::stop_token /*stop*/) override {
    std::lock_guard lock(mutex_);
    ++finds;
    if (finds <= blind_finds) return MakeError(ErrorCode::kNotFound, "none yet");
    const std::string prefix = "projects/" + project + "/locations/" + region + "/";
    for (const auto& [name, job] : jobs_) {
      if (name.starts_with(prefix) && job["labels"][label].AsString() == value) return job;
    }
    return MakeError(ErrorCode::kNotFound, "none");
  }
  Result<Value> Create(const std::string& project, const std::string& region, const Value& body,
                       std::stop_token /*stop*/) override {
    std::lock_guard lock(mutex_);
    sent.push_back(body);
    if (refuse_create) return *std::exchange(refuse_create, std::nullopt);
    if (creates_to_drop > 0) {
      --creates_to_drop;
      return MakeError(ErrorCode::kReplyLost, "no answer");
    }
    const std::string name = "projects/" + project + "/locations/" + region + "/customJobs/" +
                             std::to_string(100 + sent.size());
    Value job = body;
    job.Set("name", name);
    job.Set("state", "JOB_STATE_QUEUED");
    jobs_[name] = job;
    if (replies_to_lose > 0) {
      --replies_to_lose;
      return MakeError(ErrorCode::kReplyLost, "no answer");
    }
    return job;
  }
  Result<Value> Cancel(const std::string& job, std::stop_token /*stop*/) override {
    std::lock_guard lock(mutex_);
    cancelled.push_back(job);
    const auto found = jobs_.find(job);
    if (found == jobs_.end()) return MakeError(ErrorCode::kNotFound, "no such job");
    if (PhaseOfJob(found->second["state"].AsString()) != JobPhase::kOver) {
      found->second.Set("state", "JOB_STATE_CANCELLING");
    }
    return Value::EmptyMap();
  }

  // As the service, or somebody else.
  void Put(const std::string& name, const std::string& state, const std::string& why = {}) {
    std::lock_guard lock(mutex_);
    jobs_[name].Set("state", state);
    if (!why.empty()) jobs_[name].SetPath("error.message", why);
  }
  void Remove(const std::string& name) {
    std::lock_guard lock(mutex_);
    jobs_.erase(name);
  }
  std::string StateOf(const std::string& name) const {
    const auto found = jobs_.find(name);
    return found == jobs_.end() ? "" : found->second["state"].AsString();
  }
  std::size_t Count() const { return jobs_.size(); }

  int replies_to_lose = 0;  // that many creates are done and not answered
  int creates_to_drop = 0;  // that many never arrive
  int blind_finds = 0;      // that many finds do not see what is there yet
  bool stuck = false;       // nothing gets beyond PENDING
  std::optional<Error> refuse_create;
  std::vector<Value> sent;  // bodies of creates
  std::vector<std::string> cancelled;
  int gets = 0;
  int finds = 0;

 private:
  std::mutex mutex_;
  std::map<std::string, Value> jobs_;  // by resource name
};

}  // namespace podctl::testing

#include "providers/gcp/vertex_jobs.h"

#include <fmt/format.h>

#include <set>

#include "providers/base/text.h"
#include "providers/gcp/api_error.h"
#include "providers/http/url.h"

namespace podctl::gcp {
namespace {

constexpr const char* kJobsPageSize = "100";
constexpr int kMaxJobsPages = 100;

std::string ParentPath(const std::string& project, const std::string& region) {
  return fmt::format("v1/projects/{}/locations/{}/customJobs", http::PercentEncode(project),
                     http::PercentEncode(region));
}

std::string HostOfRegion(const std::string& region) {
  return fmt::format("https://{}-aiplatform.googleapis.com/", region);
}

}  // namespace

VertexJobs::VertexJobs(std::optional<Endpoint> endpoint, http::Transport& transport,
                       Credentials& credentials, Clock& clock, Random& random,
                       http::RetryPolicy policy)
    : clients_(std::move(endpoint), HostOfRegion, transport, credentials, clock, random,
               std::move(policy)) {}

Result<Value> VertexJobs::SendTo(const std::string& job, const std::string& verb, Call call,
                                 std::stop_token stop) {
  const auto name = ParseResource(job, "customJobs");
  if (!name) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("`{}` is not the name of a custom job", VisibleControls(job)));
  }
  Result<RestClient*> client = clients_.Of(name->location);
  if (!client) return client.error();
  call.path = fmt::format("{}/{}{}", ParentPath(name->project, name->location),
                          http::PercentEncode(name->id), verb);
  return (*client)->Send(call, std::move(stop));
}

Result<Value> VertexJobs::Get(const std::string& job, std::stop_token stop) {
  return SendTo(job, "", {}, std::move(stop));
}

Result<Value> VertexJobs::Find(const std::string& project, const std::string& region,
                               const std::string& label, const std::string& value,
                               std::stop_token stop) {
  Result<RestClient*> client = clients_.Of(region);
  if (!client) return client.error();
  std::optional<Value> earliest;
  std::set<std::string> seen;
  std::string token;
  for (int page = 0;; ++page) {
    // A job that is not found is submitted once more: nobody may take a part for all.
    if (page == kMaxJobsPages) {
      return MakeError(ErrorCode::kInternal, fmt::format("the service's list of jobs in {} has "
                                                         "more than {} pages",
                                                         region, kMaxJobsPages));
    }
    Call call;
    call.path = ParentPath(project, region);
    call.query = {{"filter", fmt::format("labels.{}={}", label, value)},
                  {"pageSize", kJobsPageSize}};
    if (!token.empty()) call.query.emplace_back("pageToken", token);
    const Result<Value> answer = (*client)->Send(call, stop);
    if (!answer) return answer.error();
    for (const Value& job : (*answer)["customJobs"].AsList()) {
      if (job["labels"][label].AsString() != value) continue;
      const bool first =
          !earliest || job["createTime"].AsString() < (*earliest)["createTime"].AsString();
      if (first) earliest = job;
    }
    token = (*answer)["nextPageToken"].AsString();
    if (token.empty()) break;
    if (!seen.insert(token).second) {
      return MakeError(ErrorCode::kInternal, "the service repeats a page of its list of jobs");
    }
  }
  if (earliest) return *std::move(earliest);
  return MakeError(ErrorCode::kNotFound,
                   fmt::format("no custom job in {} has the label {}={}", region, label, value));
}

Result<Value> VertexJobs::Create(const std::string& project, const std::string& region,
                                 const Value& body, std::stop_token stop) {
  Result<RestClient*> client = clients_.Of(region);
  if (!client) return client.error();
  Call call;
  call.method = "POST";
  call.path = ParentPath(project, region);
  call.body = body;
  // The service gives the name, and knows no request ids: a repeat would be another job.
  call.idempotency = http::Idempotency::kNonIdempotent;
  Result<Value> answer = (*client)->Send(call, std::move(stop));
  if (answer && (*answer)["name"].AsString().empty()) {
    return MakeError(ErrorCode::kReplyLost, "the service's answer does not name the job");
  }
  return answer;
}

Result<Value> VertexJobs::Cancel(const std::string& job, std::stop_token stop) {
  Call call;
  call.method = "POST";
  call.body = Value::EmptyMap();
  return SendTo(job, ":cancel", std::move(call), std::move(stop));
}

}  // namespace podctl::gcp

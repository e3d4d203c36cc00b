#include "providers/gcp/tpu_provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "providers/base/text.h"
#include "providers/gcp/api_error.h"
#include "providers/gcp/operation_name.h"
#include "providers/http/url.h"

namespace podctl::gcp {
namespace {

constexpr const char* kPageSize = "1000";
constexpr int kMaxPages = 1000;
constexpr int kMostEmptyPages = 20;  // one after the other
constexpr std::chrono::minutes kLongestList{10};

// What is no list would look as if everything had been deleted. An empty list has no member of the
// collection's name (proto3's JSON). What has a name has that of its place.
bool IsPageOf(const std::string& collection, const std::string& parent, const Value& answer) {
  const Value* items = answer.Find(collection);
  const bool has_names = collection == "nodes" || collection == "queuedResources";
  const auto belongs = [&](const std::string& name) {
    const auto slash = name.rfind('/');
    return slash != std::string::npos && slash + 1 < name.size() &&
           IsSameResource(std::string_view(name).substr(0, slash), parent + "/" + collection);
  };
  for (const auto& [key, member] : answer.AsMap()) {
    if (key == "nextPageToken" && !member.is_string()) return false;
    const bool known = key == collection || key == "nextPageToken" || key == "unreachable";
    if (!known && items == nullptr) return false;
  }
  if (items == nullptr) return true;
  return items->is_list() &&
         std::all_of(items->AsList().begin(), items->AsList().end(), [&](const Value& item) {
           return item.is_map() && (!has_names || belongs(item["name"].AsString())) &&
                  WhyNoNode(item).empty();
         });
}

std::string NodePath(const NodeName& name) {
  return "/nodes/" + http::PercentEncode(name.node);
}

std::string QueuedPath(const QueuedName& name) {
  return "/queuedResources/" + http::PercentEncode(name.id);
}

NodeName PlaceOf(const QueuedName& name) {
  return {name.project, name.zone, name.id};
}

std::string_view CollectionOf(const CatalogueEntry& entry) {
  return entry.what == CatalogueEntry::What::kRuntimeVersion ? "runtimeVersions"
                                                             : "acceleratorTypes";
}

// "networkConfig.enableExternalIps" -> "network_config.enable_external_ips": the form of the API's
// own documentation of nodes.patch, and the one that gcloud sends.
std::string MaskPath(std::string_view path) {
  std::string snake;
  for (char c : path) {
    if (c >= 'A' && c <= 'Z') {
      snake += '_';
      snake += static_cast<char>(c - 'A' + 'a');
    } else {
      snake += c;
    }
  }
  return snake;
}

// An answer whose operation nobody can ask for again is as good as none: what was begun is found by
// a look at the node.
Result<Operation> AsOperation(const Result<Value>& answer, const std::string& project,
                              const std::string& zone, ErrorCode when_none) {
  if (!answer) return answer.error();
  const Value* done = answer->Find("done");
  if (done != nullptr && !done->is_bool()) {
    return MakeError(when_none, "the service's answer leaves open whether the operation is done");
  }
  Operation operation = ParseOperation(*answer);
  if (operation.name.empty()) {
    return MakeError(when_none, "the service's answer does not name an operation");
  }
  if (!IsOperationOf(operation.name, project, zone)) {
    constexpr std::size_t kShown = 200;
    return MakeError(when_none,
                     fmt::format("the service's answer names `{}`, which is no operation of {}/{}",
                                 VisibleControls(operation.name.substr(0, kShown)), project, zone));
  }
  return operation;
}

}  // namespace

TpuProvider::TpuProvider(Endpoint endpoint, http::Transport& transport, Credentials& credentials,
                         Clock& clock, Random& random, http::RetryPolicy policy)
    : client_(std::move(endpoint), transport, credentials, clock, random, std::move(policy)),
      alpha_(new TpuProvider(client_, this)) {}

TpuProvider::TpuProvider(RestClient client, TpuProvider* v2)
    : client_(std::move(client)), version_(ApiVersion::kV2Alpha1), v2_(v2) {}

Provider& TpuProvider::InVersion(ApiVersion version) {
  if (version == version_) return *this;
  return version == ApiVersion::kV2 ? *v2_ : *alpha_;
}

std::string TpuProvider::ParentPath(const std::string& project, const std::string& zone) const {
  return fmt::format("{}/projects/{}/locations/{}", ApiVersionName(version_),
                     http::PercentEncode(project), http::PercentEncode(zone));
}

Result<Value> TpuProvider::Send(const NodeName& name, Call call, const std::stop_token& stop) {
  if (name.project.empty() || name.zone.empty() || name.node.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("a node needs a project, a zone and a name; the {} is empty",
                                 name.project.empty() ? "project"
                                 : name.zone.empty()  ? "zone"
                                                      : "name"));
  }
  call.path = ParentPath(name.project, name.zone) + call.path;
  return client_.Send(call, stop);
}

Result<std::vector<Value>> TpuProvider::ListAll(const std::string& project, const std::string& zone,
                                                const std::string& collection,
                                                const std::stop_token& stop) {
  std::vector<Value> items;
  std::set<std::string> seen_tokens;
  std::string token;
  int empty_pages = 0;
  const auto began = client_.clock().Steady();
  for (int page = 0; page < kMaxPages; ++page) {
    Call call{.path = "/" + collection, .query = {{"pageSize", kPageSize}}};
    if (!token.empty()) call.query.emplace_back("pageToken", token);
    Result<Value> answer = Send({project, zone, "-"}, std::move(call), stop);
    if (!answer) return answer.error();
    // A list with holes would look as if nodes had been deleted.
    if (const auto& unreachable = (*answer)["unreachable"].AsList(); !unreachable.empty()) {
      return MakeError(ErrorCode::kUnavailable,
                       fmt::format("the service cannot read {} at the moment",
                                   VisibleControls(unreachable[0].AsString())),
                       "try again later");
    }
    if (!IsPageOf(collection, NodeName{project, zone, ""}.Parent(), *answer)) {
      return MakeError(ErrorCode::kInternal,
                       fmt::format("the answer of the service is no list of {}", collection),
                       "is the endpoint really one of the Cloud TPU API?");
    }
    token = (*answer)["nextPageToken"].AsString();
    empty_pages = (*answer)[collection].AsList().empty() ? empty_pages + 1 : 0;
    if (empty_pages > kMostEmptyPages) {
      return MakeError(ErrorCode::kInternal,
                       fmt::format("the service's list of {} goes on without an item", collection));
    }
    Value::List& page_items = answer->MutableMap()[collection].MutableList();
    items.insert(items.end(), std::make_move_iterator(page_items.begin()),
                 std::make_move_iterator(page_items.end()));
    if (token.empty()) return items;
    if (client_.clock().Steady() - began > kLongestList) {
      return MakeError(ErrorCode::kDeadlineExceeded,
                       fmt::format("the service's list of {} is not complete after {}", collection,
                                   FormatDuration(kLongestList)),
                       "try again later");
    }
    if (!seen_tokens.insert(token).second) {
      return MakeError(ErrorCode::kInternal,
                       fmt::format("the service repeats a page of its list of {}", collection));
    }
  }
  return MakeError(ErrorCode::kInternal,
                   fmt::format("the list of {} has more than {} pages", collection, kMaxPages));
}

Result<std::vector<Value>> TpuProvider::ListNodes(const std::string& project,
                                                  const std::string& zone, std::stop_token stop) {
  return ListAll(project, zone, "nodes", stop);
}

Result<std::vector<Value>> TpuProvider::ListAcceleratorTypes(const std::string& project,
                                                             const std::string& zone,
                                                             std::stop_token stop) {
  return ListAll(project, zone, "acceleratorTypes", stop);
}

Result<std::vector<Value>> TpuProvider::ListRuntimeVersions(const std::string& project,
                                                            const std::string& zone,
                                                            std::stop_token stop) {
  return ListAll(project, zone, "runtimeVersions", stop);
}

Result<bool> TpuProvider::Has(const CatalogueEntry& entry, std::stop_token stop) {
  if (entry.version != version_) return (v2_ == nullptr ? *alpha_ : *v2_).Has(entry, stop);
  Call call{.path = fmt::format("/{}/{}", CollectionOf(entry), http::PercentEncode(entry.name))};
  const auto found = Send({entry.project, entry.zone, entry.name}, std::move(call), stop);
  if (found) return true;
  if (found.error().code == ErrorCode::kNotFound) return false;
  return found.error();
}

Result<std::vector<std::string>> TpuProvider::AllLike(const CatalogueEntry& entry,
                                                      std::stop_token stop) {
  if (entry.version != version_) return (v2_ == nullptr ? *alpha_ : *v2_).AllLike(entry, stop);
  const auto listed = ListAll(entry.project, entry.zone, std::string(CollectionOf(entry)), stop);
  if (!listed) return listed.error();
  std::vector<std::string> names;
  for (const Value& each : *listed) {
    const std::string& name = each["name"].AsString();
    names.push_back(name.substr(name.rfind('/') + 1));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<Operation>> TpuProvider::ListOperations(const std::string& project,
                                                           const std::string& zone,
                                                           std::stop_token stop) {
  const Result<std::vector<Value>> items = ListAll(project, zone, "operations", stop);
  if (!items) return items.error();
  std::vector<Operation> operations;
  for (const Value& item : *items) operations.push_back(ParseOperation(item));
  return operations;
}

Result<Value> TpuProvider::GetNode(const NodeName& name, std::stop_token stop) {
  return CheckedResource(Send(name, {.path = NodePath(name)}, stop), name.Resource());
}

Result<Operation> TpuProvider::CreateNode(const NodeName& name, const Value& node,
                                          const std::string& request_id, std::stop_token stop) {
  Call call{.method = "POST", .path = "/nodes", .query = {{"nodeId", name.node}}, .body = node};
  // nodes.create of v2 has no requestId, so the service cannot recognise a repeat.
  call.idempotency =
      request_id.empty() ? http::Idempotency::kNonIdempotent : http::Idempotency::kIdempotent;
  if (!request_id.empty()) call.query.emplace_back("requestId", request_id);
  return AsOperation(Send(name, std::move(call), stop), name.project, name.zone,
                     ErrorCode::kReplyLost);
}

Result<Operation> TpuProvider::PatchNode(const NodeName& name, const Value& node,
                                         const std::vector<std::string>& update_mask,
                                         std::stop_token stop) {
  if (update_mask.empty()) {
    return MakeError(ErrorCode::kInvalidArgument, "an update needs at least one field");
  }
  std::vector<std::string> mask;
  std::transform(update_mask.begin(), update_mask.end(), std::back_inserter(mask), MaskPath);
  Call call{.method = "PATCH", .path = NodePath(name), .body = node};
  call.query = {{"updateMask", Join(mask, ",")}};
  return AsOperation(Send(name, std::move(call), stop), name.project, name.zone,
                     ErrorCode::kInternal);
}

Result<Operation> TpuProvider::DeleteNode(const NodeName& name, const std::string& request_id,
                                          std::stop_token stop) {
  Call call{.method = "DELETE", .path = NodePath(name)};
  if (!request_id.empty()) call.query = {{"requestId", request_id}};
  return AsOperation(Send(name, std::move(call), stop), name.project, name.zone,
                     ErrorCode::kInternal);
}

// Sent once: the service refuses to stop what is stopping, which would look like a failure.
Result<Operation> TpuProvider::Power(const NodeName& name, const std::string& verb,
                                     const std::stop_token& stop) {
  Call call{.method = "POST", .path = NodePath(name) + ":" + verb, .body = Value::EmptyMap()};
  call.idempotency = http::Idempotency::kNonIdempotent;
  return AsOperation(Send(name, std::move(call), stop), name.project, name.zone,
                     ErrorCode::kReplyLost);
}

Result<Operation> TpuProvider::StartNode(const NodeName& name, std::stop_token stop) {
  return Power(name, "start", stop);
}

Result<Operation> TpuProvider::StopNode(const NodeName& name, std::stop_token stop) {
  return Power(name, "stop", stop);
}

Result<Operation> TpuProvider::GetOperation(const std::string& operation, std::stop_token stop) {
  const auto name = ParseResource(operation, "operations");
  if (!name || !IsOperationOf(operation, name->project, name->location)) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("`{}` is not the name of an operation", VisibleControls(operation)));
  }
  Call call{.path = "/operations/" + http::PercentEncode(name->id)};
  return AsOperation(
      CheckedResource(Send({name->project, name->location, name->id}, std::move(call), stop),
                      operation),
      name->project, name->location, ErrorCode::kInternal);
}

Result<std::vector<WorkerAttributes>> TpuProvider::GetGuestAttributes(const NodeName& name,
                                                                      const std::string& query_path,
                                                                      std::stop_token stop) {
  // A POST by the API's convention for custom verbs; it only reads.
  Call call{.method = "POST", .path = NodePath(name) + ":getGuestAttributes"};
  call.body = Value::EmptyMap();
  if (!query_path.empty()) call.body->Set("queryPath", query_path);
  Result<Value> answer = Send(name, std::move(call), stop);
  if (!answer) return answer.error();
  std::vector<WorkerAttributes> workers;
  if ((*answer)["guestAttributes"].AsList().size() > kMostWorkersOfNode) {
    return MakeError(ErrorCode::kInternal,
                     fmt::format("the service shows guest attributes of more than {} workers",
                                 kMostWorkersOfNode));
  }
  for (const Value& worker : (*answer)["guestAttributes"].AsList()) {
    WorkerAttributes& attributes = workers.emplace_back();
    for (const Value& item : worker["queryValue"]["items"].AsList()) {
      attributes.push_back(
          {item["namespace"].AsString(), item["key"].AsString(), item["value"].AsString()});
    }
  }
  return workers;
}

Result<std::vector<Value>> TpuProvider::List(const std::string& project, const std::string& zone,
                                             std::stop_token stop) {
  return ListAll(project, zone, "queuedResources", stop);
}

Result<Value> TpuProvider::Get(const QueuedName& name, std::stop_token stop) {
  return CheckedResource(Send(PlaceOf(name), {.path = QueuedPath(name)}, stop), name.Resource());
}

Result<Operation> TpuProvider::Create(const QueuedName& name, const Value& body,
                                      const std::string& request_id, std::stop_token stop) {
  Call call{.method = "POST", .path = "/queuedResources", .body = body};
  // With the request id the service knows a repeat, so the client may repeat by itself.
  call.query = {{"queuedResourceId", name.id}, {"requestId", request_id}};
  return AsOperation(Send(PlaceOf(name), std::move(call), stop), name.project, name.zone,
                     ErrorCode::kReplyLost);
}

Result<Operation> TpuProvider::Delete(const QueuedName& name, bool force,
                                      const std::string& request_id, std::stop_token stop) {
  Call call{.method = "DELETE", .path = QueuedPath(name)};
  if (force) call.query.emplace_back("force", "true");
  call.query.emplace_back("requestId", request_id);
  return AsOperation(Send(PlaceOf(name), std::move(call), stop), name.project, name.zone,
                     ErrorCode::kInternal);
}

Operation ParseOperation(const Value& json) {
  Operation operation;
  operation.name = json["name"].AsString();
  operation.done = json["done"].AsBool();
  // Of an operation that went well there is no such member, so that any other is a failure, however
  // odd it looks.
  if (const Value* error = json.Find("error"); error != nullptr && !error->is_null()) {
    operation.error.push_back(ErrorFromStatus(*error));
  }
  operation.response = json["response"];
  operation.target = json["metadata"]["target"].AsString();
  operation.verb = json["metadata"]["verb"].AsString();
  operation.create_time = json["metadata"]["createTime"].AsString();
  return operation;
}

}  // namespace podctl::gcp

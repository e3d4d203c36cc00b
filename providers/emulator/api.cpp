#include "providers/emulator/api.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "providers/base/json.h"
#include "providers/emulator/catalogue.h"
#include "providers/emulator/lenient_json.h"
#include "providers/emulator/request_schema.h"

namespace podctl::emulator {
namespace {

ApiError NoSuchMethod(const HttpRequest& request) {
  return {.status = "NOT_FOUND",
          .message = fmt::format("Method not found: {} {}", request.method, request.path),
          .details = {}};
}

// What gcloud asks of other services about the project: Compute Engine before an ssh, the Resource
// Manager before it names a reservation.
std::optional<std::string> ProjectAnswer(const HttpRequest& request, Service* service, Call* call) {
  constexpr std::string_view kCompute = "/compute/v1/projects/";
  constexpr std::string_view kResourceManager = "/v1/projects/";
  const auto project = [&](std::string_view prefix) -> std::string {
    if (request.method != "GET" || request.path.rfind(prefix, 0) != 0) return {};
    std::string rest = request.path.substr(prefix.size());
    return rest.find('/') == std::string::npos ? rest : std::string();
  };
  Value answer;
  if (const std::string name = project(kCompute); !name.empty()) {
    call->name = "compute.projects.get";
    answer.Set("kind", "compute#project");
    answer.Set("name", name);
    Value metadata;
    metadata.Set("kind", "compute#metadata");
    Value::List items;
    const Value common = service->ProjectMetadata();
    for (const auto& [key, value] : common.AsMap()) {
      Value item;
      item.Set("key", key);
      item.Set("value", value);
      items.push_back(std::move(item));
    }
    if (!items.empty()) metadata.Set("items", std::move(items));
    answer.Set("commonInstanceMetadata", std::move(metadata));
  } else if (const std::string id = project(kResourceManager); !id.empty()) {
    call->name = "cloudresourcemanager.projects.get";
    answer.Set("projectId", id);
    answer.Set("projectNumber", ProjectNumber(id));
    answer.Set("lifecycleState", "ACTIVE");
  } else {
    return std::nullopt;
  }
  return ToJson(answer);
}

// Two methods of OS Login's v1: /v1/users/EMAIL/loginProfile and …/EMAIL:importSshPublicKey.
std::optional<TextAnswer> LoginAnswer(const HttpRequest& request, Service* service, Call* call) {
  constexpr std::string_view kUsers = "/v1/users/";
  constexpr std::string_view kProfile = "/loginProfile";
  constexpr std::string_view kImport = ":importSshPublicKey";
  std::string_view email = request.path;
  if (!email.starts_with(kUsers)) return std::nullopt;
  email.remove_prefix(kUsers.size());
  const bool imports = email.ends_with(kImport);
  if (!imports && !email.ends_with(kProfile)) return std::nullopt;
  email.remove_suffix(imports ? kImport.size() : kProfile.size());
  if (request.method != (imports ? "POST" : "GET")) return std::nullopt;
  call->name = imports ? "oslogin.users.importSshPublicKey" : "oslogin.users.getLoginProfile";
  if (email.find('@') == std::string_view::npos || email.find('/') != std::string_view::npos) {
    return InvalidArgument("The user is not an e-mail.");
  }
  if (!imports) return ToText(service->LoginProfile(std::string(email)));
  const Result<Value> body = ParseLenientJson(request.body);
  if (!body) return InvalidArgument(body.error().message);
  return ToText(service->ImportLoginKey(std::string(email), *body));
}

ApiError Ordered(const Fault& fault) {
  return {.status = std::string(StatusOfHttp(fault.status)),
          .message = fault.message.empty() ? "a fault that was ordered" : fault.message,
          .details = fault.details,
          .http = fault.status};
}

Answer ReadRequest(const HttpRequest& request, const Call& call, Message message,
                   std::string_view root) {
  const Result<Value> json = ParseLenientJson(request.body);
  if (json) return ReadBody(message, *json, root, call.version);
  return FieldViolation("", fmt::format("Invalid JSON payload received. {}", json.error().message));
}

}  // namespace

PageAnswer ReadPageRequest(const HttpRequest& request) {
  PageRequest page;
  const std::string_view size = Parameter(request, "pageSize");
  const auto [end, problem] = std::from_chars(size.data(), size.data() + size.size(), page.size);
  if (!size.empty() && (problem != std::errc{} || end != size.data() + size.size())) {
    return FieldViolation("page_size",
                          fmt::format("Invalid value at 'page_size' (TYPE_INT32), \"{}\"", size));
  }
  if (page.size < 0) return InvalidArgument("The page size must not be negative.");
  const std::string_view token = Parameter(request, "pageToken");
  if (token.empty()) return page;
  auto after = ReadPageToken(token);
  if (!after) return InvalidArgument("The page token is invalid.");
  page.after = *std::move(after);
  return page;
}

TextAnswer ToText(Answer answer) {
  if (auto* refusal = std::get_if<ApiError>(&answer)) return std::move(*refusal);
  return ToJson(std::get<Value>(answer));
}

TextAnswer Api::Nodes(const HttpRequest& request, const Call& call, const CallContext& context) {
  if (call.name == "nodes.list") {
    PageAnswer page = ReadPageRequest(request);
    if (auto* refusal = std::get_if<ApiError>(&page)) return std::move(*refusal);
    return service_->ListNodes(call.place, std::get<PageRequest>(page), call.version);
  }
  if (call.name == "nodes.get") return service_->GetNode(call.place, call.id, call.version);
  if (call.name == "nodes.delete") {
    return ToText(service_->DeleteNode(call.place, call.id, context));
  }
  const bool whole_node = call.name == "nodes.create" || call.name == "nodes.patch";
  Answer body = ReadRequest(
      request, call,
      whole_node                                      ? Message::kNode
      : call.name == "nodes.getGuestAttributes"       ? Message::kGetGuestAttributesRequest
      : call.name == "nodes.simulateMaintenanceEvent" ? Message::kSimulateMaintenanceRequest
                                                      : Message::kEmpty,
      whole_node ? "node" : "");
  if (auto* refusal = std::get_if<ApiError>(&body)) return std::move(*refusal);
  const Value& read = std::get<Value>(body);
  if (call.name == "nodes.create") {
    const std::string id(Parameter(request, "nodeId"));
    return ToText(service_->CreateNode(call.place, id, read, context));
  }
  if (call.name == "nodes.patch") {
    return ToText(
        service_->PatchNode(call.place, call.id, Parameter(request, "updateMask"), read, context));
  }
  if (call.name == "nodes.start") {
    return ToText(service_->StartNode(call.place, call.id, context));
  }
  if (call.name == "nodes.stop") return ToText(service_->StopNode(call.place, call.id, context));
  if (call.name == "nodes.performMaintenance") {
    return ToText(service_->MaintainNode(call.place, call.id, {}, context));
  }
  if (call.name == "nodes.simulateMaintenanceEvent") {
    // Only the first worker is struck, worker 0 when none is named (its documentation).
    const Value::List& named = read["workerIds"].AsList();
    return ToText(service_->MaintainNode(call.place, call.id,
                                         {named.empty() ? Value("0") : named.front()}, context));
  }
  return ToText(service_->GuestAttributes(call.place, call.id, read));
}

TextAnswer Api::Queue(const HttpRequest& request, const Call& call, const CallContext& context) {
  if (call.name == "queuedResources.list") {
    PageAnswer page = ReadPageRequest(request);
    if (auto* refusal = std::get_if<ApiError>(&page)) return std::move(*refusal);
    return ToText(service_->ListQueued(call.place, std::get<PageRequest>(page), call.version));
  }
  if (call.name == "queuedResources.get") {
    return ToText(service_->GetQueued(call.place, call.id, call.version));
  }
  if (call.name == "queuedResources.getMaintenanceInfo") {
    return ToText(service_->QueuedMaintenance(call.place, call.id));
  }
  if (call.name == "queuedResources.delete") {
    const std::optional<bool> force = BoolParameter(request, "force");
    if (!force) {
      return FieldViolation("force", fmt::format("Invalid value at 'force' (TYPE_BOOL), \"{}\"",
                                                 Parameter(request, "force")));
    }
    return ToText(service_->DeleteQueued(call.place, call.id, *force, context));
  }
  const bool creates = call.name == "queuedResources.create";
  const bool resets = call.name == "queuedResources.reset";
  Answer body = ReadRequest(request, call,
                            creates  ? Message::kQueuedResource
                            : resets ? Message::kEmpty
                                     : Message::kQueuedMaintenanceRequest,
                            creates ? "queued_resource" : "");
  if (auto* refusal = std::get_if<ApiError>(&body)) return std::move(*refusal);
  const Value& read = std::get<Value>(body);
  if (creates) {
    const std::string id(Parameter(request, "queuedResourceId"));
    return ToText(service_->CreateQueued(call.place, id, read, context));
  }
  if (resets) return ToText(service_->ResetQueued(call.place, call.id, context));
  return ToText(service_->MaintainQueued(call.place, call.id, read["nodeNames"].AsList(), context));
}

// The service of Vertex AI.
TextAnswer Api::CustomJobs(const HttpRequest& request, const Call& call) {
  if (!IsRegion(call.place.zone)) return LocationDenied(call.place.zone);
  if (call.name == "customJobs.list") {
    PageAnswer page = ReadPageRequest(request);
    if (auto* refusal = std::get_if<ApiError>(&page)) return std::move(*refusal);
    return ToText(
        service_->ListJobs(call.place, std::get<PageRequest>(page), Parameter(request, "filter")));
  }
  if (call.name == "customJobs.get") return ToText(service_->GetJob(call.place, call.id));
  if (call.name == "customJobs.delete") return ToText(service_->DeleteJob(call.place, call.id));
  if (call.name == "customJobs.cancel") return ToText(service_->CancelJob(call.place, call.id));
  const Result<Value> json = ParseLenientJson(request.body);
  if (!json) {
    return FieldViolation("",
                          fmt::format("Invalid JSON payload received. {}", json.error().message));
  }
  return ToText(service_->CreateJob(call.place, *json));
}

TextAnswer Api::Operations(const HttpRequest& request, const Call& call) {
  const std::string name = fmt::format("{}/operations/{}", call.place.Parent(), call.id);
  if (call.name == "operations.get") return ToText(service_->GetOperation(name));
  if (call.name == "operations.delete") return ToText(service_->DeleteOperation(name));
  if (call.name == "operations.cancel") return ToText(service_->CancelOperation(name));
  PageAnswer page = ReadPageRequest(request);
  if (auto* refusal = std::get_if<ApiError>(&page)) return std::move(*refusal);
  return ToText(service_->ListOperations(call.place, std::get<PageRequest>(page)));
}

TextAnswer Api::Dispatch(const HttpRequest& request, const Call& call, const Value& failure) {
  if (auto refusal = CheckParameters(request, call)) return *std::move(refusal);
  if (call.collection() == "customJobs") return CustomJobs(request, call);
  const bool any_zone =
      call.place.zone == "-" && (call.name == "nodes.list" || call.name == "queuedResources.list");
  // A create says more exactly what it dislikes about a zone.
  if (call.name != "locations.list" && call.name != "nodes.create" && !any_zone &&
      !IsZone(call.place.zone)) {
    return LocationDenied(call.place.zone);
  }
  const CallContext context{.version = call.version,
                            .request_id = std::string(Parameter(request, "requestId")),
                            .failure = failure};
  const std::string_view collection = call.collection();
  if (collection == "nodes") return Nodes(request, call, context);
  if (collection == "queuedResources") return Queue(request, call, context);
  if (collection == "operations") return Operations(request, call);
  return Catalogue(request, call);
}

HttpReply Api::Handle(const HttpRequest& request) {
  if (request.path == "/emulator" || request.path.rfind("/emulator/", 0) == 0) {
    return admin_->Handle(request);
  }

  Call call = FindCall(request);
  const std::optional<Fault> fault = faults_->Take(request, call.name);
  HttpReply reply;
  TextAnswer answer = NoSuchMethod(request);
  if (fault && fault->status != 0) {
    answer = Ordered(*fault);
  } else if (fault && fault->drop == "before") {
    reply.drop = true;
  } else if (call.name != "unknown") {
    answer = Dispatch(request, call, fault ? fault->operation_error : Value());
  } else if (auto project = ProjectAnswer(request, service_, &call)) {
    answer = *std::move(project);
  } else if (auto login = LoginAnswer(request, service_, &call)) {
    answer = *std::move(login);
  }
  if (fault && fault->drop == "after") reply.drop = true;
  if (fault) {
    reply.delay = std::chrono::milliseconds(fault->delay_ms);
    reply.cut_after = fault->cut_after;
  }
  if (const auto* refusal = std::get_if<ApiError>(&answer)) {
    reply.status = refusal->HttpStatus();
    reply.body = ToJson(refusal->HttpBody());
  } else {
    reply.body = std::get<std::string>(std::move(answer));
  }
  admin_->Count(request, call.name, reply.drop ? 0 : reply.status);
  return reply;
}

}  // namespace podctl::emulator

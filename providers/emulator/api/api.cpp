#include "providers/emulator/api/api.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "providers/emulator/api/schema.h"
#include "providers/emulator/service/catalogue.h"

namespace podctl::emulator {
namespace {

// "P" of "/compute/v1/projects/P"; "" for other requests.
std::string ProjectBehind(std::string_view prefix, const HttpRequest& request) {
  if (request.method != "GET" || !request.path.starts_with(prefix)) return {};
  std::string rest = request.path.substr(prefix.size());
  return rest.find('/') == std::string::npos ? rest : std::string();
}

std::string MessageOf(const Fault& fault) {
  return fault.message.empty() ? "a fault that was ordered" : fault.message;
}

// What a fault does to an answer, and to one that was never worked out.
void Afflict(const std::optional<Fault>& fault, HttpReply* reply) {
  if (!fault) return;
  reply->drop = reply->drop || fault->drop == "after";
  reply->delay = std::chrono::milliseconds(fault->delay_ms);
  reply->cut_after = fault->cut_after;
}

}  // namespace

// What gcloud asks of other services about the project: Compute Engine before an ssh, the Resource
// Manager before it names a reservation.
std::optional<Answer> Api::ProjectAnswer(const HttpRequest& request, Call* call) {
  if (const std::string id = ProjectBehind("/v1/projects/", request); !id.empty()) {
    call->name = "cloudresourcemanager.projects.get";
    return Value::Map{
        {"projectId", id}, {"projectNumber", ProjectNumber(id)}, {"lifecycleState", "ACTIVE"}};
  }
  const std::string name = ProjectBehind("/compute/v1/projects/", request);
  if (name.empty()) return std::nullopt;
  call->name = "compute.projects.get";
  Value::List items;
  {
    const auto lock = service_->Lock();
    for (const auto& [key, value] : service_->logins.project_metadata().AsMap()) {
      items.push_back(Value::Map{{"key", key}, {"value", value}});
    }
  }
  Value metadata = Value::Map{{"kind", "compute#metadata"}};
  if (!items.empty()) metadata.Set("items", std::move(items));
  return Value::Map{
      {"kind", "compute#project"}, {"name", name}, {"commonInstanceMetadata", std::move(metadata)}};
}

// Two methods of OS Login's v1: /v1/users/EMAIL/loginProfile and …/EMAIL:importSshPublicKey.
std::optional<Answer> Api::LoginAnswer(const HttpRequest& request, Call* call) {
  constexpr std::string_view kUsers = "/v1/users/";
  constexpr std::string_view kProfile = "/loginProfile";
  constexpr std::string_view kImport = ":importSshPublicKey";
  std::string_view path = request.path;
  if (!path.starts_with(kUsers)) return std::nullopt;
  path.remove_prefix(kUsers.size());
  const bool imports = path.ends_with(kImport);
  if (!imports && !path.ends_with(kProfile)) return std::nullopt;
  path.remove_suffix(imports ? kImport.size() : kProfile.size());
  if (request.method != (imports ? "POST" : "GET")) return std::nullopt;
  call->name = imports ? "oslogin.users.importSshPublicKey" : "oslogin.users.getLoginProfile";
  const std::string email(path);
  if (email.find('@') == std::string::npos || email.find('/') != std::string::npos) {
    return InvalidArgument("The user is not an e-mail.");
  }
  const Result<Value> body = imports ? ParseLenientJson(request.body) : Value();
  if (!body) return InvalidArgument(body.error().message);
  const auto lock = service_->Lock();
  return imports ? service_->logins.Import(email, *body) : service_->logins.Profile(email);
}

Answer Api::Dispatch(const HttpRequest& request, const Route& route, Call call) {
  if (auto refusal = CheckParameters(request, route, call.version)) return *std::move(refusal);
  const bool any_zone =
      call.place.zone == "-" && (call.name == "nodes.list" || call.name == "queuedResources.list");
  // A create says more exactly what it dislikes about a zone.
  const bool exempt = any_zone || call.name == "locations.list" || call.name == "nodes.create";
  const bool exists =
      route.of == Route::Of::kVertex ? IsRegion(call.place.zone) : IsZone(call.place.zone);
  if (!exempt && !exists) return LocationDenied(call.place.zone);
  if (auto refusal = ReadRequest(request, route, &call)) return *std::move(refusal);
  const auto lock = service_->Lock();
  return route.handle(*service_, call);
}

Answer Api::SecretAnswer(const HttpRequest& request, const SecretRoute& route, Call call) {
  if (auto refusal = ReadSecretRequest(request, &call)) return *std::move(refusal);
  const auto lock = service_->Lock();
  return route.handle(*service_, call);
}

HttpReply Api::StorageReply(const HttpRequest& request) {
  const StorageRequest read = storage_.Read(request);
  const std::optional<Fault> fault = faults_->Take(read.shown, read.call);
  HttpReply reply;
  if (fault && fault->status != 0) {
    ShowStorageError(StorageErrorOf(fault->status, MessageOf(*fault)), &reply);
  } else if (fault && fault->drop == "before") {
    reply.drop = true;
  } else {
    reply = storage_.Answer(request, read);
  }
  Afflict(fault, &reply);
  admin_->Count(read.shown, read.call, reply.drop ? 0 : reply.status);
  return reply;
}

HttpReply Api::Handle(const HttpRequest& request) {
  if (request.path == "/emulator" || request.path.starts_with("/emulator/")) {
    return admin_->Handle(request);
  }
  if (StorageApi::Serves(request.path)) return StorageReply(request);
  Call call;
  const Route* const route = FindRoute(request, &call);
  const SecretRoute* secret = nullptr;
  if (route == nullptr) {
    call = Call();  // that was another service's path
    secret = FindSecretRoute(request, &call);
  }
  if (route == nullptr && secret == nullptr && !request.path.starts_with("/compute/")) {
    if (const auto object = storage_.AsJsonApi(request)) return StorageReply(*object);
  }
  const std::optional<Fault> fault = faults_->Take(request, call.name);
  HttpReply reply;
  Answer answer =
      MakeStatus("NOT_FOUND", fmt::format("Method not found: {} {}", request.method, request.path));
  if (fault && fault->status != 0) {
    answer = ApiError{.status = std::string(StatusOfHttp(fault->status)),
                      .message = MessageOf(*fault),
                      .details = fault->details,
                      .http = fault->status};
  } else if (fault && fault->drop == "before") {
    reply.drop = true;
  } else if (route != nullptr) {
    if (fault) call.failure = fault->operation_error;
    answer = Dispatch(request, *route, call);
  } else if (secret != nullptr) {
    answer = SecretAnswer(request, *secret, call);
  } else if (auto project = ProjectAnswer(request, &call)) {
    answer = *std::move(project);
  } else if (auto login = LoginAnswer(request, &call)) {
    answer = *std::move(login);
  }
  Afflict(fault, &reply);
  Show(answer, &reply);
  admin_->Count(request, call.name, reply.drop ? 0 : reply.status);
  return reply;
}

}  // namespace podctl::emulator

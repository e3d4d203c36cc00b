#include "providers/emulator/service/node_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <random>
#include <utility>

#include "providers/emulator/service/catalogue.h"

namespace podctl::emulator {
namespace {

constexpr std::size_t kMaxDescription = 512;  // characters
constexpr std::size_t kMaxLabels = 64;
constexpr std::size_t kMaxLabelLength = 63;  // characters
constexpr std::size_t kMaxMetadataBytes = std::size_t{512}
                                          << 10;  // of all entries, as Compute Engine has it
constexpr int kTpuPort = 8470;                    // gRPC of tpu-runtime

std::uint64_t RandomBits() {
  static thread_local std::mt19937_64 engine{std::random_device{}()};
  return engine();
}

std::size_t CountCharacters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

Refusal CheckLabels(const Value& labels) {
  if (labels.AsMap().size() > kMaxLabels) {
    return BadRequest(fmt::format("The resource has {} labels; at most {} are allowed.",
                                  labels.AsMap().size(), kMaxLabels));
  }
  for (const auto& [key, value] : labels.AsMap()) {
    const bool starts = !key.empty() && ((key[0] >= 'a' && key[0] <= 'z') ||
                                         static_cast<unsigned char>(key[0]) >= 0x80);
    if (!starts || !IsLabelText(key) || CountCharacters(key) > kMaxLabelLength) {
      return BadRequest(fmt::format("The label key \"{}\" is invalid.", key));
    }
    if (!IsLabelText(value.AsString()) || CountCharacters(value.AsString()) > kMaxLabelLength) {
      return BadRequest(
          fmt::format("The value \"{}\" of the label \"{}\" is invalid.", value.AsString(), key));
    }
  }
  return std::nullopt;
}

Refusal CheckMetadata(const Value& metadata) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : metadata.AsMap()) {
    const bool plain =
        !key.empty() && key.size() <= 128 && std::all_of(key.begin(), key.end(), [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '-' || c == '_';
        });
    if (!plain) return BadRequest(fmt::format("The metadata key \"{}\" is invalid.", key));
    bytes += key.size() + value.AsString().size();
  }
  if (bytes > kMaxMetadataBytes) {
    return BadRequest(fmt::format("The metadata has {} bytes; at most {} are allowed.", bytes,
                                  kMaxMetadataBytes));
  }
  return std::nullopt;
}

// "10.2.3.0/29": four numbers and the one size that is allowed.
bool IsCidr29(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int part = 0; part < 5; ++part) {
    int number = -1;
    const auto [next, problem] = std::from_chars(at, end, number);
    if (problem != std::errc{} || number < 0 || number > 255) return false;
    at = next;
    if (part == 4) return at == end && number == 29;
    if (at == end || *at != (part == 3 ? '/' : '.')) return false;
    ++at;
  }
  return false;
}

Refusal CheckWritable(const Value& body, int workers) {
  if (CountCharacters(body["description"].AsString()) > kMaxDescription) {
    return BadRequest(
        fmt::format("The description is longer than {} characters.", kMaxDescription));
  }
  if (auto refusal = CheckLabels(body["labels"])) return refusal;
  if (auto refusal = CheckMetadata(body["metadata"])) return refusal;
  for (const Value& disk : body["dataDisks"].AsList()) {
    if (disk["sourceDisk"].AsString().rfind("projects/", 0) != 0) {
      return BadRequest(fmt::format("The data disk \"{}\" is not a full resource path.",
                                    disk["sourceDisk"].AsString()));
    }
    if (workers > 1 && disk["mode"].AsString() != "READ_ONLY") {
      return BadRequest("A node with several workers takes data disks in READ_ONLY mode only.");
    }
  }
  return std::nullopt;
}

using AcceleratorAnswer = std::variant<Accelerator, ApiError>;

AcceleratorAnswer ChooseAccelerator(const Place& place, const Value& body) {
  const std::string& type = body["acceleratorType"].AsString();
  const Value* config = body.Find("acceleratorConfig");
  if (!type.empty() && config != nullptr) {
    return BadRequest("Only one of accelerator_type and accelerator_config may be set.");
  }
  if (type.empty() && config == nullptr) {
    return BadRequest("One of accelerator_type and accelerator_config must be set.");
  }
  if (config != nullptr) {
    const std::string& family = (*config)["type"].AsString();
    const std::string& topology = (*config)["topology"].AsString();
    const auto found = FindAccelerator(family, topology);
    if (found && Offers(place.zone, *found)) return *found;
    return BadRequest(fmt::format(
        "The requested accelerator configuration for type \"{}\" and topology \"{}\" could not be "
        "found in the zonal accelerator configurations for \"{}\".",
        family, topology, place.zone));
  }
  const auto found = FindAccelerator(type);
  if (found && Offers(place.zone, *found)) return *found;
  return BadRequest(fmt::format(
      "The requested accelerator configuration for accelerator type, \"{0}\", could not be found "
      "in the zonal accelerator configurations for \"{1}\".; the accelerator {0} was not found in "
      "zone {1}",
      type, place.zone));
}

Refusal CheckRuntime(const Place& place, const Value& body) {
  const std::string& version = body["runtimeVersion"].AsString();
  if (version.empty()) return BadRequest("The runtime version must be set.");
  if (!IsRuntimeVersion(version)) {
    return BadRequest(
        fmt::format("The runtime version \"{}\" was not found in zone {}.", version, place.zone));
  }
  return std::nullopt;
}

Refusal CheckNew(const Place& place, std::string_view node_id, const Value& body) {
  if (!IsZone(place.zone)) {
    return BadRequest(fmt::format("The requested zone \"{}\" is not supported.", place.zone));
  }
  if (!IsResourceId(node_id)) {
    return BadRequest(fmt::format("The node id \"{}\" is invalid.", node_id));
  }
  if (body.Find("networkConfig") != nullptr && !body["networkConfigs"].AsList().empty()) {
    return BadRequest("Only one of network_config and network_configs may be set.");
  }
  const std::string& cidr = body["cidrBlock"].AsString();
  if (!cidr.empty() && !IsCidr29(cidr)) {
    return BadRequest(fmt::format("The CIDR block \"{}\" must be a /29 block.", cidr));
  }
  return std::nullopt;
}

std::string FullPath(std::string_view name, std::string_view parent) {
  if (name.find('/') != std::string_view::npos) return std::string(name);
  return fmt::format("{}/{}", parent, name.empty() ? "default" : name);
}

Value FillNetwork(const Place& place, Value config) {
  config.Set("network", FullPath(config["network"].AsString(),
                                 fmt::format("projects/{}/global/networks", place.project)));
  config.Set("subnetwork", FullPath(config["subnetwork"].AsString(),
                                    fmt::format("projects/{}/regions/{}/subnetworks", place.project,
                                                RegionOf(place.zone))));
  return config;
}

Value FillServiceAccount(const Place& place, Value account) {
  if (account["email"].AsString().empty()) {
    account.Set("email", ProjectNumber(place.project) + "-compute@developer.gserviceaccount.com");
  }
  Value::List scopes = account["scope"].AsList();
  if (scopes.empty()) scopes.emplace_back("https://www.googleapis.com/auth/cloud-platform");
  const Value pubsub("https://www.googleapis.com/auth/pubsub");  // the server adds it to any list
  if (std::find(scopes.begin(), scopes.end(), pubsub) == scopes.end()) scopes.push_back(pubsub);
  account.Set("scope", std::move(scopes));
  return account;
}

// proto3 JSON: false, 0, "", empty lists and maps are not printed. Empty messages are.
void DropDefaults(Value* value) {
  Value kept = Value::EmptyMap();
  for (const auto& [key, member] : value->AsMap()) {
    const bool is_default = (member.is_bool() && !member.AsBool()) ||
                            (member.is_int() && member.AsInt() == 0) ||
                            (member.is_string() && member.AsString().empty()) ||
                            (member.is_list() && member.AsList().empty()) || member.is_null();
    if (is_default) continue;
    Value copy = member;
    if (key == "schedulingConfig" || key == "shieldedInstanceConfig" || key == "networkConfig" ||
        key == "bootDiskConfig") {
      DropDefaults(&copy);
    }
    kept.Set(key, std::move(copy));
  }
  *value = std::move(kept);
}

void DropEmptyMaps(Value* resource) {
  for (const std::string_view key : {"labels", "metadata"}) {
    if ((*resource)[key].AsMap().empty()) resource->Erase(key);
  }
}

}  // namespace

Value NodeView(const Value& resource, ApiVersion version) {
  if (version == ApiVersion::kV2Alpha1) return resource;
  Value view = resource;
  view.Erase("autocheckpointEnabled");
  if (const Value* disk = view.Find("bootDiskConfig"); disk != nullptr) {
    Value shown = Value::EmptyMap();
    if (const Value* key = disk->Find("customerEncryptionKey")) {
      shown.Set("customerEncryptionKey", *key);
    }
    view.Erase("bootDiskConfig");
    if (!shown.AsMap().empty()) view.Set("bootDiskConfig", std::move(shown));
  }
  for (const std::string_view field :
       {"provisioningModel", "reservationName", "terminationTimestamp"}) {
    view.ErasePath(fmt::format("schedulingConfig.{}", field));
  }
  if (view.Find("dataDisks") != nullptr) {
    Value::List disks = view["dataDisks"].AsList();
    for (Value& disk : disks) disk.Erase("workerIds");
    view.Set("dataDisks", std::move(disks));
  }
  return view;
}

bool IsSpot(const Value& node) {
  const Value& scheduling = node["schedulingConfig"];
  return scheduling["spot"].AsBool() || scheduling["preemptible"].AsBool() ||
         scheduling["provisioningModel"].AsString() == "SPOT";
}

NewNodeAnswer MakeNode(const Place& place, std::string_view node_id, const Value& body,
                       ApiVersion version, const std::string& create_time) {
  if (auto refusal = CheckNew(place, node_id, body)) return *std::move(refusal);
  AcceleratorAnswer chosen = ChooseAccelerator(place, body);
  if (auto* refusal = std::get_if<ApiError>(&chosen)) return std::move(*refusal);
  const Accelerator& accelerator = std::get<Accelerator>(chosen);
  if (auto refusal = CheckRuntime(place, body)) return *std::move(refusal);
  if (auto refusal = CheckWritable(body, accelerator.workers)) return *std::move(refusal);

  Node made;
  made.workers = accelerator.workers;
  made.uid = std::to_string(RandomBits() >> 1U);
  made.host = fmt::format("t1v-n-{:08x}", static_cast<std::uint32_t>(RandomBits()));
  Value& node = made.resource;
  node = body;
  node.Set("name", place.Name("nodes", node_id));
  node.Set("id", made.uid);
  node.Set("apiVersion", version == ApiVersion::kV2 ? "V2" : "V2_ALPHA1");
  node.Set("createTime", create_time);
  node.Set("state", "CREATING");
  node.Set("acceleratorType", accelerator.type);
  node.Set("acceleratorConfig",
           Value::Map{{"type", accelerator.api_type}, {"topology", accelerator.topology}});
  if (node["cidrBlock"].AsString().empty()) node.Set("cidrBlock", "10.164.0.0/20");
  if (const Value::List& several = body["networkConfigs"].AsList(); several.empty()) {
    node.Set("networkConfig", FillNetwork(place, body["networkConfig"]));
  } else {
    Value::List filled;
    for (const Value& one : several) filled.push_back(FillNetwork(place, one));
    node.Set("networkConfigs", std::move(filled));
  }
  node.Set("serviceAccount", FillServiceAccount(place, body["serviceAccount"]));
  for (const std::string_view key : {"schedulingConfig", "shieldedInstanceConfig"}) {
    if (node.Find(key) == nullptr) node.Set(key, Value::EmptyMap());
  }
  DropDefaults(&node);
  DropEmptyMaps(&node);
  return made;
}

UpdateAnswer MakeUpdate(const std::vector<MaskPath>& mask, const Value& body, int workers) {
  constexpr std::array<std::string_view, 6> kWritable = {
      "description", "tags", "labels", "metadata", "dataDisks", "networkConfig.enableExternalIps"};
  Update update;
  for (const auto& [given, path] : mask) {
    if (path.empty()) {
      return FieldViolation(
          "update_mask", fmt::format("Invalid field mask: \"{}\" is not a field of Node.", given));
    }
    if (std::find(kWritable.begin(), kWritable.end(), path) == kWritable.end()) {
      return BadRequest(
          fmt::format("The field \"{}\" in the update mask cannot be updated.", given));
    }
    const Value* value = body.FindPath(path);
    update.fields.emplace_back(path, value == nullptr ? Value() : *value);
  }
  if (update.fields.empty()) return BadRequest("The update mask must be set.");
  Value changed = Value::EmptyMap();
  for (const auto& [path, value] : update.fields) changed.SetPath(path, value);
  if (auto refusal = CheckWritable(changed, workers)) return *std::move(refusal);
  return update;
}

void ApplyUpdate(const Update& update, Value* resource) {
  for (const auto& [path, value] : update.fields) {
    if (value.is_null()) {
      resource->ErasePath(path);
    } else {
      resource->SetPath(path, value);
    }
  }
  DropDefaults(resource);
  DropEmptyMaps(resource);
}

Value MakeEndpoints(const std::vector<std::string>& addresses, bool external) {
  Value::List endpoints;
  for (const std::string& address : addresses) {
    Value endpoint = Value::Map{{"ipAddress", address}, {"port", kTpuPort}};
    if (external) endpoint.SetPath("accessConfig.externalIp", address);
    endpoints.push_back(std::move(endpoint));
  }
  return endpoints;
}

}  // namespace podctl::emulator

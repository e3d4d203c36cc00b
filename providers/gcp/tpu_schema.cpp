#include "providers/gcp/tpu_schema.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "providers/base/text.h"

namespace podctl::gcp {
namespace {

using enum FieldType;
using enum FieldClass;
using enum NormalForm;
using enum ApiVersion;

constexpr Field kFields[] = {
    {"acceleratorConfig", kMessage, kImmutable,
     "The TPU as a generation and a topology; in place of acceleratorType."},
    {"acceleratorConfig.topology", kString, kImmutable,
     "How the chips are laid out, such as 4x4 or 2x2x2."},
    {"acceleratorConfig.type", kEnum, kImmutable, "The TPU's generation.", kV2, kNone,
     "V2 V3 V4 V5LITE_POD V5P V6E"},
    {"acceleratorType", kString, kImmutable,
     "The TPU as a generation and a size, such as v3-32; in place of acceleratorConfig.", kV2,
     kLowerCase},
    {"apiVersion", kEnum, kOutputOnly, "The version of the API that made the node.", kV2, kNone,
     "V1_ALPHA1 V1 V2_ALPHA1 V2"},
    {"autocheckpointEnabled", kBool, kImmutable, "Whether Autocheckpoint is on.", kV2Alpha1},
    {"bootDiskConfig", kMessage, kImmutable, "The disk the workers boot from."},
    {"bootDiskConfig.customerEncryptionKey", kMessage, kImmutable,
     "The customer's key for the disk."},
    {"bootDiskConfig.customerEncryptionKey.kmsKeyName", kString, kImmutable,
     "The key's name in Cloud KMS.", kV2, kKey},
    {"bootDiskConfig.diskSizeGb", kInt64, kImmutable,
     "The disk's size in GB, at least the image's.", kV2Alpha1},
    {"bootDiskConfig.enableConfidentialCompute", kBool, kImmutable,
     "Whether the disk is made in confidential mode.", kV2Alpha1},
    {"bootDiskConfig.provisionedIops", kInt64, kImmutable,
     "I/O operations a second that the disk can do.", kV2Alpha1},
    {"bootDiskConfig.provisionedThroughput", kInt64, kImmutable,
     "MB a second that the disk can do.", kV2Alpha1},
    {"bootDiskConfig.sourceImage", kString, kImmutable,
     "The image the disk is made from; the runtime version's when absent.", kV2Alpha1, kResource},
    {"bootDiskConfig.storagePool", kString, kImmutable,
     "The storage pool that the disk is made in.", kV2Alpha1, kResource},
    {"cidrBlock", kString, kImmutable, "The /29 block of addresses the node takes its own from."},
    {"createTime", kString, kOutputOnly, "When the node was made (RFC 3339)."},
    {"dataDisks", kMessageList, kPatchable, "Existing disks that are attached to the workers.", kV2,
     kNone, "", "dataDisks"},
    {"dataDisks[].mode", kEnum, kPatchable, "How the disk is attached; READ_WRITE when absent.",
     kV2, kNone, "READ_WRITE READ_ONLY", "dataDisks"},
    {"dataDisks[].sourceDisk", kString, kPatchable,
     "The disk's full name, projects/P/zones/Z/disks/D.", kV2, kResource, "", "dataDisks"},
    {"dataDisks[].workerIds", kStringList, kPatchable,
     "The workers it is attached to; all when absent.", kV2Alpha1, kNone, "", "dataDisks"},
    {"description", kString, kPatchable, "Free text about the node, at most 512 characters.", kV2,
     kNone, "", "description"},
    {"health", kEnum, kOutputOnly, "How the node fares.", kV2, kNone,
     "HEALTHY TIMEOUT UNHEALTHY_TENSORFLOW UNHEALTHY_MAINTENANCE"},
    {"healthDescription", kString, kOutputOnly, "Why the node is not healthy."},
    {"id", kString, kOutputOnly, "The service's own number for the node (int64)."},
    {"labels", kStringMap, kPatchable, "Names and values by which nodes are found and billed.", kV2,
     kNone, "", "labels"},
    {"metadata", kStringMap, kPatchable,
     "What the guest reads from the metadata server, such as startup-script.", kV2, kNone, "",
     "metadata"},
    {"multisliceNode", kBool, kOutputOnly, "Whether the node is one slice of several."},
    {"name", kString, kOutputOnly, "The node's full resource name."},
    {"networkConfig", kMessage, kImmutable, "The network the workers stand in."},
    {"networkConfig.canIpForward", kBool, kImmutable,
     "Whether workers may pass on packets that are not their own."},
    {"networkConfig.enableExternalIps", kBool, kPatchable,
     "Whether workers get external addresses.", kV2, kNone, "", "networkConfig.enableExternalIps"},
    {"networkConfig.network", kString, kImmutable, "The VPC network; default when absent.", kV2,
     kNetwork},
    {"networkConfig.queueCount", kInt, kImmutable,
     "How many queues the workers' network interface has."},
    {"networkConfig.subnetwork", kString, kImmutable, "The subnetwork; default when absent.", kV2,
     kSubnetwork},
    {"networkConfigs", kMessageList, kImmutable,
     "Several networks for workers with several interfaces; in place of networkConfig."},
    {"networkConfigs[].canIpForward", kBool, kImmutable,
     "Whether workers may pass on packets that are not their own."},
    {"networkConfigs[].enableExternalIps", kBool, kImmutable,
     "Whether workers get external addresses."},
    {"networkConfigs[].network", kString, kImmutable, "The VPC network.", kV2, kNetwork},
    {"networkConfigs[].queueCount", kInt, kImmutable, "How many queues this interface has."},
    {"networkConfigs[].subnetwork", kString, kImmutable, "The subnetwork.", kV2, kSubnetwork},
    {"networkEndpoints", kMessageList, kOutputOnly,
     "Where each worker is reached, in worker order."},
    {"networkEndpoints[].accessConfig", kMessage, kOutputOnly, "The worker's access from outside."},
    {"networkEndpoints[].accessConfig.externalIp", kString, kOutputOnly,
     "The worker's external address."},
    {"networkEndpoints[].ipAddress", kString, kOutputOnly, "The worker's internal address."},
    {"networkEndpoints[].port", kInt, kOutputOnly, "The port of the worker's TPU runtime."},
    {"protectionTier", kEnum, kOutputOnly,
     "What is promised of the node when power or cooling fails.", kV2, kNone,
     "STANDARD CAPACITY_OPTIMIZED"},
    {"queuedResource", kString, kOutputOnly, "The queued resource that asked for the node."},
    {"runtimeVersion", kString, kImmutable,
     "The image the workers boot, such as tpu-vm-tf-2.11.0-pod."},
    {"schedulingConfig", kMessage, kImmutable, "On what terms capacity is given."},
    {"schedulingConfig.preemptible", kBool, kImmutable,
     "Whether the node may be taken back, at most a day later."},
    {"schedulingConfig.provisioningModel", kEnum, kImmutable,
     "On which of the service's terms capacity is given.", kV2Alpha1, kNone,
     "STANDARD SPOT RESERVATION_BOUND"},
    {"schedulingConfig.reservationName", kString, kImmutable,
     "The reservation, projects/P/locations/Z/reservations/R.", kV2Alpha1, kReservation},
    {"schedulingConfig.reserved", kBool, kImmutable, "Whether capacity comes from a reservation."},
    {"schedulingConfig.spot", kBool, kImmutable,
     "Whether the node is a Spot VM, which may be taken back at any time."},
    {"schedulingConfig.terminationTimestamp", kString, kOutputOnly,
     "When the node will be ended (RFC 3339).", kV2Alpha1},
    {"serviceAccount", kMessage, kImmutable,
     "The account the workers act as; the project's default one when absent."},
    {"serviceAccount.email", kString, kImmutable, "The account's address."},
    {"serviceAccount.scope", kStringList, kImmutable, "The OAuth scopes given to the workers.", kV2,
     kScopes},
    {"shieldedInstanceConfig", kMessage, kImmutable, "Shielded VM options."},
    {"shieldedInstanceConfig.enableSecureBoot", kBool, kImmutable, "Whether Secure Boot is on."},
    {"state", kEnum, kOutputOnly, "What the node is doing.", kV2, kNone,
     "CREATING READY RESTARTING REIMAGING DELETING REPAIRING STOPPED STOPPING STARTING PREEMPTED "
     "TERMINATED HIDING HIDDEN UNHIDING UNKNOWN"},
    {"symptoms", kMessageList, kOutputOnly, "Troubles the node has had."},
    {"symptoms[].createTime", kString, kOutputOnly, "When it was seen (RFC 3339)."},
    {"symptoms[].details", kString, kOutputOnly, "What was seen."},
    {"symptoms[].symptomType", kEnum, kOutputOnly, "Its kind.", kV2, kNone,
     "LOW_MEMORY OUT_OF_MEMORY EXECUTE_TIMED_OUT MESH_BUILD_FAIL HBM_OUT_OF_MEMORY PROJECT_ABUSE"},
    {"symptoms[].workerId", kString, kOutputOnly, "The worker that had it."},
    {"tags", kStringList, kPatchable, "Network tags that firewall rules refer to.", kV2, kNone, "",
     "tags"},
    {"upcomingMaintenance", kMessage, kOutputOnly, "Maintenance that is announced."},
    {"upcomingMaintenance.canReschedule", kBool, kOutputOnly, "Whether it may be started early."},
    {"upcomingMaintenance.latestWindowStartTime", kString, kOutputOnly,
     "The latest moment it may begin (RFC 3339)."},
    {"upcomingMaintenance.maintenanceStatus", kEnum, kOutputOnly, "Whether it has begun.", kV2,
     kNone, "PENDING ONGOING"},
    {"upcomingMaintenance.type", kEnum, kOutputOnly, "Whether it was planned.", kV2, kNone,
     "SCHEDULED UNSCHEDULED"},
    {"upcomingMaintenance.windowEndTime", kString, kOutputOnly, "When it will be over (RFC 3339)."},
    {"upcomingMaintenance.windowStartTime", kString, kOutputOnly, "When it begins (RFC 3339)."},
};

// The service adds this scope to every node on its own (Terraform's tpuv2 resource hides it too).
constexpr std::string_view kScopeOfTheService = "https://www.googleapis.com/auth/pubsub";

// "https://www.googleapis.com/compute/v1/projects/p/…" -> "projects/p/…": Compute Engine's API
// writes the same resource both ways.
std::string_view WithoutHost(std::string_view name) {
  if (!name.starts_with("https://")) return name;
  const auto start = name.find("/projects/");
  return start == std::string_view::npos ? name : name.substr(start + 1);
}

std::string FullName(std::string_view name, std::string_view project, const std::string& parent,
                     std::string_view kind) {
  name = WithoutHost(name);
  if (name.starts_with("projects/") || name.starts_with("https://") || name.empty()) {
    return std::string(name);
  }
  const std::string head = "projects/" + std::string(project) + "/";
  if (name.find('/') != std::string_view::npos) return head + std::string(name);
  return head + parent + "/" + std::string(kind) + "/" + std::string(name);
}

// "europe-west4-a" -> "europe-west4".
std::string RegionOf(std::string_view zone) {
  const auto dash = zone.rfind('-');
  return std::string(zone.substr(0, dash));
}

std::string WithoutVersion(const std::string& key) {
  return key.substr(0, key.find("/cryptoKeyVersions/"));
}

// "projects/p/locations/z/reservations/r" -> "locations/z/reservations/r".
std::string WithoutProject(const std::string& name) {
  const auto location = name.find("/locations/");
  return location == std::string::npos ? name : name.substr(location + 1);
}

Value NormalScopes(const Value& value) {
  if (!value.is_list()) return value;
  std::set<std::string> scopes;
  for (const Value& scope : value.AsList()) {
    if (scope.AsString() != kScopeOfTheService) scopes.insert(scope.AsString());
  }
  Value::List list;
  for (const std::string& scope : scopes) list.emplace_back(scope);
  return list;
}

}  // namespace

std::span<const Field> NodeFields() {
  return kFields;
}

const Field* FindNodeField(std::string_view path) {
  static const std::map<std::string_view, const Field*> index = [] {
    std::map<std::string_view, const Field*> fields;
    for (const Field& field : kFields) fields.emplace(field.path, &field);
    return fields;
  }();
  const auto it = index.find(path);
  return it == index.end() ? nullptr : it->second;
}

bool IsEnumWord(const Field& field, std::string_view word) {
  const auto words = SplitWords(field.enum_values);
  return std::find(words.begin(), words.end(), word) != words.end();
}

Value Normalize(const Field& field, const Value& value, std::string_view project,
                std::string_view zone) {
  if (field.normal_form == kScopes) return NormalScopes(value);
  if (field.normal_form == kNone || !value.is_string()) return value;
  const std::string& text = value.AsString();
  switch (field.normal_form) {
    case kLowerCase:
      return LowerCase(text);
    case kNetwork:
      return FullName(text, project, "global", "networks");
    case kSubnetwork:
      return FullName(text, project, "regions/" + RegionOf(zone), "subnetworks");
    case kResource:
      return WithoutHost(text);
    case kKey:
      return WithoutVersion(text);
    case kReservation:
      return WithoutProject(text);
    case kNone:
    case kScopes:
      break;
  }
  return value;
}

namespace {

bool IsLower(char c) {
  return c >= 'a' && c <= 'z';
}

bool IsLowerOrDigit(char c) {
  return IsLower(c) || (c >= '0' && c <= '9');
}

}  // namespace

bool IsProjectId(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return IsLowerOrDigit(c) || c == '-' || c == ':' || c == '.';
  });
}

bool IsLocation(std::string_view text) {
  return !text.empty() && IsLower(text[0]) && std::all_of(text.begin(), text.end(), [](char c) {
    return IsLowerOrDigit(c) || c == '-';
  });
}

bool IsNodeId(std::string_view text) {
  if (text == "." || text == "..") return false;  // these mean something else in a URL
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    return is_upper || IsLowerOrDigit(c) ||
           std::string_view("_.~+%-").find(c) != std::string_view::npos;
  });
}

}  // namespace podctl::gcp

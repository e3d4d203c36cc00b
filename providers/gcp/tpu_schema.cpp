#include "providers/gcp/tpu_schema.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>

namespace podctl::gcp {
namespace {

using enum FieldType;
using enum FieldClass;
using enum NormalForm;
using enum ApiVersion;

constexpr Field kFields[] = {
    {"acceleratorConfig", kMessage, kImmutable, "", kNone, "",
     "The TPU as a generation and a topology; in place of acceleratorType."},
    {"acceleratorConfig.topology", kString, kImmutable, "", kNone, "",
     "How the chips are laid out, such as 4x4 or 2x2x2."},
    {"acceleratorConfig.type", kEnum, kImmutable, "", kNone, "V2 V3 V4 V5LITE_POD V5P V6E",
     "The TPU's generation."},
    {"acceleratorType", kString, kImmutable, "", kLowerCase, "",
     "The TPU as a generation and a size, such as v3-32; in place of acceleratorConfig."},
    {"apiVersion", kEnum, kOutputOnly, "", kNone, "V1_ALPHA1 V1 V2_ALPHA1 V2",
     "The version of the API that made the node."},
    {"autocheckpointEnabled", kBool, kImmutable, "", kNone, "", "Whether Autocheckpoint is on.",
     kV2Alpha1},
    {"bootDiskConfig", kMessage, kImmutable, "", kNone, "", "The disk the workers boot from."},
    {"bootDiskConfig.customerEncryptionKey", kMessage, kImmutable, "", kNone, "",
     "The customer's key for the disk."},
    {"bootDiskConfig.customerEncryptionKey.kmsKeyName", kString, kImmutable, "", kKey, "",
     "The key's name in Cloud KMS."},
    {"bootDiskConfig.diskSizeGb", kInt64, kImmutable, "", kNone, "",
     "The disk's size in GB, at least the image's.", kV2Alpha1},
    {"bootDiskConfig.enableConfidentialCompute", kBool, kImmutable, "", kNone, "",
     "Whether the disk is made in confidential mode.", kV2Alpha1},
    {"bootDiskConfig.provisionedIops", kInt64, kImmutable, "", kNone, "",
     "I/O operations a second that the disk can do.", kV2Alpha1},
    {"bootDiskConfig.provisionedThroughput", kInt64, kImmutable, "", kNone, "",
     "MB a second that the disk can do.", kV2Alpha1},
    {"bootDiskConfig.sourceImage", kString, kImmutable, "", kResource, "",
     "The image the disk is made from; the runtime version's when absent.", kV2Alpha1},
    {"bootDiskConfig.storagePool", kString, kImmutable, "", kResource, "",
     "The storage pool that the disk is made in.", kV2Alpha1},
    {"cidrBlock", kString, kImmutable, "", kNone, "",
     "The /29 block of addresses the node takes its own from."},
    {"createTime", kString, kOutputOnly, "", kNone, "", "When the node was made (RFC 3339)."},
    {"dataDisks", kMessageList, kPatchable, "dataDisks", kNone, "",
     "Existing disks that are attached to the workers."},
    {"dataDisks[].mode", kEnum, kPatchable, "dataDisks", kNone, "READ_WRITE READ_ONLY",
     "How the disk is attached; READ_WRITE when absent."},
    {"dataDisks[].sourceDisk", kString, kPatchable, "dataDisks", kResource, "",
     "The disk's full name, projects/P/zones/Z/disks/D."},
    {"dataDisks[].workerIds", kStringList, kPatchable, "dataDisks", kNone, "",
     "The workers it is attached to; all when absent.", kV2Alpha1},
    {"description", kString, kPatchable, "description", kNone, "",
     "Free text about the node, at most 512 characters."},
    {"health", kEnum, kOutputOnly, "", kNone,
     "HEALTHY TIMEOUT UNHEALTHY_TENSORFLOW UNHEALTHY_MAINTENANCE", "How the node fares."},
    {"healthDescription", kString, kOutputOnly, "", kNone, "", "Why the node is not healthy."},
    {"id", kString, kOutputOnly, "", kNone, "", "The service's own number for the node (int64)."},
    {"labels", kStringMap, kPatchable, "labels", kNone, "",
     "Names and values by which nodes are found and billed."},
    {"metadata", kStringMap, kPatchable, "metadata", kNone, "",
     "What the guest reads from the metadata server, such as startup-script."},
    {"multisliceNode", kBool, kOutputOnly, "", kNone, "",
     "Whether the node is one slice of several."},
    {"name", kString, kOutputOnly, "", kNone, "", "The node's full resource name."},
    {"networkConfig", kMessage, kImmutable, "", kNone, "", "The network the workers stand in."},
    {"networkConfig.canIpForward", kBool, kImmutable, "", kNone, "",
     "Whether workers may pass on packets that are not their own."},
    {"networkConfig.enableExternalIps", kBool, kPatchable, "networkConfig.enableExternalIps", kNone,
     "", "Whether workers get external addresses."},
    {"networkConfig.network", kString, kImmutable, "", kNetwork, "",
     "The VPC network; default when absent."},
    {"networkConfig.queueCount", kInt, kImmutable, "", kNone, "",
     "How many queues the workers' network interface has."},
    {"networkConfig.subnetwork", kString, kImmutable, "", kSubnetwork, "",
     "The subnetwork; default when absent."},
    {"networkConfigs", kMessageList, kImmutable, "", kNone, "",
     "Several networks for workers with several interfaces; in place of networkConfig."},
    {"networkConfigs[].canIpForward", kBool, kImmutable, "", kNone, "",
     "Whether workers may pass on packets that are not their own."},
    {"networkConfigs[].enableExternalIps", kBool, kImmutable, "", kNone, "",
     "Whether workers get external addresses."},
    {"networkConfigs[].network", kString, kImmutable, "", kNetwork, "", "The VPC network."},
    {"networkConfigs[].queueCount", kInt, kImmutable, "", kNone, "",
     "How many queues this interface has."},
    {"networkConfigs[].subnetwork", kString, kImmutable, "", kSubnetwork, "", "The subnetwork."},
    {"networkEndpoints", kMessageList, kOutputOnly, "", kNone, "",
     "Where each worker is reached, in worker order."},
    {"networkEndpoints[].accessConfig", kMessage, kOutputOnly, "", kNone, "",
     "The worker's access from outside."},
    {"networkEndpoints[].accessConfig.externalIp", kString, kOutputOnly, "", kNone, "",
     "The worker's external address."},
    {"networkEndpoints[].ipAddress", kString, kOutputOnly, "", kNone, "",
     "The worker's internal address."},
    {"networkEndpoints[].port", kInt, kOutputOnly, "", kNone, "",
     "The port of the worker's TPU runtime."},
    {"protectionTier", kEnum, kOutputOnly, "", kNone, "STANDARD CAPACITY_OPTIMIZED",
     "What is promised of the node when power or cooling fails."},
    {"queuedResource", kString, kOutputOnly, "", kNone, "",
     "The queued resource that asked for the node."},
    {"runtimeVersion", kString, kImmutable, "", kNone, "",
     "The image the workers boot, such as tpu-vm-tf-2.11.0-pod."},
    {"schedulingConfig", kMessage, kImmutable, "", kNone, "", "On what terms capacity is given."},
    {"schedulingConfig.preemptible", kBool, kImmutable, "", kNone, "",
     "Whether the node may be taken back, at most a day later."},
    {"schedulingConfig.provisioningModel", kEnum, kImmutable, "", kNone,
     "STANDARD SPOT RESERVATION_BOUND", "On which of the service's terms capacity is given.",
     kV2Alpha1},
    {"schedulingConfig.reservationName", kString, kImmutable, "", kReservation, "",
     "The reservation, projects/P/locations/Z/reservations/R.", kV2Alpha1},
    {"schedulingConfig.reserved", kBool, kImmutable, "", kNone, "",
     "Whether capacity comes from a reservation."},
    {"schedulingConfig.spot", kBool, kImmutable, "", kNone, "",
     "Whether the node is a Spot VM, which may be taken back at any time."},
    {"schedulingConfig.terminationTimestamp", kString, kOutputOnly, "", kNone, "",
     "When the node will be ended (RFC 3339).", kV2Alpha1},
    {"serviceAccount", kMessage, kImmutable, "", kNone, "",
     "The account the workers act as; the project's default one when absent."},
    {"serviceAccount.email", kString, kImmutable, "", kNone, "", "The account's address."},
    {"serviceAccount.scope", kStringList, kImmutable, "", kScopes, "",
     "The OAuth scopes given to the workers."},
    {"shieldedInstanceConfig", kMessage, kImmutable, "", kNone, "", "Shielded VM options."},
    {"shieldedInstanceConfig.enableSecureBoot", kBool, kImmutable, "", kNone, "",
     "Whether Secure Boot is on."},
    {"state", kEnum, kOutputOnly, "", kNone,
     "CREATING READY RESTARTING REIMAGING DELETING REPAIRING STOPPED STOPPING STARTING PREEMPTED "
     "TERMINATED HIDING HIDDEN UNHIDING UNKNOWN",
     "What the node is doing."},
    {"symptoms", kMessageList, kOutputOnly, "", kNone, "", "Troubles the node has had."},
    {"symptoms[].createTime", kString, kOutputOnly, "", kNone, "", "When it was seen (RFC 3339)."},
    {"symptoms[].details", kString, kOutputOnly, "", kNone, "", "What was seen."},
    {"symptoms[].symptomType", kEnum, kOutputOnly, "", kNone,
     "LOW_MEMORY OUT_OF_MEMORY EXECUTE_TIMED_OUT MESH_BUILD_FAIL HBM_OUT_OF_MEMORY PROJECT_ABUSE",
     "Its kind."},
    {"symptoms[].workerId", kString, kOutputOnly, "", kNone, "", "The worker that had it."},
    {"tags", kStringList, kPatchable, "tags", kNone, "",
     "Network tags that firewall rules refer to."},
    {"upcomingMaintenance", kMessage, kOutputOnly, "", kNone, "", "Maintenance that is announced."},
    {"upcomingMaintenance.canReschedule", kBool, kOutputOnly, "", kNone, "",
     "Whether it may be started early."},
    {"upcomingMaintenance.latestWindowStartTime", kString, kOutputOnly, "", kNone, "",
     "The latest moment it may begin (RFC 3339)."},
    {"upcomingMaintenance.maintenanceStatus", kEnum, kOutputOnly, "", kNone, "PENDING ONGOING",
     "Whether it has begun."},
    {"upcomingMaintenance.type", kEnum, kOutputOnly, "", kNone, "SCHEDULED UNSCHEDULED",
     "Whether it was planned."},
    {"upcomingMaintenance.windowEndTime", kString, kOutputOnly, "", kNone, "",
     "When it will be over (RFC 3339)."},
    {"upcomingMaintenance.windowStartTime", kString, kOutputOnly, "", kNone, "",
     "When it begins (RFC 3339)."},
};

// The service adds this scope to every node on its own (Terraform's tpuv2 resource hides it too).
constexpr std::string_view kScopeOfTheService = "https://www.googleapis.com/auth/pubsub";

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

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
  std::string_view words = field.enum_values;
  while (!words.empty()) {
    const auto blank = words.find(' ');
    if (words.substr(0, blank) == word) return true;
    if (blank == std::string_view::npos) break;
    words.remove_prefix(blank + 1);
  }
  return false;
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

}  // namespace podctl::gcp

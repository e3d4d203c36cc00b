#include "providers/emulator/api/messages.h"

#include <utility>

namespace podctl::emulator {
namespace {

Field Plain(Type type, std::string_view name) {
  return {.name = name, .type = type};
}
Field Text(std::string_view name) {
  return {.name = name};
}
Field Bool(std::string_view name) {
  return Plain(Type::kBool, name);
}
Field Sub(std::string_view name, const MessageType* message) {
  return {.name = name, .type = Type::kMessage, .message = message};
}
Field Enum(std::string_view name, std::vector<std::string_view> values,
           std::vector<int> numbers = {}) {
  return {.name = name,
          .type = Type::kEnum,
          .values = std::move(values),
          .numbers = std::move(numbers)};
}
Field Output(std::string_view name) {
  return {.name = name, .output_only = true};
}
Field List(Field field) {
  field.repeated = true;
  return field;
}
Field Alpha(Field field) {
  field.in = In::kAlpha;
  return field;
}
Field OnlyV2(Field field) {
  field.in = In::kV2;
  return field;
}
Field OneOf(std::string_view group, Field field) {
  field.oneof = group;
  return field;
}

// In the order of their needs.
const MessageType kNetworkConfig{"NetworkConfig",
                                 {Text("network"), Text("subnetwork"), Bool("enableExternalIps"),
                                  Bool("canIpForward"), Plain(Type::kInt32, "queueCount")}};

const MessageType kSchedulingConfig{
    "SchedulingConfig",
    {Bool("preemptible"), Bool("reserved"), Bool("spot"),
     Alpha(Enum("provisioningModel",
                {"PROVISIONING_MODEL_UNSPECIFIED", "STANDARD", "SPOT", "RESERVATION_BOUND"})),
     Alpha(Text("reservationName")), Alpha(Output("terminationTimestamp"))}};

const MessageType kAttachedDisk{
    "AttachedDisk",
    {Text("sourceDisk"), Enum("mode", {"DISK_MODE_UNSPECIFIED", "READ_WRITE", "READ_ONLY"}),
     Alpha(List(Text("workerIds")))}};

const MessageType kEncryptionKey{"CustomerEncryptionKey", {Text("kmsKeyName")}};

const MessageType kBootDisk{
    "BootDiskConfig",
    {Sub("customerEncryptionKey", &kEncryptionKey), Alpha(Plain(Type::kInt64, "diskSizeGb")),
     Alpha(Bool("enableConfidentialCompute")), Alpha(Plain(Type::kInt64, "provisionedIops")),
     Alpha(Plain(Type::kInt64, "provisionedThroughput")), Alpha(Text("sourceImage")),
     Alpha(Text("storagePool"))}};

const MessageType kAcceleratorConfig{
    "AcceleratorConfig",
    {Enum("type", {"TYPE_UNSPECIFIED", "V2", "V3", "V4", "V5LITE_POD", "V5P", "V6E"},
          {0, 2, 4, 7, 9, 10, 11}),
     Text("topology")}};

const MessageType kServiceAccount{"ServiceAccount", {Text("email"), List(Text("scope"))}};

const MessageType kShielded{"ShieldedInstanceConfig", {Bool("enableSecureBoot")}};

const MessageType kNode{"Node",
                        {Sub("acceleratorConfig", &kAcceleratorConfig),
                         Text("acceleratorType"),
                         Alpha(Bool("autocheckpointEnabled")),
                         Sub("bootDiskConfig", &kBootDisk),
                         Text("cidrBlock"),
                         List(Sub("dataDisks", &kAttachedDisk)),
                         Text("description"),
                         Plain(Type::kStringMap, "labels"),
                         Plain(Type::kStringMap, "metadata"),
                         Sub("networkConfig", &kNetworkConfig),
                         List(Sub("networkConfigs", &kNetworkConfig)),
                         Text("runtimeVersion"),
                         Sub("schedulingConfig", &kSchedulingConfig),
                         Sub("serviceAccount", &kServiceAccount),
                         Sub("shieldedInstanceConfig", &kShielded),
                         List(Text("tags")),
                         Output("apiVersion"),
                         Output("createTime"),
                         Output("health"),  // writable in the proto, never heeded
                         Output("healthDescription"),
                         Output("id"),
                         Output("multisliceNode"),
                         Output("name"),
                         Output("networkEndpoints"),
                         OnlyV2(Output("protectionTier")),
                         Output("queuedResource"),
                         Output("state"),
                         Output("symptoms"),
                         Output("upcomingMaintenance")}};

const MessageType kMultislice{"MultisliceParams",
                              {Plain(Type::kInt32, "nodeCount"), Text("nodeIdPrefix")}};

const MessageType kMultiNode{
    "MultiNodeParams",
    {Plain(Type::kInt32, "nodeCount"), Text("nodeIdPrefix"),
     Enum("workloadType",
          {"WORKLOAD_TYPE_UNSPECIFIED", "THROUGHPUT_OPTIMIZED", "AVAILABILITY_OPTIMIZED"})}};

const MessageType kNodeSpec{
    "NodeSpec",
    {Text("parent"), Text("nodeId"), OnlyV2(Sub("multisliceParams", &kMultislice)),
     Alpha(Sub("multiNodeParams", &kMultiNode)), Sub("node", &kNode)}};

const MessageType kInterval{
    "Interval", {Plain(Type::kTimestamp, "startTime"), Plain(Type::kTimestamp, "endTime")}};

constexpr std::string_view kTimingOneof = "start_timing_constraints";

const MessageType kQueueingPolicy{
    "QueueingPolicy",
    {OneOf(kTimingOneof, Plain(Type::kDuration, "validAfterDuration")),
     OneOf(kTimingOneof, Plain(Type::kTimestamp, "validAfterTime")),
     OneOf(kTimingOneof, Sub("validInterval", &kInterval)),
     OneOf(kTimingOneof, Plain(Type::kDuration, "validUntilDuration")),
     OneOf(kTimingOneof, Plain(Type::kTimestamp, "validUntilTime"))}};

const MessageType kSpot{"Spot", {}};

const MessageType kBestEffort{"BestEffort", {}};

const MessageType kGuaranteed{"Guaranteed",
                              {Plain(Type::kDuration, "minDuration"), Alpha(Bool("reserved"))}};

const MessageType kTpu{"Tpu", {List(Sub("nodeSpec", &kNodeSpec))}};

const MessageType kRunDuration{"RunDuration",
                               {OneOf("run_duration", Plain(Type::kDuration, "maxRunDuration")),
                                OneOf("run_duration", Plain(Type::kTimestamp, "terminationTime"))}};

const MessageType kQueuedResource{
    "QueuedResource",
    {Sub("tpu", &kTpu), OneOf("tier", Sub("spot", &kSpot)),
     OneOf("tier", Sub("guaranteed", &kGuaranteed)),
     OneOf("tier", Alpha(Sub("bestEffort", &kBestEffort))), Sub("queueingPolicy", &kQueueingPolicy),
     Text("reservationName"),
     Alpha(Enum("provisioningModel", {"PROVISIONING_MODEL_UNSPECIFIED", "STANDARD", "SPOT",
                                      "RESERVATION_BOUND", "FLEX_START"})),
     Alpha(Sub("runDuration", &kRunDuration)), Alpha(Plain(Type::kAnything, "trafficConfig")),
     Output("createTime"), Output("name"), Output("state")}};

const MessageType kGuestAttributes{"GetGuestAttributesRequest",
                                   {Text("queryPath"), List(Text("workerIds"))}};

const MessageType kSimulateMaintenance{"SimulateMaintenanceEventRequest",
                                       {List(Text("workerIds"))}};

const MessageType kQueuedMaintenance{"PerformMaintenanceQueuedResourceRequest",
                                     {List(Text("nodeNames"))}};

const MessageType kEmpty{"Empty", {}};

}  // namespace

const MessageType& DescriptorOf(Message message) {
  switch (message) {
    case Message::kNode:
      return kNode;
    case Message::kQueuedResource:
      return kQueuedResource;
    case Message::kGetGuestAttributesRequest:
      return kGuestAttributes;
    case Message::kSimulateMaintenanceRequest:
      return kSimulateMaintenance;
    case Message::kQueuedMaintenanceRequest:
      return kQueuedMaintenance;
    case Message::kEmpty:
    case Message::kAnything:
      break;
  }
  return kEmpty;
}

}  // namespace podctl::emulator

#include "providers/emulator/request_messages.h"

namespace podctl::emulator {
namespace {

const MessageType& NetworkConfigDescriptor() {
  static const MessageType network_config{"NetworkConfig",
                                          {{.name = "network"},
                                           {.name = "subnetwork"},
                                           {.name = "enableExternalIps", .type = Type::kBool},
                                           {.name = "canIpForward", .type = Type::kBool},
                                           {.name = "queueCount", .type = Type::kInt32}}};
  return network_config;
}

const MessageType& SchedulingConfigDescriptor() {
  static const MessageType scheduling_config{
      "SchedulingConfig",
      {{.name = "preemptible", .type = Type::kBool},
       {.name = "reserved", .type = Type::kBool},
       {.name = "spot", .type = Type::kBool},
       {.name = "provisioningModel",
        .type = Type::kEnum,
        .values = {"PROVISIONING_MODEL_UNSPECIFIED", "STANDARD", "SPOT", "RESERVATION_BOUND"},
        .in = In::kAlpha},
       {.name = "reservationName", .in = In::kAlpha},
       {.name = "terminationTimestamp", .output_only = true, .in = In::kAlpha}}};
  return scheduling_config;
}

const MessageType& AttachedDiskDescriptor() {
  static const MessageType attached_disk{
      "AttachedDisk",
      {{.name = "sourceDisk"},
       {.name = "mode",
        .type = Type::kEnum,
        .values = {"DISK_MODE_UNSPECIFIED", "READ_WRITE", "READ_ONLY"}},
       {.name = "workerIds", .repeated = true, .in = In::kAlpha}}};
  return attached_disk;
}

const MessageType& BootDiskDescriptor() {
  static const MessageType key{"CustomerEncryptionKey", {{.name = "kmsKeyName"}}};
  static const MessageType boot_disk{
      "BootDiskConfig",
      {{.name = "customerEncryptionKey", .type = Type::kMessage, .message = &key},
       {.name = "diskSizeGb", .type = Type::kInt64, .in = In::kAlpha},
       {.name = "enableConfidentialCompute", .type = Type::kBool, .in = In::kAlpha},
       {.name = "provisionedIops", .type = Type::kInt64, .in = In::kAlpha},
       {.name = "provisionedThroughput", .type = Type::kInt64, .in = In::kAlpha},
       {.name = "sourceImage", .in = In::kAlpha},
       {.name = "storagePool", .in = In::kAlpha}}};
  return boot_disk;
}

const MessageType& NodeSpecDescriptor() {
  static const MessageType multislice{
      "MultisliceParams", {{.name = "nodeCount", .type = Type::kInt32}, {.name = "nodeIdPrefix"}}};
  static const MessageType multi_node{
      "MultiNodeParams",
      {{.name = "nodeCount", .type = Type::kInt32},
       {.name = "nodeIdPrefix"},
       {.name = "workloadType",
        .type = Type::kEnum,
        .values = {"WORKLOAD_TYPE_UNSPECIFIED", "THROUGHPUT_OPTIMIZED",
                   "AVAILABILITY_OPTIMIZED"}}}};
  static const MessageType node_spec{
      "NodeSpec",
      {{.name = "parent"},
       {.name = "nodeId"},
       {.name = "multisliceParams", .type = Type::kMessage, .message = &multislice, .in = In::kV2},
       {.name = "multiNodeParams",
        .type = Type::kMessage,
        .message = &multi_node,
        .in = In::kAlpha},
       {.name = "node", .type = Type::kMessage, .message = &NodeDescriptor()}}};
  return node_spec;
}

const MessageType& QueueingPolicyDescriptor() {
  static const MessageType interval{"Interval",
                                    {{.name = "startTime", .type = Type::kTimestamp},
                                     {.name = "endTime", .type = Type::kTimestamp}}};
  constexpr std::string_view kOne = "start_timing_constraints";
  static const MessageType policy{
      "QueueingPolicy",
      {{.name = "validAfterDuration", .type = Type::kDuration, .oneof = kOne},
       {.name = "validAfterTime", .type = Type::kTimestamp, .oneof = kOne},
       {.name = "validInterval", .type = Type::kMessage, .message = &interval, .oneof = kOne},
       {.name = "validUntilDuration", .type = Type::kDuration, .oneof = kOne},
       {.name = "validUntilTime", .type = Type::kTimestamp, .oneof = kOne}}};
  return policy;
}

}  // namespace

const MessageType& NodeDescriptor() {
  static const MessageType accelerator_config{
      "AcceleratorConfig",
      {{.name = "type",
        .type = Type::kEnum,
        .values = {"TYPE_UNSPECIFIED", "V2", "V3", "V4", "V5LITE_POD", "V5P", "V6E"},
        .numbers = {0, 2, 4, 7, 9, 10, 11}},
       {.name = "topology"}}};
  static const MessageType service_account{
      "ServiceAccount", {{.name = "email"}, {.name = "scope", .repeated = true}}};
  static const MessageType shielded{"ShieldedInstanceConfig",
                                    {{.name = "enableSecureBoot", .type = Type::kBool}}};
  static const MessageType node{
      "Node",
      {{.name = "acceleratorConfig", .type = Type::kMessage, .message = &accelerator_config},
       {.name = "acceleratorType"},
       {.name = "autocheckpointEnabled", .type = Type::kBool, .in = In::kAlpha},
       {.name = "bootDiskConfig", .type = Type::kMessage, .message = &BootDiskDescriptor()},
       {.name = "cidrBlock"},
       {.name = "dataDisks",
        .type = Type::kMessage,
        .repeated = true,
        .message = &AttachedDiskDescriptor()},
       {.name = "description"},
       {.name = "labels", .type = Type::kStringMap},
       {.name = "metadata", .type = Type::kStringMap},
       {.name = "networkConfig", .type = Type::kMessage, .message = &NetworkConfigDescriptor()},
       {.name = "networkConfigs",
        .type = Type::kMessage,
        .repeated = true,
        .message = &NetworkConfigDescriptor()},
       {.name = "runtimeVersion"},
       {.name = "schedulingConfig",
        .type = Type::kMessage,
        .message = &SchedulingConfigDescriptor()},
       {.name = "serviceAccount", .type = Type::kMessage, .message = &service_account},
       {.name = "shieldedInstanceConfig", .type = Type::kMessage, .message = &shielded},
       {.name = "tags", .repeated = true},
       {.name = "apiVersion", .output_only = true},
       {.name = "createTime", .output_only = true},
       {.name = "health", .output_only = true},  // writable in the proto, never heeded
       {.name = "healthDescription", .output_only = true},
       {.name = "id", .output_only = true},
       {.name = "multisliceNode", .output_only = true},
       {.name = "name", .output_only = true},
       {.name = "networkEndpoints", .output_only = true},
       {.name = "protectionTier", .output_only = true, .in = In::kV2},
       {.name = "queuedResource", .output_only = true},
       {.name = "state", .output_only = true},
       {.name = "symptoms", .output_only = true},
       {.name = "upcomingMaintenance", .output_only = true}}};
  return node;
}

const MessageType& QueuedResourceDescriptor() {
  static const MessageType spot{"Spot", {}};
  static const MessageType best_effort{"BestEffort", {}};
  static const MessageType guaranteed{
      "Guaranteed",
      {{.name = "minDuration", .type = Type::kDuration},
       {.name = "reserved", .type = Type::kBool, .in = In::kAlpha}}};
  static const MessageType tpu{"Tpu",
                               {{.name = "nodeSpec",
                                 .type = Type::kMessage,
                                 .repeated = true,
                                 .message = &NodeSpecDescriptor()}}};
  static const MessageType run_duration{
      "RunDuration",
      {{.name = "maxRunDuration", .type = Type::kDuration, .oneof = "run_duration"},
       {.name = "terminationTime", .type = Type::kTimestamp, .oneof = "run_duration"}}};
  static const MessageType queued{
      "QueuedResource",
      {{.name = "tpu", .type = Type::kMessage, .message = &tpu},
       {.name = "spot", .type = Type::kMessage, .message = &spot, .oneof = "tier"},
       {.name = "guaranteed", .type = Type::kMessage, .message = &guaranteed, .oneof = "tier"},
       {.name = "bestEffort",
        .type = Type::kMessage,
        .message = &best_effort,
        .in = In::kAlpha,
        .oneof = "tier"},
       {.name = "queueingPolicy", .type = Type::kMessage, .message = &QueueingPolicyDescriptor()},
       {.name = "reservationName"},
       {.name = "provisioningModel",
        .type = Type::kEnum,
        .values = {"PROVISIONING_MODEL_UNSPECIFIED", "STANDARD", "SPOT", "RESERVATION_BOUND",
                   "FLEX_START"},
        .in = In::kAlpha},
       {.name = "runDuration", .type = Type::kMessage, .message = &run_duration, .in = In::kAlpha},
       {.name = "trafficConfig", .type = Type::kAnything, .in = In::kAlpha},
       {.name = "createTime", .output_only = true},
       {.name = "name", .output_only = true},
       {.name = "state", .output_only = true}}};
  return queued;
}

const MessageType& GetGuestAttributesDescriptor() {
  static const MessageType guest_attributes{
      "GetGuestAttributesRequest",
      {{.name = "queryPath"}, {.name = "workerIds", .repeated = true}}};
  return guest_attributes;
}

const MessageType& SimulateMaintenanceDescriptor() {
  static const MessageType simulate{"SimulateMaintenanceEventRequest",
                                    {{.name = "workerIds", .repeated = true}}};
  return simulate;
}

const MessageType& QueuedMaintenanceDescriptor() {
  static const MessageType perform{"PerformMaintenanceQueuedResourceRequest",
                                   {{.name = "nodeNames", .repeated = true}}};
  return perform;
}

const MessageType& EmptyDescriptor() {
  static const MessageType empty{"Empty", {}};
  return empty;
}

}  // namespace podctl::emulator

// The proto messages of requests as tables: names, types, and in which version a field exists.
//
// Source: the discovery documents of v2 and v2alpha1. Knows nothing of JSON. Pure; thread safe.
#pragma once

#include <string_view>
#include <vector>

namespace podctl::emulator {

enum class Type {
  kString,
  kBool,
  kInt32,
  kInt64,
  kEnum,
  kStringMap,
  kMessage,
  kDuration,   // "21600s"
  kTimestamp,  // RFC 3339
  kAnything    // a message that is kept as it came
};

enum class In { kBoth, kV2, kAlpha };

struct MessageType;

struct Field {
  std::string_view name;
  Type type = Type::kString;
  bool repeated = false;
  bool output_only = false;
  const MessageType* message = nullptr;       // kMessage
  std::vector<std::string_view> values = {};  // kEnum
  std::vector<int> numbers = {};              // kEnum: of the values; empty: 0, 1, 2 and so on
  In in = In::kBoth;
  std::string_view oneof = {};  // of those with the same, one may be set
};

struct MessageType {
  std::string_view name;  // "AcceleratorConfig"
  std::vector<Field> fields;
};

enum class Message {
  kEmpty,
  kNode,
  kQueuedResource,
  kGetGuestAttributesRequest,
  kSimulateMaintenanceRequest,
  kQueuedMaintenanceRequest,
  kAnything  // JSON that is read by nobody here
};

const MessageType& DescriptorOf(Message message);

}  // namespace podctl::emulator

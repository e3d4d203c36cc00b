// What the service makes of a Node that a client sends: checks, defaults, and update masks.
//
// Bodies come normalised from api/schema.h. Pure but for the chance in new ids; knows neither
// operations nor workers. The rules and their sources: Cloud TPU v2 and v2alpha1 discovery
// documents and CreateNode/UpdateNode documentation; texts as the live service was seen to send
// them.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "providers/base/value.h"
#include "providers/emulator/names.h"
#include "providers/emulator/service/api_error.h"
#include "providers/emulator/service/core.h"

namespace podctl::emulator {

struct Node {
  Value resource;
  int workers = 0;
  std::string uid;   // the `id` field, decimal int64
  std::string host;  // stem of the workers' hostnames, "t1v-n-1a2b3c4d"
  std::vector<std::string> addresses;
  bool holds_capacity = false;  // of the pool of its type, or of its reservation
  std::string reservation;      // whose capacity
  // `resource` as JSON for each version, made when somebody asks; the second only where it differs.
  std::string text = {};
  std::string alpha_text = {};

  const std::string& state() const { return resource["state"].AsString(); }
  // The resource name of the queued resource that asked for it; "" without one.
  const std::string& owner() const { return resource["queuedResource"].AsString(); }
  template <typename Archive>
  void Fields(Archive& archive) {
    archive("resource", resource);
    archive("workers", workers);
    archive("uid", uid);
    archive("host", host);
    archive("addresses", addresses);
    archive("holdsRoom", holds_capacity);
    archive("reservation", reservation);
  }
};

// With every field that the server fills in, state CREATING, and no endpoints yet.
using NewNodeAnswer = std::variant<Node, ApiError>;
NewNodeAnswer MakeNode(const Place& place, std::string_view node_id, const Value& body,
                       ApiVersion version, const std::string& create_time);
// What a reader of that version sees of a node: v2 has no word for some fields of v2alpha1.
Value NodeView(const Value& resource, ApiVersion version);
// Can Google take it back at any time?
bool IsSpot(const Value& node);
struct Update {
  // Masked top-level fields (networkConfig.enableExternalIps under its dotted path) with their new
  // values; null clears.
  std::vector<std::pair<std::string, Value>> fields;
};

using UpdateAnswer = std::variant<Update, ApiError>;
UpdateAnswer MakeUpdate(const std::vector<MaskPath>& mask, const Value& body, int workers);
void ApplyUpdate(const Update& update, Value* resource);

// Fields networkEndpoints: worker i under addresses[i].
Value MakeEndpoints(const std::vector<std::string>& addresses, bool external);

}  // namespace podctl::emulator

// What the service makes of a Node that a client sends: checks, defaults, and update masks.
//
// Bodies come normalised from request_schema.h. Pure but for the chance in new ids; knows neither
// operations nor workers. The rules and their sources: Cloud TPU v2 and v2alpha1 discovery
// documents and CreateNode/UpdateNode documentation; texts as the live service was seen to send
// them.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "providers/base/value.h"
#include "providers/emulator/api_error.h"
#include "providers/emulator/api_version.h"

namespace podctl::emulator {

struct Place {
  std::string project;
  std::string zone;

  std::string Parent() const { return "projects/" + project + "/locations/" + zone; }
};

struct NewNode {
  Value resource;  // with every field that the server fills in, state CREATING, no endpoints yet
  int workers = 0;
  int chips = 0;
  std::string uid;   // the `id` field, decimal int64
  std::string host;  // stem of the workers' hostnames, "t1v-n-1a2b3c4d"
};

using NewNodeAnswer = std::variant<NewNode, ApiError>;
NewNodeAnswer MakeNode(const Place& place, std::string_view node_id, const Value& body,
                       ApiVersion version, const std::string& create_time);
// What a reader of that version sees of a node: v2 has no word for some fields of v2alpha1.
Value NodeView(const Value& resource, ApiVersion version);
// Can Google take it back at any time?
bool IsSpot(const Value& node);
// For nodes and queued resources: ^[A-Za-z0-9_.~+%-]+$, at most 63 characters.
bool IsResourceId(std::string_view id);
// A project number: twelve digits that stay the same for a project.
std::string ProjectNumber(std::string_view project);

struct Update {
  // Masked top-level fields (networkConfig.enableExternalIps under its dotted path) with their new
  // values; null clears.
  std::vector<std::pair<std::string, Value>> fields;
};

using UpdateAnswer = std::variant<Update, ApiError>;
// `mask`: the updateMask query parameter, already percent-decoded.
UpdateAnswer MakeUpdate(std::string_view mask, const Value& body, int workers, ApiVersion version);
void ApplyUpdate(const Update& update, Value* resource);

// Fields networkEndpoints: worker i under addresses[i].
Value MakeEndpoints(const std::vector<std::string>& addresses, bool external);

}  // namespace podctl::emulator

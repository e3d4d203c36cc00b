// The fields of projects.locations.nodes (Cloud TPU API v2, and what v2alpha1 has beyond it) as
// podctl treats them: one table that drives the spec's validation, the diff (patch or replace),
// masking and the spec's documentation.
//
// Sources: the API's discovery document (names, types, output only), the doc of nodes.patch (the
// mask list), the behaviour of gcloud and of Terraform's tpuv2 resource (dataDisks patchable).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "providers/base/api_version.h"
#include "providers/base/value.h"

namespace podctl::gcp {

enum class FieldType {
  kString,
  kBool,
  kInt,
  kInt64,  // a decimal string in JSON
  kEnum,
  kStringMap,
  kStringList,
  kMessage,
  kMessageList
};

enum class FieldClass {
  kPatchable,   // nodes.patch changes it in place
  kImmutable,   // a change replaces the node
  kOutputOnly,  // the service writes it; refused in a spec
};

// How the service rewrites a value, so that both sides are compared in the same form.
enum class NormalForm {
  kNone,
  kNetwork,
  kSubnetwork,
  kLowerCase,
  kScopes,
  kResource,     // a resource name without the host of a URL
  kKey,          // a KMS key without its version
  kReservation,  // a reservation whose project may be named by id or by number
};

struct Field {
  std::string_view path;  // JSON names, "networkConfig.network"; "[]" marks a list's element
  FieldType type;
  FieldClass field_class;
  std::string_view doc;                  // one sentence
  ApiVersion version = ApiVersion::kV2;  // the first that has it
  NormalForm normal_form = NormalForm::kNone;
  std::string_view enum_values = {};  // blank separated, for kEnum
  std::string_view mask = {};         // what updateMask calls it; set when patchable
};

// Every field, a message before its members, in the order of the API's documentation.
std::span<const Field> NodeFields();
// nullptr when there is no such field. `path` uses "[]" for list elements.
const Field* FindNodeField(std::string_view path);

// Whether `word` is one of the enum's values, as far as they are known here.
bool IsEnumWord(const Field& field, std::string_view word);

// `value` of a field in the form the service returns: "default" ->
// "projects/p/global/networks/default". `zone` gives the region of a subnetwork.
Value Normalize(const Field& field, const Value& value, std::string_view project,
                std::string_view zone);

// ---- Which texts can be the name of a project, of a zone or region, and of a node: others have no
// place in a request's path, where they might name something else.

bool IsProjectId(std::string_view text);  // "my-project", "example.com:lab", "123"
bool IsLocation(std::string_view text);   // "europe-west4-a", "europe-west4"
bool IsNodeId(std::string_view text);     // also of a queued resource

}  // namespace podctl::gcp

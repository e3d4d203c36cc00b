// Reads the keys of a pod that are fields of the Cloud TPU Node, by the field table
// (providers/gcp/tpu_schema.h). The rules between fields stand below. Knows not `metadata`,
// which has a form of its own (metadata_reader.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plans/spec/value_reader.h"
#include "providers/base/api_version.h"
#include "providers/base/value.h"
#include "providers/gcp/tpu_schema.h"

namespace podctl {

// The value of one field; strings are template text. nullopt when nothing usable is there, which
// has been reported, or when a message is empty.
std::optional<Value> ReadNodeField(ValueReader& reader, const gcp::Field& field,
                                   const YamlEntry& entry, const Slot& slot);

// Reports a key that the service writes.
void ReportOutputOnly(ValueReader& reader, const gcp::Field& field, const YamlNode& key,
                      const Slot& slot);

// Reports that `entry`, of the map at `slot`, and `first` exclude each other.
void ReportExclusive(ValueReader& reader, const YamlEntry& entry, const Slot& slot,
                     const YamlEntry& first);
// What stands right below `prefix` in a table of fields.
template <typename Fields>
std::vector<std::string> MembersBelow(const Fields& fields, std::string_view prefix) {
  std::vector<std::string> names;
  for (const auto& field : fields) {
    if (!field.path.starts_with(prefix)) continue;
    const std::string_view rest = field.path.substr(prefix.size());
    if (rest.find('.') == std::string_view::npos) names.emplace_back(rest);
  }
  return names;
}
// Names of the members of a message ("" for the node itself) that a spec may set. `prefix` ends in
// a dot when not empty: "networkConfig.", "dataDisks[].".
std::vector<std::string> WritableMembers(std::string_view prefix);

// The dotted path of a writable member of some message that is called `word`: "spot" ->
// "schedulingConfig.spot"; "" when there is none.
std::string FindMemberElsewhere(std::string_view word);

// "networkEndpoints[0].ipAddress", "labels.team": is there such a thing on a node? Says what is
// wrong and what may be meant otherwise.
struct PathCheck {
  bool ok = false;
  const gcp::Field* field = nullptr;  // of the path, or of the map that it looks into
  std::string problem;
  std::string suggestion;
};
PathCheck CheckNodePath(std::string_view path);

// ---- The rules of a node that are not about one value's type: limits of labels and names, fields
// that exclude each other, what has to be there. What the service checks better is left to it.
//
// Sources: docs of the Node message (description, cidrBlock, networkConfig(s)), the label rules
// that gcloud applies, the node id's documented pattern.

// `pod` is the YAML map of the pod, defaults merged, `node` what was read of it, and `version` the
// API's that it is for.
void CheckNodeRules(ValueReader& reader, const YamlNode& key, const YamlNode& pod,
                    const std::string& context, const Value& node, ApiVersion version);

// An error outside of the documented pattern, a warning outside of what Compute Engine takes.
bool CheckNodeId(ValueReader& reader, const YamlNode& at, const Slot& slot,
                 std::string_view node_id);

}  // namespace podctl

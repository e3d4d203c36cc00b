// The SSH keys that podctl publishes on a node: the team's, by the spec, and that of whoever runs
// it. Of the metadata entry `ssh-keys` podctl owns these lines and no others, unless the spec
// writes the entry itself. Pure.
//
// A key of the team that leaves the spec is taken away again. Somebody's own key is only ever
// added, by themselves: that another's is gone is shown, and not undone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plans/engine/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "providers/base/value.h"
#include "state/state.h"

namespace podctl {

// `ssh-keys` as a create sends it; empty: nothing is published.
std::string KeysAtCreate(const PodSpec& pod);

// What is to be added to and taken from the node's lines, as lines of a plan: one for each key,
// named by its user. `record` may be null.
std::vector<AttributeChange> DiffKeys(const PodSpec& pod, const PodRecord* record,
                                      const Value& observed);
// Lines that podctl put there and that are gone.
std::vector<AttributeChange> DriftOfKeys(const PodSpec& pod, const PodRecord& record,
                                         const Value& observed);
// The slices of a multislice that lack one of them; empty: it is no matter of single slices.
std::vector<int> SlicesWithoutKeys(const PodRecord& record, const Value& observed);
// Whether `path` is of one of the above.
bool IsKeyPath(std::string_view path);

// Puts what is wanted into `metadata`, a node's map as it is now.
void MergeKeys(const PodSpec& pod, const PodRecord& record, Value* metadata);

// What the record says from now on, when the node's metadata are `metadata`.
void RememberKeys(const PodSpec& pod, const Value& metadata, PodRecord* record);
// A line that drifted away is podctl's no longer.
void ForgetKey(const AttributeChange& attribute, PodRecord* record);
// What the record says of `ssh-keys`, as a node's metadata have it.
std::string RememberedKeys(const PodRecord& record);
// The lines of an entry as new attributes: path and the words for the key.
std::vector<AttributeChange> KeyAttributes(std::string_view text);

// "alice" and "ssh-ed25519 SHA256:… alice@laptop" of a line.
std::string KeyUser(std::string_view line);
std::string KeyWords(std::string_view line);

}  // namespace podctl

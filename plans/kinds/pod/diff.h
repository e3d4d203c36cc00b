// Compares what a spec wants of one pod with what the API says now. Pure.
//
// Only what the spec sets, or podctl set before, is compared; both sides in their normal form.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plans/engine/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/references.h"
#include "providers/base/value.h"
#include "state/state.h"

namespace podctl {

struct PodDiff {
  std::vector<AttributeChange> attributes;  // sorted by path
  std::vector<std::string> patch_fields;    // Node field paths to send, sorted
  bool forces_replacement = false;
};

// `record` is nullptr for a pod that podctl has not made yet. `digest_key` is given when `observed`
// was made from the record, in which a sensitive value stands as its digest.
PodDiff DiffPod(const PodSpec& pod, const PodRecord* record, const Value& observed,
                const ReferenceLookup& lookup, const std::string* digest_key = nullptr);

// What changed behind podctl's back: `record` (as applied) against `observed`, but for what `pod`
// (as the spec has it now) says to ignore.
std::vector<AttributeChange> DiffDrift(const PodSpec& pod, const PodRecord& record,
                                       const Value& observed, const std::string& digest_key);

// What is wanted in `value`, as lines of a plan below `path`.
void ListLeaves(const std::string& path, const Value& value, std::vector<AttributeChange>* out);

// Whether `lifecycle.ignoreChanges` names `path` or something above it.
bool IsIgnored(const PodSpec& pod, std::string_view path);

// Everything a create would send, as lines of a plan.
std::vector<AttributeChange> CreateAttributes(const PodSpec& pod, const ReferenceLookup& lookup);
// Everything a delete removes, as lines of a plan.
std::vector<AttributeChange> DeleteAttributes(const PodRecord& record);

// The body of nodes.create. `unknown`: paths whose references cannot be rendered yet.
Value CreateBody(const PodSpec& pod, const ReferenceLookup& lookup,
                 std::vector<std::string>* unknown);

// The body of nodes.patch for `fields`, merged into what the API says now: podctl's own keys of
// metadata and labels are set (or removed), every other key is kept, ignored ones too.
Value PatchBody(const PodSpec& pod, const PodRecord& record, const Value& observed,
                const std::vector<std::string>& fields, const ReferenceLookup& lookup,
                std::vector<std::string>* unknown);

// The names updateMask has for `fields`.
std::vector<std::string> UpdateMask(const std::vector<std::string>& fields);

// RenderText of the metadata entry `key`. What the guest executes, a startup script or user data,
// is as a step's `run`; the entry of the runtime has rules of its own (runtime_flags.h).
std::optional<std::string> RenderMetadata(std::string_view key, std::string_view template_text,
                                          const ReferenceLookup& lookup);
// The first reference of the pod's fields and metadata whose value may not stand there, or else the
// first that leads nowhere.
std::optional<UnusableReference> FindUnusableOf(const PodSpec& pod, const ReferenceLookup& lookup);

// How a metadata value is remembered in the state: itself, or a keyed digest when sensitive.
std::string RememberedValue(const std::string& value, bool sensitive,
                            const std::string& digest_key);
// What `pod` wants hidden, the record remembers as hidden from now on: a value that was not
// sensitive when it was applied stands in it as such. Forgets what exec_env made of it.
void HideRemembered(const PodSpec& pod, const std::string& digest_key, PodRecord* record);
// Whether a remembered value is such a digest.
bool IsRememberedDigest(std::string_view remembered);

}  // namespace podctl

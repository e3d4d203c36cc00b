#include "plans/kinds/pod/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/published_keys.h"
#include "plans/kinds/pod/reader/metadata_reader.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/runtime_flags.h"
#include "providers/base/digest.h"
#include "providers/base/ssh_key_lines.h"
#include "providers/base/text.h"
#include "providers/gcp/secret_name.h"
#include "providers/gcp/tpu_schema.h"

namespace podctl {
namespace {

using gcp::Field;
using gcp::FieldClass;
using gcp::FieldType;

constexpr std::string_view kDigestPrefix = "hmac-sha256:";

bool IsTopOrMember(const Field& field) {
  return field.path.find("[]") == std::string_view::npos;
}

// The fields that are compared one by one, those with the same first name together: most pods name
// few, and the others are passed over at once.
struct FieldGroup {
  std::string_view top;
  std::vector<const Field*> fields;
};

const std::vector<FieldGroup>& ComparedFields() {
  static const std::vector<FieldGroup> kGroups = [] {
    std::vector<FieldGroup> groups;
    for (const Field& field : gcp::NodeFields()) {
      if (field.field_class == FieldClass::kOutputOnly || !IsTopOrMember(field)) continue;
      if (field.type == FieldType::kMessage || field.path == "metadata") continue;
      const std::string_view top = field.path.substr(0, field.path.find('.'));
      auto group = std::find_if(groups.begin(), groups.end(),
                                [&](const FieldGroup& each) { return each.top == top; });
      if (group == groups.end()) group = groups.insert(group, {top, {}});
      group->fields.push_back(&field);
    }
    return groups;
  }();
  return kGroups;
}

void SortByPath(std::vector<AttributeChange>* changes) {
  std::sort(changes->begin(), changes->end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
}

std::optional<Value> Optional(const Value* value) {
  return value == nullptr ? std::nullopt : std::make_optional(*value);
}

// Whether `wanted` is what the service holds: of a message only the members that are wanted count.
bool Covers(const Value& wanted, const Value& observed) {
  if (wanted.is_map() && (observed.is_map() || observed.is_null())) {
    return std::all_of(wanted.AsMap().begin(), wanted.AsMap().end(), [&](const auto& member) {
      return Covers(member.second, observed[member.first]);
    });
  }
  if (wanted.is_list() && observed.is_list()) {
    const auto& a = wanted.AsList();
    const auto& b = observed.AsList();
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), Covers);
  }
  // The service leaves out what is false, zero or empty (protobuf JSON mapping).
  if (observed.is_null()) {
    return wanted == Value(false) || wanted == Value(0) || wanted == Value("") ||
           (wanted.is_list() && wanted.AsList().empty());
  }
  if (wanted.is_int() && observed.is_string()) return wanted.AsInt() == observed.AsInt(-1);
  return wanted == observed;
}

// A set in the API's eyes: the order carries no meaning.
Value SortedStrings(const Value& list) {
  Value::List items = list.AsList();
  std::sort(items.begin(), items.end(),
            [](const Value& a, const Value& b) { return a.AsString() < b.AsString(); });
  return Value(std::move(items));
}

// `value` of a field as the service would return it; in a list of messages each member is brought
// into its own form ("networkConfigs[].network").
Value NormalForm(const Field& field, const Value& value, const std::string& project,
                 const std::string& zone) {
  if (field.type == FieldType::kStringList) {
    return SortedStrings(gcp::Normalize(field, value, project, zone));
  }
  if (field.type != FieldType::kMessageList) return gcp::Normalize(field, value, project, zone);
  Value::List items = value.AsList();
  for (Value& item : items) {
    for (auto& [key, member] : item.MutableMap()) {
      const Field* known = gcp::FindNodeField(std::string(field.path) + "[]." + key);
      if (known != nullptr) member = gcp::Normalize(*known, member, project, zone);
    }
  }
  return Value(std::move(items));
}

// "version 3 -> 4" of a secret; nullopt: it is none.
std::optional<std::string> OriginOf(const MetadataEntry& entry, const PodRecord* record,
                                    const std::string& key) {
  const auto now = gcp::ParseSecretName(entry.secret.value_or(""));
  if (!now) return std::nullopt;
  const auto known = record == nullptr ? std::map<std::string, std::string>() : record->secrets;
  const auto found = known.find(key);
  const auto before = gcp::ParseSecretName(found == known.end() ? "" : found->second);
  if (!before || before->Text() == now->Text()) return fmt::format("version {}", now->version);
  if (before->Secret() == now->Secret()) {
    return fmt::format("version {} -> {}", before->version, now->version);
  }
  return fmt::format("{} -> {}", before->Text(), now->Text());
}

class PodComparison {
 public:
  PodComparison(const PodSpec& pod, const PodRecord* record, const Value& observed,
                const ReferenceLookup& lookup, const std::string* digest_key)
      : pod_(pod), record_(record), observed_(observed), lookup_(lookup), digest_key_(digest_key) {
    rendered_ = RenderValue(pod.node, lookup, &unknown_);
  }

  PodDiff Run() {
    for (const auto& [top, fields] : ComparedFields()) {
      const bool named = rendered_.Find(top) != nullptr || Applied(top) != nullptr;
      if (!named && unknown_.empty()) continue;
      for (const Field* field : fields) {
        if (field->type == FieldType::kStringMap) {
          CompareMap(*field);
        } else {
          CompareField(*field);
        }
      }
    }
    CompareMetadata();
    CompareBackings();
    diff_.patch_fields.assign(fields_.begin(), fields_.end());
    SortByPath(&diff_.attributes);
    return std::move(diff_);
  }

 private:
  bool IsUnknown(std::string_view path) const {
    return std::any_of(unknown_.begin(), unknown_.end(), [&](const std::string& unknown) {
      return unknown == path || (unknown.starts_with(path) &&
                                 (unknown[path.size()] == '.' || unknown[path.size()] == '['));
    });
  }

  const Value* Applied(std::string_view path) const {
    return record_ == nullptr ? nullptr : record_->applied.FindPath(path);
  }

  void Add(AttributeChange change, std::string_view field, bool replaces) {
    change.forces_replacement = replaces;
    diff_.forces_replacement = diff_.forces_replacement || replaces;
    if (!replaces) fields_.insert(std::string(field));
    diff_.attributes.push_back(std::move(change));
  }

  Value Normal(const Field& field, const Value& value) const {
    return NormalForm(field, value, pod_.project, pod_.zone);
  }

  void CompareField(const Field& field) {
    const Value* wanted = rendered_.FindPath(field.path);
    const Value* applied = wanted == nullptr ? Applied(field.path) : nullptr;
    // So it is with most fields of most pods.
    if (wanted == nullptr && applied == nullptr && unknown_.empty()) return;
    if (IsIgnored(pod_, field.path)) return;
    const bool replaces = field.field_class == FieldClass::kImmutable;
    const Value* before = observed_.FindPath(field.path);
    if (IsUnknown(field.path)) {
      Add({std::string(field.path), Optional(before), std::nullopt, false, false, false},
          field.path, replaces);
      return;
    }
    Value fallback;
    if (wanted == nullptr) {
      // No longer in the spec. What podctl set is cleared where that means something; an immutable
      // field that is not a switch is left as it is.
      if (applied == nullptr || before == nullptr) return;
      if (field.type == FieldType::kBool) {
        fallback = false;
      } else if (!replaces) {
        Add({std::string(field.path), *before, std::nullopt, true, false, false}, field.path,
            false);
        return;
      } else {
        return;
      }
      wanted = &fallback;
    }
    const Value observed = before == nullptr ? Value() : Normal(field, *before);
    if (Covers(Normal(field, *wanted), observed)) return;
    Add({std::string(field.path), Optional(before), *wanted, true, false, false}, field.path,
        replaces);
  }

  void CompareMap(const Field& field) {
    std::set<std::string> keys;
    const Value* wanted = rendered_.FindPath(field.path);
    const Value* applied = Applied(field.path);
    const Value* observed = observed_.FindPath(field.path);
    for (const Value* map : {wanted, applied}) {
      if (map == nullptr) continue;
      for (const auto& [key, value] : map->AsMap()) keys.insert(key);
    }
    for (const std::string& unknown : unknown_) {
      if (unknown.starts_with(std::string(field.path) + ".")) {
        keys.insert(unknown.substr(field.path.size() + 1));
      }
    }
    for (const std::string& key : keys) {
      const std::string path = std::string(field.path) + "." + key;
      if (IsIgnored(pod_, path)) continue;
      const bool unknown = IsUnknown(path);
      const Value* after = wanted == nullptr ? nullptr : wanted->Find(key);
      const Value* before = observed == nullptr ? nullptr : observed->Find(key);
      if (!unknown &&
          (after == nullptr ? before == nullptr : before != nullptr && *before == *after)) {
        continue;
      }
      Add({path, Optional(before), Optional(after), !unknown, false, false}, field.path,
          field.field_class == FieldClass::kImmutable);
    }
  }

  // What is besides the node has no update: whatever is otherwise replaces the pod.
  void CompareBackings() {
    if (record_ == nullptr) return;
    const std::map<std::string, Value> before = BackingOf(*record_).Lines(*record_);
    const std::map<std::string, Value> after = BackingOf(pod_).Lines(pod_, record_);
    EachOf(before, after, [&](const std::string& path, const Value* old, const Value* now) {
      if (old != nullptr && now != nullptr && *old == *now) return;
      Add({path, Optional(old), Optional(now), true, false, true}, "", true);
    });
  }

  void CompareMetadata() {
    std::set<std::string> keys;
    for (const auto& [key, entry] : pod_.metadata) keys.insert(key);
    if (record_ != nullptr) {
      for (const auto& [key, value] : record_->metadata) keys.insert(key);
    }
    for (const std::string& key : keys) {
      // Of what the spec wrote whole, and writes no longer, podctl owned the lines.
      const bool is_lines = key == kSshKeys && !pod_.metadata.contains(key);
      if (!is_lines && !IsIgnored(pod_, "metadata." + key)) CompareMetadataKey(key);
    }
    for (AttributeChange& line : DiffKeys(pod_, record_, observed_)) {
      Add(std::move(line), "metadata", false);
    }
  }

  void CompareMetadataKey(const std::string& key) {
    AttributeChange change;
    change.path = "metadata." + key;
    const Value* before = observed_["metadata"].Find(key);
    change.before = Optional(before);
    auto entry = pod_.metadata.find(key);
    if (entry != pod_.metadata.end()) {
      const auto after = RenderMetadata(key, entry->second.text, lookup_);
      change.known = after.has_value();
      if (after) change.after = Value(*after);
      change.sensitive = entry->second.sensitive;
      change.origin = OriginOf(entry->second, record_, key);
    }
    if (record_ != nullptr && IsSensitive(*record_, key)) change.sensitive = true;
    if (change.known && change.before == change.after) return;
    if (digest_key_ != nullptr && before != nullptr && change.after &&
        IsRememberedDigest(before->AsString()) &&
        before->AsString() == RememberedValue(change.after->AsString(), true, *digest_key_)) {
      return;
    }
    Add(std::move(change), "metadata", false);
  }

  const PodSpec& pod_;
  const PodRecord* record_;
  const Value& observed_;
  const ReferenceLookup& lookup_;
  const std::string* const digest_key_;
  Value rendered_;
  std::vector<std::string> unknown_;
  std::set<std::string> fields_;
  PodDiff diff_;
};

// `owned`: the keys podctl wrote before. What the spec ignores stays as it is.
void MergeMap(const PodSpec& pod, const std::string& field, const Value* wanted,
              const std::set<std::string>& owned, Value* merged) {
  const auto ignored = [&](const std::string& key) { return IsIgnored(pod, field + "." + key); };
  for (const std::string& key : owned) {
    if (ignored(key)) continue;
    if (wanted == nullptr || wanted->Find(key) == nullptr) merged->Erase(key);
  }
  if (wanted == nullptr) return;
  for (const auto& [key, value] : wanted->AsMap()) {
    if (!ignored(key)) merged->Set(key, value);
  }
}

bool IsSensitiveIn(const PodSpec& pod, const std::string& key) {
  const auto entry = pod.metadata.find(key);
  return entry != pod.metadata.end() && entry->second.sensitive;
}

void DiffMapDrift(const std::string& field, const Value& applied, const Value* now,
                  std::vector<AttributeChange>* changes) {
  for (const auto& [key, value] : applied.AsMap()) {
    const Value* there = now == nullptr ? nullptr : now->Find(key);
    if (there != nullptr && *there == value) continue;
    changes->push_back({field + "." + key, value, Optional(there), true, false, false});
  }
}

ReferenceUse UseInMetadata(std::string_view key) {
  return IsExecutedByGuest(key) ? ReferenceUse::kGuestScript : ReferenceUse::kText;
}

std::optional<UnusableReference> FindUnusableMetadata(std::string_view key,
                                                      std::string_view template_text,
                                                      const ReferenceLookup& lookup) {
  if (key == kRuntimeVariablesKey) return FindUnusableVariable(template_text, lookup);
  return FindUnusable(template_text, lookup, UseInMetadata(key));
}

Value RenderAllMetadata(const PodSpec& pod, const ReferenceLookup& lookup,
                        std::vector<std::string>* unknown) {
  Value metadata = Value::EmptyMap();
  for (const auto& [key, entry] : pod.metadata) {
    if (auto text = RenderMetadata(key, entry.text, lookup)) {
      metadata.Set(key, *text);
    } else if (unknown != nullptr) {
      unknown->push_back("metadata." + key);
    }
  }
  return metadata;
}

}  // namespace

void ListLeaves(const std::string& path, const Value& value, std::vector<AttributeChange>* out) {
  if (value.is_map()) {
    for (const auto& [key, member] : value.AsMap()) {
      ListLeaves(path.empty() ? key : path + "." + key, member, out);
    }
    return;
  }
  out->push_back({.path = path, .after = value});
}

bool IsIgnored(const PodSpec& pod, std::string_view path) {
  return std::any_of(pod.lifecycle.ignore_changes.begin(), pod.lifecycle.ignore_changes.end(),
                     [&](const std::string& ignored) {
                       return path == ignored ||
                              (path.starts_with(ignored) && path[ignored.size()] == '.');
                     });
}

PodDiff DiffPod(const PodSpec& pod, const PodRecord* record, const Value& observed,
                const ReferenceLookup& lookup, const std::string* digest_key) {
  return PodComparison(pod, record, observed, lookup, digest_key).Run();
}

std::vector<AttributeChange> DiffDrift(const PodSpec& pod, const PodRecord& record,
                                       const Value& observed, const std::string& digest_key) {
  std::vector<AttributeChange> changes;
  const auto compare = [&](const Field& field) {
    const Value* applied = record.applied.FindPath(field.path);
    if (applied == nullptr) return;
    const Value* now = observed.FindPath(field.path);
    if (field.type == FieldType::kStringMap) {
      DiffMapDrift(std::string(field.path), *applied, now, &changes);
      return;
    }
    const auto normal = [&](const Value& value) {
      return NormalForm(field, value, record.project, record.zone);
    };
    if (Covers(normal(*applied), now == nullptr ? Value() : normal(*now))) return;
    changes.push_back({std::string(field.path), *applied, Optional(now), true, false, false});
  };
  for (const auto& [top, fields] : ComparedFields()) {
    if (record.applied.Find(top) == nullptr) continue;
    for (const Field* field : fields) compare(*field);
  }
  for (const auto& [key, remembered] : record.metadata) {
    const bool sensitive = IsSensitive(record, key);
    const Value* now = observed["metadata"].Find(key);
    if (now != nullptr && RememberedValue(now->AsString(), sensitive, digest_key) == remembered) {
      continue;
    }
    const bool hides = sensitive || IsSensitiveIn(pod, key);
    changes.push_back({"metadata." + key, Value(remembered), Optional(now), true, hides, false});
  }
  for (AttributeChange& line : DriftOfKeys(pod, record, observed)) {
    changes.push_back(std::move(line));
  }
  std::erase_if(changes, [&](const auto& change) { return IsIgnored(pod, change.path); });
  SortByPath(&changes);
  return changes;
}

std::vector<AttributeChange> CreateAttributes(const PodSpec& pod, const ReferenceLookup& lookup) {
  std::vector<AttributeChange> attributes;
  std::vector<std::string> unknown;
  Value body = CreateBody(pod, lookup, &unknown);
  body.Erase("metadata");
  ListLeaves("", body, &attributes);
  for (const std::string& path : unknown) {
    attributes.push_back({.path = path, .known = false});
  }
  for (const auto& [key, entry] : pod.metadata) {
    const auto text = RenderMetadata(key, entry.text, lookup);
    if (!text) continue;  // listed with the unknown
    attributes.push_back({.path = "metadata." + key,
                          .after = Value(*text),
                          .sensitive = entry.sensitive,
                          .origin = OriginOf(entry, nullptr, key)});
  }
  const auto keys = KeyAttributes(KeysAtCreate(pod));
  attributes.insert(attributes.end(), keys.begin(), keys.end());
  for (auto& [path, value] : BackingOf(pod).Lines(pod, nullptr)) {
    attributes.push_back({.path = path, .after = value});
  }
  // Where the node may come to be, and how long room for it is sought.
  if (pod.capacity && pod.capacity->retry.count() > 0) {
    attributes.push_back({.path = "capacity.retry", .after = FormatDuration(pod.capacity->retry)});
  }
  if (pod.capacity && pod.capacity->zones.size() > 1) {
    const std::vector<std::string>& zones = pod.capacity->zones;
    attributes.push_back(
        {.path = "capacity.zones", .after = Value::List(zones.begin(), zones.end())});
  }
  SortByPath(&attributes);
  return attributes;
}

std::optional<std::string> RenderMetadata(std::string_view key, std::string_view template_text,
                                          const ReferenceLookup& lookup) {
  if (key == kRuntimeVariablesKey) return RenderRuntimeVariables(template_text, lookup);
  return RenderText(template_text, lookup, UseInMetadata(key));
}

std::optional<UnusableReference> FindUnusableOf(const PodSpec& pod, const ReferenceLookup& lookup) {
  auto unusable = FindUnusableIn(pod.node, lookup);
  for (const auto& [key, entry] : pod.metadata) {
    if (unusable && !unusable->missing) break;
    auto found = FindUnusableMetadata(key, entry.text, lookup);
    if (!unusable || (found && !found->missing)) unusable = std::move(found);
  }
  return unusable;
}

std::vector<AttributeChange> DeleteAttributes(const PodRecord& record) {
  std::vector<AttributeChange> attributes;
  if (record.applied.is_map()) ListLeaves("", record.applied, &attributes);
  for (AttributeChange& attribute : attributes) std::swap(attribute.before, attribute.after);
  for (const auto& [key, remembered] : record.metadata) {
    attributes.push_back({.path = "metadata." + key,
                          .before = Value(remembered),
                          .sensitive = IsSensitive(record, key)});
  }
  for (auto& [path, value] : BackingOf(record).Lines(record)) {
    attributes.push_back({.path = path, .before = value});
  }
  SortByPath(&attributes);
  return attributes;
}

Value CreateBody(const PodSpec& pod, const ReferenceLookup& lookup,
                 std::vector<std::string>* unknown) {
  Value body = RenderValue(pod.node, lookup, unknown);
  if (!body.is_map()) body = Value::EmptyMap();
  Value metadata = RenderAllMetadata(pod, lookup, unknown);
  if (const std::string keys = KeysAtCreate(pod); !keys.empty()) metadata.Set(kSshKeys, keys);
  if (!metadata.AsMap().empty()) body.Set("metadata", std::move(metadata));
  return body;
}

Value PatchBody(const PodSpec& pod, const PodRecord& record, const Value& observed,
                const std::vector<std::string>& fields, const ReferenceLookup& lookup,
                std::vector<std::string>* unknown) {
  const Value rendered = RenderValue(pod.node, lookup, unknown);
  Value body = Value::EmptyMap();
  for (const std::string& field : fields) {
    const Field* known = gcp::FindNodeField(field);
    const Value* wanted = rendered.FindPath(field);
    Value merged = observed.Find(field) == nullptr ? Value::EmptyMap() : observed[field];
    std::set<std::string> owned;
    if (field == "metadata") {
      for (const auto& [key, value] : record.metadata) {
        if (key != kSshKeys || pod.metadata.contains(key)) owned.insert(key);
      }
      const Value metadata = RenderAllMetadata(pod, lookup, unknown);
      MergeMap(pod, field, &metadata, owned, &merged);
      MergeKeys(pod, record, &merged);
      body.Set(field, std::move(merged));
    } else if (known != nullptr && known->type == FieldType::kStringMap) {
      if (const Value* applied = record.applied.FindPath(field)) {
        for (const auto& [key, value] : applied->AsMap()) owned.insert(key);
      }
      MergeMap(pod, field, wanted, owned, &merged);
      body.SetPath(field, std::move(merged));
    } else if (wanted != nullptr) {
      body.SetPath(field, *wanted);
    }  // else: masked but absent, which clears it
  }
  return body;
}

std::vector<std::string> UpdateMask(const std::vector<std::string>& fields) {
  std::vector<std::string> mask;
  for (const std::string& path : fields) {
    const Field* field = gcp::FindNodeField(path);
    PODCTL_CHECK(field != nullptr && !field->mask.empty());
    mask.emplace_back(field->mask);
  }
  return mask;
}

std::string RememberedValue(const std::string& value, bool sensitive,
                            const std::string& digest_key) {
  return sensitive ? std::string(kDigestPrefix) + HmacSha256Hex(digest_key, value) : value;
}

void HideRemembered(const PodSpec& pod, const std::string& digest_key, PodRecord* record) {
  auto& hidden = record->sensitive_keys;
  for (auto& [key, value] : record->metadata) {
    const bool is_hidden = std::find(hidden.begin(), hidden.end(), key) != hidden.end();
    if (is_hidden || !IsSensitiveIn(pod, key)) continue;
    value = RememberedValue(value, true, digest_key);
    hidden.push_back(key);
  }
  if (IsSensitiveIn(pod, std::string(kRuntimeVariablesKey))) record->exec_env.clear();
}

bool IsRememberedDigest(std::string_view remembered) {
  return remembered.starts_with(kDigestPrefix);
}

}  // namespace podctl

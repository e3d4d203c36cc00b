#include "plans/kinds/pod/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "plans/kinds/pod/diff.h"
#include "plans/kinds/pod/journal.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/published_keys.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/settle.h"
#include "plans/kinds/pod/shown.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/step/record.h"
#include "plans/spec/runtime_flags.h"
#include "providers/base/ssh_key_lines.h"
#include "providers/base/text.h"
#include "providers/gcp/tpu_schema.h"

namespace podctl {
namespace {

using gcp::Field;
using gcp::FieldClass;
using gcp::FieldType;

constexpr std::string_view kCloudScope = "https://www.googleapis.com/auth/cloud-platform";
// The guest agent runs these (documentation of Node.metadata): they make the node what it is.
constexpr std::array<std::string_view, 2> kScripts = {"startup-script", "shutdown-script"};
// Labels of this prefix are set by Google's own services.
constexpr std::string_view kServiceLabels = "goog-";

std::vector<std::string> SplitSlashes(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const auto slash = text.find('/');
    parts.emplace_back(text.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    text.remove_prefix(slash + 1);
  }
}

bool IsDefault(const Value& value) {
  return value.is_null() || value == Value(false) || value == Value(0) || value == Value("") ||
         (value.is_list() && value.AsList().empty()) || (value.is_map() && value.AsMap().empty());
}

// "123456789-compute@developer.gserviceaccount.com": what the service fills in (Compute Engine's
// default service account).
bool IsDefaultAccount(std::string_view email) {
  constexpr std::string_view kEnd = "-compute@developer.gserviceaccount.com";
  if (!email.ends_with(kEnd)) return false;
  email.remove_suffix(kEnd.size());
  return !email.empty() && std::all_of(email.begin(), email.end(),
                                       [](unsigned char c) { return std::isdigit(c) != 0; });
}

class Drafter {
 public:
  Drafter(const NodeName& name, const Value& node) : name_(name), node_(node) {}

  Value Fields() {
    for (const Field& field : gcp::NodeFields()) {
      if (field.field_class == FieldClass::kOutputOnly || field.path == "metadata") continue;
      if (field.path.find("[]") != std::string_view::npos || field.type == FieldType::kMessage) {
        continue;
      }
      const Value* value = node_.FindPath(field.path);
      if (value == nullptr) continue;
      Value kept = Kept(field, *value);
      if (IsDefault(kept)) continue;
      alpha_ = alpha_ || field.version == ApiVersion::kV2Alpha1;
      draft_.SetPath(field.path, std::move(kept));
    }
    ChooseOne();
    return std::move(draft_);
  }

  // Whether Fields() has some that only v2alpha1 knows.
  bool alpha() const { return alpha_; }

 private:
  // What of a field's value is worth saying; null for nothing.
  Value Kept(const Field& field, const Value& value) {
    if (field.type == FieldType::kStringMap) return Labels(value);
    // The API has broken its own types: nothing is known of the value.
    if (field.type == FieldType::kString && !value.is_string()) return {};
    if (field.type == FieldType::kBool && !value.is_bool()) return {};
    if (field.type == FieldType::kMessageList) return Messages(field, value);
    if (field.type == FieldType::kInt || field.type == FieldType::kInt64) {
      return Value(value.AsInt());
    }
    if (field.path == "serviceAccount.scope") return Scopes(field, value);
    // A word that the service has learnt since cannot be written into a spec.
    if (field.type == FieldType::kEnum && !gcp::IsEnumWord(field, value.AsString())) return {};
    return IsServiceChoice(field, value) ? Value() : value;
  }

  // Whether the service would set this by itself.
  bool IsServiceChoice(const Field& field, const Value& value) const {
    const auto normal = [&](const Value& each) {
      return gcp::Normalize(field, each, name_.project, name_.zone);
    };
    if (field.path == "serviceAccount.email") return IsDefaultAccount(value.AsString());
    // v2alpha1 says once more what `spot` says, and what goes without saying.
    if (field.path == "schedulingConfig.provisioningModel") {
      const bool spot = node_["schedulingConfig"]["spot"].AsBool();
      return value == Value("STANDARD") || (spot && value == Value("SPOT"));
    }
    // Only a /29 can be asked for; the service shows its subnetwork's block where none was.
    if (field.path == "cidrBlock") return !value.AsString().ends_with("/29");
    if (field.path == "dataDisks[].mode") return value == Value("READ_WRITE");
    const bool is_network = field.normal_form == gcp::NormalForm::kNetwork ||
                            field.normal_form == gcp::NormalForm::kSubnetwork;
    return is_network && normal(value) == normal(Value("default"));
  }

  static Value Labels(const Value& value) {
    Value labels = Value::EmptyMap();
    for (const auto& [key, label] : value.AsMap()) {
      const bool ours = key.starts_with(kServiceLabels) || key == kLineageLabel;
      if (!ours && label.is_string()) labels.Set(key, label);
    }
    return labels;
  }

  Value Scopes(const Field& field, const Value& value) const {
    const Value scopes = gcp::Normalize(field, value, name_.project, name_.zone);
    return scopes == Value(Value::List{Value(kCloudScope)}) ? Value() : scopes;
  }

  Value Messages(const Field& field, const Value& value) {
    Value::List messages;
    for (const Value& message : value.AsList()) {
      Value kept = Value::EmptyMap();
      for (const auto& [key, member] : message.AsMap()) {
        const Field* known = gcp::FindNodeField(std::string(field.path) + "[]." + key);
        if (known == nullptr || known->field_class == FieldClass::kOutputOnly) continue;
        Value worth = Kept(*known, member);
        if (IsDefault(worth)) continue;
        alpha_ = alpha_ || known->version == ApiVersion::kV2Alpha1;
        kept.Set(key, std::move(worth));
      }
      messages.push_back(std::move(kept));
    }
    return Value(std::move(messages));
  }

  // The service shows both forms of what can be asked for in one form only.
  void ChooseOne() {
    if (draft_.Find("acceleratorType") != nullptr) draft_.Erase("acceleratorConfig");
    const bool several = draft_["networkConfigs"].AsList().size() > 1;
    const bool has_one = node_.Find("networkConfig") != nullptr;
    draft_.Erase(several || !has_one ? "networkConfig" : "networkConfigs");
    bool chosen = false;
    for (const char* terms : {"spot", "preemptible", "reserved"}) {
      const std::string path = std::string("schedulingConfig.") + terms;
      if (draft_.FindPath(path) == nullptr) continue;
      if (chosen) draft_.ErasePath(path);
      chosen = true;
    }
  }

  const NodeName& name_;
  const Value& node_;
  Value draft_ = Value::EmptyMap();
  bool alpha_ = false;
};

// Fields of which the state remembers what podctl applied, each once: the leaves.
template <typename Visit>
void EachOwnedField(const Visit& visit) {
  for (const Field& field : gcp::NodeFields()) {
    if (field.field_class == FieldClass::kOutputOnly || field.type == FieldType::kMessage) continue;
    if (field.path.find("[]") != std::string_view::npos || field.path == "metadata") continue;
    visit(field);
  }
}

// What of `wanted` the node has, with the node's own values.
Value OwnedFields(const PodSpec& pod, const Value& wanted, const Value& node) {
  Value owned = Value::EmptyMap();
  EachOwnedField([&](const Field& field) {
    const Value* value = wanted.FindPath(field.path);
    if (value == nullptr || IsIgnored(pod, field.path)) return;
    const Value* there = node.FindPath(field.path);
    if (field.type == FieldType::kStringMap) {
      Value map = Value::EmptyMap();
      for (const auto& [key, text] : value->AsMap()) {
        const Value* has = there == nullptr ? nullptr : there->Find(key);
        if (has == nullptr || IsIgnored(pod, std::string(field.path) + "." + key)) continue;
        map.Set(key, *has);
      }
      if (!map.AsMap().empty()) owned.SetPath(field.path, std::move(map));
    } else if (there != nullptr) {
      owned.SetPath(field.path, *there);
    } else if (IsDefault(*value)) {  // the service leaves out what is false or empty
      owned.SetPath(field.path, *value);
    }
  });
  return owned;
}

void OwnMetadata(const PodSpec& pod, const Value& node, const std::string& digest_key,
                 PodRecord* record) {
  for (const auto& [key, entry] : pod.metadata) {
    const Value* there = node["metadata"].Find(key);
    if (there == nullptr || IsIgnored(pod, "metadata." + key)) continue;
    record->metadata[key] = RememberedValue(there->AsString(), entry.sensitive, digest_key);
    if (entry.sensitive) record->sensitive_keys.push_back(key);
  }
}

}  // namespace

Result<NodeName> NodeNameFromId(std::string_view id, const NodeName& otherwise) {
  const auto url = id.find("projects/");
  if (id.starts_with("https://") && url != std::string_view::npos) id.remove_prefix(url);
  const std::vector<std::string> parts = SplitSlashes(id);
  NodeName name = otherwise;
  name.node = parts.back();
  bool is_id = std::none_of(parts.begin(), parts.end(), [](const auto& p) { return p.empty(); });
  if (parts.size() == 2) {
    name.zone = parts[0];
  } else if (parts.size() == 3) {
    name.project = parts[0];
    name.zone = parts[1];
  } else if (parts.size() == 6) {
    is_id = is_id && parts[0] == "projects" && parts[2] == "locations" &&
            (parts[4] == "nodes" || parts[4] == "queuedResources");
    name.project = parts[1];
    name.zone = parts[3];
  } else {
    is_id = is_id && parts.size() == 1;
  }
  if (!is_id) {
    return MakeError(ErrorCode::kInvalidArgument, fmt::format("`{}` names no node", id),
                     "write NODE, ZONE/NODE or projects/PROJECT/locations/ZONE/nodes/NODE");
  }
  if (name.project.empty() || name.zone.empty()) {
    const char* what = name.project.empty() ? "project" : "zone";
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("the {} of the node `{}` is not known", what, name.node),
                     fmt::format("set `{0}` in the spec, give --{0}, or write the whole name, "
                                 "projects/PROJECT/locations/ZONE/nodes/NODE",
                                 what));
  }
  return name;
}

PodDraft DraftOf(const std::string& pod, const NodeName& name, const Value& node) {
  PodDraft draft;
  draft.name = pod;
  if (name.node != pod) draft.node_id = name.node;
  Drafter drafter(name, node);
  draft.node = drafter.Fields();
  draft.alpha = drafter.alpha();
  std::vector<std::string> others;
  const std::vector<std::string> strange = StrangeMetadata(node);
  for (const auto& [key, value] : node["metadata"].AsMap()) {
    if (!value.is_string()) continue;
    if (key == kRuntimeVariablesKey) {
      if (auto runtime = SplitRuntimeVariables(value.AsString())) {
        draft.runtime = std::move(*runtime);
      } else {
        draft.metadata[key] = value.AsString();
      }
    } else if (std::find(kScripts.begin(), kScripts.end(), key) != kScripts.end()) {
      draft.metadata[key] = value.AsString();
    } else if (key != kSshKeys) {
      others.push_back(key);
    }
  }
  if (!others.empty()) {
    draft.comments.push_back(fmt::format(
        "Metadata that podctl leaves alone unless it is written here: {}.", Join(others, ", ")));
  }
  if (!strange.empty()) {
    draft.comments.push_back(
        fmt::format("Metadata of which the API shows no text, and which podctl leaves alone: {}.",
                    Join(strange, ", ")));
  }
  return draft;
}

std::vector<std::string> StrangeMetadata(const Value& node) {
  std::vector<std::string> strange;
  for (const auto& [key, value] : node["metadata"].AsMap()) {
    if (!value.is_string()) strange.push_back(key);
  }
  return strange;
}

bool Insist(const PodSpec& pod, const Value& node, PodDraft* draft) {
  bool changed = false;
  for (const std::string& path : DifferingPaths(
           pod, node, [](const Address&) { return static_cast<const Value*>(nullptr); })) {
    const Field* field = gcp::FindNodeField(path);
    if (field == nullptr || draft->node.FindPath(path) != nullptr) continue;
    const Value* there = node.FindPath(path);
    if (there == nullptr && field->type != FieldType::kBool) continue;
    draft->node.SetPath(path, there == nullptr ? Value(false) : *there);
    changed = true;
  }
  return changed;
}

std::vector<std::string> DifferingPaths(const PodSpec& pod, const Value& node,
                                        const ReferenceLookup& lookup) {
  std::vector<std::string> paths;
  // As a plan names them.
  for (const auto& attribute : WithFlagsApart(DiffPod(pod, nullptr, node, lookup).attributes)) {
    // Nobody has read what the secret holds: the next plan does.
    if (!attribute.origin || !attribute.before) paths.push_back(attribute.path);
  }
  return paths;
}

void TakeOver(const PodSpec& pod, const NodeName& name, const Value& node,
              const ReferenceLookup& lookup, const std::string& now, State* state) {
  const Address address = PodAddress(pod.name);
  PODCTL_CHECK(!Pods(*state).contains(address));
  PodRecord& record = Pods(*state)[address];
  record.project = name.project;
  record.zone = name.zone;
  record.current.locator = name.node;
  TakeObserved(node, &record);
  TakeBookkeeping(pod, lookup, &record);
  record.applied = OwnedFields(pod, RenderValue(pod.node, lookup, nullptr), node);
  OwnMetadata(pod, node, state->digest_key, &record);
  RememberKeys(pod, node["metadata"], &record);
  const Value* variables = node["metadata"].Find(kRuntimeVariablesKey);
  if (variables == nullptr || WorkerCount(node) < 2 ||
      !pod.metadata.contains(kRuntimeVariablesKey)) {
    return;
  }
  StepRecord& step = Steps(*state)[StepAddress(pod.name, kRuntimeStepName)];
  step.pod = address;
  for (int worker = 0; worker < static_cast<int>(WorkerCount(node)); ++worker) {
    step.workers[worker] = {RuntimeDigest(variables->AsString()), record.current.uid, now};
  }
}

std::string WhyNotNow(const Value& node) {
  const std::string state = NodeState(node);
  if (state == "CREATING") return "it is still being created";
  if (state == "DELETING") return "it is being deleted";
  return {};
}

}  // namespace podctl

#include "plans/kinds/pod/reader/capacity_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "plans/kinds/pod/reader/node_fields.h"
#include "plans/kinds/pod/reader/pod_shape.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/names.h"
#include "providers/base/text.h"
#include "providers/gcp/queued_resource.h"

namespace podctl {
namespace {

constexpr std::chrono::hours kLongestRetry{30 * 24};
constexpr const char* kCapacity = "capacity";

}  // namespace

void CapacityReader::ReadCapacity(const YamlEntry& entry, const Slot& slot) {
  const YamlNode& node = *entry.value;
  pod_.capacity.emplace();
  if (!reader_.ExpectMap(node, slot)) return;
  if (node.entries.empty()) {
    return reader_.Error(node, slot, "`capacity` says nothing",
                         "such as `capacity: {retry: 2h, zones: [us-central2-b]}`");
  }
  for (const YamlEntry& member : node.entries) {
    const std::string& key = member.key->text;
    const Slot below = slot.Below(key);
    if (reader_.KnownKey(*member.key, slot.Path(), CapacityShape()) == nullptr) continue;
    if (key == "retry") {
      const auto retry = reader_.ReadDuration(*member.value, below);
      if (retry && *retry > kLongestRetry) {
        reader_.Error(*member.value, below, "`retry` is longer than 720h", "at most `720h`");
      }
      pod_.capacity->retry = retry.value_or(std::chrono::milliseconds(0));
    } else {
      ReadZones(*member.value, below);
    }
  }
}

void CapacityReader::ReadZones(const YamlNode& node, const Slot& slot) {
  if (!reader_.ExpectList(node, slot)) return;
  const std::size_t most = CapacityShape().At("zones").most;
  if (node.items.size() > most) {
    return reader_.Error(node, slot, fmt::format("{} zones are too many", node.items.size()),
                         fmt::format("{} at most", most));
  }
  for (const YamlNodePtr& item : node.items) {
    const auto zone = reader_.ReadPlain(*item, slot);
    if (!zone || !CheckZone(reader_, *item, slot, *zone)) continue;
    std::vector<std::string>& zones = pod_.capacity->zones;
    if (std::find(zones.begin(), zones.end(), *zone) != zones.end()) {
      reader_.Error(*item, slot, fmt::format("the zone `{}` is there twice", *zone));
      continue;
    }
    zones.push_back(*zone);
  }
}

void CapacityReader::ReadOnPreemption(const YamlNode& node, const Slot& slot) {
  pod_.recreate_when_lost =
      reader_.ReadWord(node, slot, OwnKeys().At("onPreemption")) == "recreate";
}

void CapacityReader::Check(const YamlNode& pod, const std::string& context) {
  if (!pod_.capacity) return;
  std::vector<std::string>& zones = pod_.capacity->zones;
  std::erase(zones, pod_.zone);
  zones.insert(zones.begin(), pod_.zone);
  const YamlEntry* capacity = pod.Find(kCapacity);
  const Slot slot{context, kCapacity};
  if (pod_.queued) {
    reader_.Conflict(*capacity->key, slot, "`capacity` and `queuedResource` exclude each other",
                     *pod.Find("queuedResource")->key,
                     "a queued resource waits by itself, in its zone: `timeouts: {queue: 2h}`");
  }
  if (pod_.lifecycle.create_before_destroy) {
    reader_.Error(*capacity->key, slot,
                  "`createBeforeDestroy` does not go together with `capacity`", "leave it out",
                  "While a node waits for room, its predecessor would hold what may be the last.");
  }
}

namespace {

using gcp::Term;
using gcp::TermType;

constexpr const char* kQueued = "queuedResource";

// "21600s": how the service writes a duration (google.protobuf.Duration as JSON).
std::string Seconds(std::chrono::milliseconds duration) {
  const auto count = duration.count();
  if (count % 1000 == 0) return fmt::format("{}s", count / 1000);
  return fmt::format("{}.{:03}s", count / 1000, count % 1000);
}

// 2026-11-22T08:00:00Z, as far as a slip is worth noticing; the service checks the rest.
bool LooksLikeTime(std::string_view text) {
  constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:dd";
  if (text.size() <= kPattern.size()) return false;
  for (std::size_t i = 0; i < kPattern.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kPattern[i] == 'd' ? !digit : text[i] != kPattern[i]) return false;
  }
  return true;
}

}  // namespace

void QueueReader::ReadQueuedResource(const YamlEntry& entry, const Slot& slot) {
  QueuedSpec& queued = pod_.queued.emplace();
  queued.terms = Value::EmptyMap();
  const YamlNode& node = *entry.value;
  if (node.kind == YamlNode::Kind::kNull) return;  // `queuedResource:`, on demand
  if (node.is_scalar() && node.text.starts_with("projects/")) {
    return reader_.Error(*entry.key, slot,
                         "`queuedResource` as a name is written by the service and cannot be set",
                         "leave it out, or ask for one: `queuedResource: {spot: true}`");
  }
  if (!reader_.ExpectMap(node, slot)) return;
  ReadTerms(node, slot, "", QueuedResourceShape());
  CheckTier(node, slot);
}

void QueueReader::ReadTerms(const YamlNode& node, const Slot& slot, const std::string& prefix,
                            const Shape& map) {
  const bool exclusive = map.most == 1;
  const YamlEntry* first = nullptr;
  for (const YamlEntry& entry : node.entries) {
    const std::string& key = entry.key->text;
    const Slot below = slot.Below(key);
    const Key* known = reader_.KnownKey(*entry.key, slot.Path(), map);
    if (known == nullptr) continue;
    if (prefix.empty() && key == "id") {
      const auto id = reader_.ReadPlain(*entry.value, below);
      if (id && CheckNodeId(reader_, *entry.value, below, *id)) pod_.queued->id = *id;
      continue;
    }
    if (exclusive && first != nullptr) {
      ReportExclusive(reader_, entry, slot, *first);
      continue;
    }
    first = &entry;
    ReadTerm(entry, below, prefix + key, known->shape);
  }
}

void QueueReader::ReadTerm(const YamlEntry& entry, const Slot& slot, const std::string& path,
                           const Shape& shape) {
  const YamlNode& node = *entry.value;
  const Term& term = *gcp::FindQueuedTerm(path);
  Value& terms = pod_.queued->terms;
  switch (term.type) {
    case TermType::kTier:
      if (!node.is_map()) {
        if (reader_.ReadBool(node, slot).value_or(false)) terms.SetPath(path, true);
        return;
      }
      terms.SetPath(path, true);
      return ReadTerms(node, slot, path + ".", shape.of.back());
    case TermType::kMessage:
      if (reader_.ExpectMap(node, slot)) ReadTerms(node, slot, path + ".", shape);
      return;
    case TermType::kDuration:
      if (const auto duration = reader_.ReadDuration(node, slot)) {
        terms.SetPath(path, Seconds(*duration));
      }
      return;
    case TermType::kTime: {
      const auto text = reader_.ReadPlain(node, slot);
      if (!text) return;
      if (!LooksLikeTime(*text)) {
        return reader_.Error(node, slot, fmt::format("{} is no moment", FoundWords(node)),
                             "such as `2026-11-22T08:00:00Z`");
      }
      return terms.SetPath(path, *text);
    }
    case TermType::kFlag:
      if (reader_.ReadBool(node, slot).value_or(false)) terms.SetPath(path, true);
      return;
    case TermType::kEnum:
      if (const auto word = reader_.ReadWord(node, slot, shape)) terms.SetPath(path, *word);
      return;
    case TermType::kText:
      if (const auto text = reader_.ReadPlain(node, slot)) terms.SetPath(path, *text);
      return;
  }
}

void QueueReader::CheckTier(const YamlNode& queued, const Slot& slot) {
  const YamlEntry* first = nullptr;
  for (const YamlEntry& entry : queued.entries) {
    const std::string& key = entry.key->text;
    const Term* term = gcp::FindQueuedTerm(key);
    if (term == nullptr || term->type != TermType::kTier) continue;
    if (pod_.queued->terms.Find(key) == nullptr) continue;
    if (first == nullptr) {
      first = &entry;
      continue;
    }
    ReportExclusive(reader_, entry, slot, *first);
  }
}

void QueueReader::CheckVersion(const YamlNode& queued, const Slot& slot,
                               const std::string& prefix) {
  if (pod_.api_version.value_or(ApiVersion::kV2) == ApiVersion::kV2Alpha1) return;
  for (const YamlEntry& entry : queued.entries) {
    const std::string& key = entry.key->text;
    const Term* term = gcp::FindQueuedTerm(prefix + key);
    if (term == nullptr) continue;
    if (term->version != ApiVersion::kV2) {
      reader_.Error(*entry.key, slot.Below(key), fmt::format("only v2alpha1 has `{}`", key),
                    "set `apiVersion: v2alpha1` for this pod");
    } else if (entry.value->is_map()) {
      CheckVersion(*entry.value, slot.Below(key), prefix + key + ".");
    }
  }
}

void QueueReader::CheckWorkload(const YamlNode& queued, const Slot& slot) {
  const YamlEntry* workload = queued.Find(gcp::kWorkloadType);
  if (workload == nullptr || pod_.queued->slices > 1) return;
  reader_.Error(*workload->key, slot.Below(workload->key->text),
                fmt::format("`{}` is about several slices", gcp::kWorkloadType),
                "add `slices: 2` to the pod, or leave it out");
}

void QueueReader::ReadTimeouts(const YamlNode& node, const Slot& slot) {
  if (!reader_.ExpectMap(node, slot)) return;
  for (const YamlEntry& entry : node.entries) {
    const std::string& key = entry.key->text;
    if (reader_.KnownKey(*entry.key, slot.Path(), TimeoutsShape()) == nullptr) continue;
    std::optional<std::chrono::milliseconds>* timeout = key == "queue"    ? &pod_.queue_timeout
                                                        : key == "create" ? &pod_.create_timeout
                                                                          : &pod_.boot_timeout;
    *timeout = reader_.ReadDuration(*entry.value, slot.Below(key));
    if (*timeout && (*timeout)->count() == 0) {
      reader_.Error(*entry.value, slot.Below(key), fmt::format("`{}` cannot be zero", key),
                    "leave it out for the usual time");
    }
  }
}

void QueueReader::Check(const YamlNode& pod, const std::string& context) {
  if (const YamlEntry* slices = pod.Find("slices")) {
    const Slot slot{context, "slices"};
    const auto count = reader_.ReadInt(*slices->value, slot, OwnKeys().At("slices"));
    if (!pod_.queued && count.value_or(1) > 1) {
      reader_.Error(*slices->key, slot, "`slices` needs a queued resource",
                    "add `queuedResource: {}`");
    } else if (pod_.queued) {
      pod_.queued->slices = static_cast<int>(count.value_or(1));
    }
  }
  if (!pod_.queued) return;
  const YamlEntry& queued = *pod.Find(kQueued);
  CheckVersion(*queued.value, {context, kQueued}, "");
  CheckWorkload(*queued.value, {context, kQueued});
  for (const char* terms : {"spot", "preemptible", "reserved"}) {
    if (!pod_.node["schedulingConfig"][terms].AsBool()) continue;
    const YamlEntry& scheduling = *pod.Find("schedulingConfig");
    reader_.Conflict(
        *scheduling.key, {context, "schedulingConfig"},
        fmt::format("`schedulingConfig.{}` and `{}` exclude each other", terms, kQueued),
        *queued.key, "a queued resource says itself on what terms capacity is given");
  }
  if (pod_.lifecycle.create_before_destroy) {
    reader_.Error(*queued.key, {context, kQueued},
                  "`createBeforeDestroy` does not go together with a queued resource",
                  "leave it out", "Two requests would wait for the same capacity.");
  }
}

}  // namespace podctl

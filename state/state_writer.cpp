#include "state/state_writer.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "state/object_writer.h"
#include "state/record_codec.h"

namespace podctl {

// Found by ObjectWriter.
static void PutMembers(const Intent& intent, ObjectWriter& out) {
  out.Member("begun_at", intent.begun_at);
  out.Member("operation", intent.operation);
  out.Spare("request_id", intent.request_id);
  out.Member("run", intent.run);
}

static void PutMembers(const Recovery& recovery, ObjectWriter& out) {
  out.Member("because", recovery.because);
  out.Member("done", recovery.done);
  out.Member("since", recovery.since);
  out.Member("times", recovery.times);
}

namespace {

// A typical pod with four workers takes this much.
constexpr std::size_t kBytesARecord = 4096;

const Intent* IntentOf(const Life& life) {
  if (const auto* creating = std::get_if<Creating>(&life)) return &creating->intent;
  if (const auto* changing = std::get_if<Changing>(&life)) return &changing->intent;
  if (const auto* deleting = std::get_if<Deleting>(&life)) return &deleting->intent;
  return nullptr;
}

struct ObjectInRole {
  const Object& object;
  std::string_view role;
};

void PutMembers(const ObjectInRole& it, ObjectWriter& out) {
  const Life& life = it.object.life;
  if (const Intent* intent = IntentOf(life)) out.Member("intent", *intent);
  out.Member("life", LifeName(life));
  out.Member("locator", it.object.locator);
  out.Member("role", it.role);
  const bool open =
      std::holds_alternative<Creating>(life) || std::holds_alternative<Deleting>(life);
  if (open) out.Member("seen", it.object.exists());
  out.Spare("uid", it.object.uid);
}

std::vector<ObjectInRole> ObjectsOf(const Record& record) {
  std::vector<ObjectInRole> objects = {{record.current, kCurrentRole}};
  for (const Object& object : record.deposed) objects.push_back({object, kDeposedRole});
  for (const Object& object : record.auxiliary) objects.push_back({object, kAuxiliaryRole});
  return objects;
}

void PutMembers(const Goal& goal, ObjectWriter& out) {
  if (const auto* recovering = std::get_if<Recovering>(&goal)) {
    out.Member("because", recovering->because);
    out.Member("goal", GoalName(goal));
    out.Spare("replace_because", recovering->replace_because);
    out.Spare("seeking_since", recovering->seeking_since);
    out.Member("since", recovering->since);
  } else if (const auto* replacing = std::get_if<Replacing>(&goal)) {
    out.Member("because", replacing->because);
    out.Member("goal", GoalName(goal));
    out.Spare("seeking_since", replacing->seeking_since);
  } else {
    out.Member("goal", GoalName(goal));
    if (const auto* seeking = std::get_if<Seeking>(&goal)) out.Member("since", seeking->since);
  }
}

void PutRecord(const AnyRecord& record, std::string* text) {
  ObjectWriter out(text);
  const Record* known = record.objects();
  if (known != nullptr && !std::holds_alternative<Settled>(known->goal)) {
    ObjectWriter goal(out.Key("goal"));
    PutMembers(known->goal, goal);
  }
  if (known != nullptr) out.Member("objects", ObjectsOf(*known));
  {
    ObjectWriter payload(out.Key("payload"));
    record.codec().WritePayload(record, payload);
  }
  if (known != nullptr && known->recovered) out.Member("recovered", *known->recovered);
  out.Member("type", record.codec().kind());
}

}  // namespace

std::string_view LifeName(const Life& life) {
  constexpr std::array<std::string_view, std::variant_size_v<Life>> kNames = {
      "absent", "creating", "present", "changing", "deleting"};
  return kNames[life.index()];
}

std::string_view GoalName(const Goal& goal) {
  constexpr std::array<std::string_view, std::variant_size_v<Goal>> kNames = {
      "settled", "seeking", "recovering", "replacing", "leaving"};
  return kNames[goal.index()];
}

std::string CanonicalResources(const State& state) {
  std::string text;
  text.reserve(state.records.size() * kBytesARecord);
  {
    ObjectWriter out(&text);
    for (const auto& [address, record] : state.records) PutRecord(record, out.Key(address.Text()));
  }
  return text;
}

std::string CanonicalRecord(const AnyRecord& record) {
  std::string text;
  PutRecord(record, &text);
  return text;
}

std::string ChecksumOf(const StateHeader& header, std::string_view canonical_resources) {
  Sha256 sum;
  std::string before = R"({"checksum":"","digest_key":)";
  AppendJsonText(header.digest_key, &before);
  before += fmt::format(R"(,"format_version":{},"lineage":)", header.format_version);
  AppendJsonText(header.lineage, &before);
  before += R"(,"podctl_version":)";
  AppendJsonText(header.podctl_version, &before);
  before += R"(,"resources":)";
  sum.Add(before);
  sum.Add(canonical_resources);
  sum.Add(fmt::format(R"(,"serial":{}}})", header.serial));
  return "sha256:" + std::move(sum).Hex();
}

}  // namespace podctl

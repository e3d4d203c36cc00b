#include "plans/kinds/pod/drift.h"

#include <fmt/format.h>

#include <algorithm>

#include "plans/kinds/pod/diff.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/published_keys.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/settle.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr std::string_view kMetadata = "metadata.";

class Finder {
 public:
  Finder(const Address& address, const DriftInput& input) : address_(address), input_(input) {}

  std::vector<Drift> Run() {
    if (FindEnd()) return std::move(found_);
    if (input_.node == nullptr) {
      if (input_.record.exists()) {
        Note(Drift::Kind::kVanished, "is gone: the node was deleted outside of podctl");
      }
      return std::move(found_);
    }
    FindState();
    return std::move(found_);
  }

 private:
  void Note(Drift::Kind kind, std::string sentence) {
    found_.push_back({kind, address_, std::move(sentence), {}});
  }

  // What the node came from and has come to its end says all there is to say.
  bool FindEnd() {
    const BackingStatus& backing_status = input_.backing_status;
    if (backing_status.ended.empty()) return false;
    if (!input_.only_news || !backing_status.remembered)
      Note(Drift::Kind::kTerminal, backing_status.ended);
    return true;
  }

  // Of a multislice what each slice says that is not well; else `sentence`.
  std::string Where(const Value& node, const char* fact, std::string_view well,
                    std::string sentence) const {
    std::vector<std::string> parts;
    const Value::List& slices = node["slices"].AsList();
    for (std::size_t slice = 0; slice < slices.size(); ++slice) {
      const std::string word = VisibleControls(slices[slice][fact].AsString());
      if (word == well || word.empty()) continue;
      const std::string why = NodeHealthDescription(slices[slice]);
      const bool explains = std::string_view(fact) == "health" && !why.empty();
      parts.push_back(fmt::format("[{}] ({}) is {}{}", slice,
                                  VisibleControls(slices[slice]["nodeId"].AsString()), word,
                                  explains ? ": " + why : ""));
    }
    return parts.empty() ? std::move(sentence) : fmt::format("{}", fmt::join(parts, ", "));
  }

  // "[1] (research-1) " where only keys changed, and those of single slices.
  std::string WhereKeys(const Value& node, const std::vector<AttributeChange>& changes) const {
    std::string where;
    const bool keys = std::all_of(changes.begin(), changes.end(),
                                  [](const auto& change) { return IsKeyPath(change.path); });
    if (!keys) return where;
    for (const int slice : SlicesWithoutKeys(input_.record, node)) {
      const Value::List& slices = node["slices"].AsList();
      if (static_cast<std::size_t>(slice) >= slices.size()) continue;
      const std::string& id = slices[static_cast<std::size_t>(slice)]["nodeId"].AsString();
      where += fmt::format("{}[{}] ({})", where.empty() ? "" : ", ", slice, VisibleControls(id));
    }
    return where.empty() ? where : where + " ";
  }

  bool IsNews(const char* fact) const {
    return !input_.only_news || (*input_.node)[fact] != input_.record.observed[fact];
  }

  void FindState() {
    const Value& node = *input_.node;
    const std::string state = NodeState(node);
    if (IsTerminalState(state)) {
      if (IsNews("state")) {
        Note(Drift::Kind::kTerminal, Where(node, "state", "READY", fmt::format("is {}", state)));
      }
      return;
    }
    if (state == "REPAIRING" && IsNews("state")) {
      Note(Drift::Kind::kRepairing, Where(node, "state", "READY", "is REPAIRING"));
    }
    // Where the spec wants a state, the plan says what is done about it.
    if (IsStopped(node) && !input_.pod.desired_state && IsNews("state")) {
      Note(Drift::Kind::kStopped, fmt::format("is {}", state));
    }
    const std::string health = NodeHealth(node);
    if (!health.empty() && health != "HEALTHY" && state == "READY" && IsNews("health")) {
      const std::string why = NodeHealthDescription(node);
      Note(Drift::Kind::kUnhealthy,
           Where(node, "health", "HEALTHY",
                 why.empty() ? "is " + health : fmt::format("is {}: {}", health, why)));
    }
    auto changes = DiffDrift(input_.pod, input_.record, node, input_.digest_key);
    if (changes.empty()) return;
    Note(Drift::Kind::kChanged, WhereKeys(node, changes) + "was changed outside of podctl");
    found_.back().attributes = std::move(changes);
  }

  const Address& address_;
  const DriftInput& input_;
  std::vector<Drift> found_;
};

void AcceptAttribute(const AttributeChange& attribute, const std::string& digest_key,
                     PodRecord* record) {
  if (!attribute.path.starts_with(kMetadata)) {
    if (attribute.after) {
      record->applied.SetPath(attribute.path, *attribute.after);
    } else {
      record->applied.ErasePath(attribute.path);
    }
    return;
  }
  if (IsKeyPath(attribute.path)) return ForgetKey(attribute, record);
  const std::string key = attribute.path.substr(kMetadata.size());
  if (!attribute.after) {
    record->metadata.erase(key);
    record->secrets.erase(key);
    std::erase(record->sensitive_keys, key);
    return;
  }
  const std::string& value = attribute.after->AsString();
  auto& hidden = record->sensitive_keys;
  const bool is_new = std::find(hidden.begin(), hidden.end(), key) == hidden.end();
  if (attribute.sensitive && is_new) hidden.push_back(key);
  // A plan that was read from a file holds the digest in place of a sensitive value.
  record->metadata[key] = attribute.sensitive && IsRememberedDigest(value)
                              ? value
                              : RememberedValue(value, attribute.sensitive, digest_key);
}

}  // namespace

std::vector<Drift> FindDrift(const Address& address, const DriftInput& input) {
  return Finder(address, input).Run();
}

void AcceptDrift(const Drift& drift, State* state) {
  if (!Pods(*state).contains(drift.address)) return;
  if (drift.kind == Drift::Kind::kVanished) return ForgetNode(drift.address, state);
  for (const AttributeChange& attribute : drift.attributes) {
    AcceptAttribute(attribute, state->digest_key, &Pods(*state)[drift.address]);
  }
}

}  // namespace podctl

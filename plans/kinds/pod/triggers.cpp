#include "plans/kinds/pod/triggers.h"

#include <fmt/format.h>

#include <algorithm>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/published_keys.h"
#include "plans/kinds/pod/record.h"
#include "providers/gcp/tpu_schema.h"

namespace podctl {
namespace {

// One is the other, or stands above it.
bool Overlap(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return b.starts_with(a) && (a.size() == b.size() || b[a.size()] == '.' || b[a.size()] == '[');
}

// What the service writes is another with another node.
bool IsOutputOnly(std::string_view path) {
  const gcp::Field* field = gcp::FindNodeField(path.substr(0, path.find_first_of(".[")));
  return field != nullptr && field->field_class == gcp::FieldClass::kOutputOnly;
}

}  // namespace

void Triggers::NotePod(const Change& change, std::vector<AttributeChange> differences) {
  const bool replaced = IsReplace(change);
  // A node that is merely started or stopped is the same one.
  if (!replaced && AsPod(change)->fields.empty()) return;
  // Nor is one that lets another teammate in.
  std::erase_if(differences, [](const auto& each) { return IsKeyPath(each.path); });
  if (!replaced && differences.empty()) return;
  pods_[change.address.name] = {replaced, std::move(differences)};
}

std::string Triggers::Fired(const LifecycleSpec& lifecycle) const {
  for (const std::string& trigger : lifecycle.replace_triggered_by) {
    std::string reason = FiredBy(trigger);
    if (!reason.empty()) return reason;
  }
  return {};
}

std::string Triggers::FiredBy(const std::string& trigger) const {
  const auto address = ParseAddress(trigger);
  if (!address) return {};
  if (address->kind != kPodKind) {
    return steps_.contains(*address) ? trigger + " runs again" : "";
  }
  const auto dot = trigger.find('.', 4);
  const auto pod = pods_.find(trigger.substr(4, dot - 4));
  if (pod == pods_.end()) return {};
  if (dot == std::string::npos) {
    return fmt::format("{} is {}", trigger, pod->second.replaced ? "replaced" : "updated");
  }
  const std::string path = trigger.substr(dot + 1);
  const bool differs = std::any_of(
      pod->second.differences.begin(), pod->second.differences.end(),
      [&](const AttributeChange& difference) { return Overlap(difference.path, path); });
  return differs || (pod->second.replaced && IsOutputOnly(path)) ? trigger + " changes" : "";
}

}  // namespace podctl

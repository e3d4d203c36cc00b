#include "plans/kinds/pod/triggers.h"

#include <fmt/format.h>

#include <algorithm>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/published_keys.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
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

std::string FiredBy(const std::string& trigger, const FactsLookup& facts) {
  const auto address = ParseAddress(trigger);
  if (!address) return {};
  if (address->kind != kPodKind) {
    const Facts* step = facts(*address);
    return step != nullptr && step->anew ? trigger + " runs again" : "";
  }
  const auto dot = trigger.find('.', 4);
  const Facts* pod = facts(PodAddress(trigger.substr(4, dot - 4)));
  if (pod == nullptr || (!pod->anew && pod->differences.empty())) return {};
  if (dot == std::string::npos) {
    return fmt::format("{} is {}", trigger, pod->anew ? "replaced" : "updated");
  }
  const std::string path = trigger.substr(dot + 1);
  const bool differs = std::any_of(
      pod->differences.begin(), pod->differences.end(),
      [&](const AttributeChange& difference) { return Overlap(difference.path, path); });
  return differs || (pod->anew && IsOutputOnly(path)) ? trigger + " changes" : "";
}

}  // namespace

void NoteDifferences(const Change& change, std::vector<AttributeChange> differences, Facts* facts) {
  facts->anew = IsReplace(change);
  // A node that is merely started or stopped is the same one.
  if (!facts->anew && AsPod(change)->fields.empty()) return;
  // Nor is one that lets another teammate in.
  std::erase_if(differences, [](const auto& each) { return IsKeyPath(each.path); });
  facts->differences = std::move(differences);
}

std::string FindTrigger(const LifecycleSpec& lifecycle, const FactsLookup& facts) {
  for (const std::string& trigger : lifecycle.replace_triggered_by) {
    std::string reason = FiredBy(trigger, facts);
    if (!reason.empty()) return reason;
  }
  return {};
}

}  // namespace podctl

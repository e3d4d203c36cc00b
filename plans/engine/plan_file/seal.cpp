#include "plans/engine/plan_file/seal.h"

#include "providers/base/digest.h"

namespace podctl {
namespace {

// Not by an HMAC under the key itself: whoever writes a sensitive value into a spec reads that of a
// text of their choice in the next plan.
std::string SealOf(const std::string& digest_key, const std::string& content) {
  return HmacSha256Hex(Sha256Hex("podctl plan seal\n" + digest_key), content);
}

}  // namespace

Result<void> SealPlan(const std::string& digest_key, SavedPlan* saved) {
  auto content = PlanContent(*saved);
  if (!content) return content.error();
  saved->seal = SealOf(digest_key, *content);
  return {};
}

bool IsSealedBy(const std::string& digest_key, const SavedPlan& saved) {
  return !digest_key.empty() && saved.seal == SealOf(digest_key, saved.content);
}

}  // namespace podctl

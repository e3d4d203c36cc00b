#include "providers/gcp/refusal.h"

#include <string>
#include <string_view>

#include "providers/base/text.h"

namespace podctl::gcp {
namespace {

bool Mentions(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool MentionsRate(std::string_view lower) {
  return Mentions(lower, "per minute") || Mentions(lower, "/qps") ||
         Mentions(lower, "rate limit") || Mentions(lower, "rate_limit");
}

}  // namespace

Refusal RefusalOf(const Error& error, RefusedBy by) {
  const bool exhausted = error.code == ErrorCode::kResourceExhausted;
  // Insufficient reserved capacity was seen under FAILED_PRECONDITION too.
  const bool may_lack_capacity = exhausted || error.code == ErrorCode::kFailedPrecondition ||
                                 error.code == ErrorCode::kUnavailable;
  if (!may_lack_capacity) return Refusal::kNone;
  const std::string lower = LowerCase(error.message);
  if (Mentions(lower, "capacity")) {
    return Mentions(lower, "reserved capacity") ? Refusal::kReservation : Refusal::kNoCapacity;
  }
  if (!exhausted) return Refusal::kNone;
  if (MentionsRate(lower)) return Refusal::kRate;
  const bool of_requests = Mentions(lower, "quota metric") && Mentions(lower, "requests");
  const bool vague = Mentions(lower, "check quota");
  if (Mentions(lower, "quota") && !of_requests && !vague) return Refusal::kQuota;
  return by == RefusedBy::kAnswer ? Refusal::kRate : Refusal::kNoCapacity;
}

}  // namespace podctl::gcp

#include "plans/engine/plan_file/secrets.h"

#include <fmt/format.h>

#include "plans/engine/kind.h"
#include "plans/spec/spec.h"
#include "providers/base/digest.h"
#include "providers/base/json.h"

namespace podctl {
namespace {

constexpr std::string_view kHead = "hmac-sha256:";
constexpr std::size_t kShortDigits = 4;
constexpr std::size_t kWholeDigits = 64;

void VisitChange(Change& change, const SecretVisitor& visit) {
  change.payload.kind()->VisitSecrets(change.address, &change.payload, visit);
}

void HideValues(const SecretKey& key, std::vector<AttributeChange>& attributes) {
  for (AttributeChange& attribute : attributes) {
    if (!attribute.sensitive) continue;
    for (auto* value : {&attribute.before, &attribute.after}) {
      if (!*value) continue;
      const std::string text = (*value)->is_string() ? (*value)->AsString() : ToJson(**value);
      *value = Value(key.Digest(text));
    }
  }
}

// The sensitive texts of the spec, by what they are called.
std::map<std::string, std::string> TextsOf(const Spec& spec, Kinds kinds) {
  std::map<std::string, std::string> texts;
  const SecretVisitor take = [&](const std::string& what, std::string& text) {
    texts[what] = text;
  };
  for (const Kind* kind : kinds) {
    for (const Declared* declared : DeclaredIn(spec, *kind)) {
      Payload wanted = declared->wanted;
      kind->VisitSecrets(declared->address, &wanted, take);
    }
  }
  return texts;
}

}  // namespace

std::string SecretKey::Digest(const std::string& value) const {
  const std::string digest = HmacSha256Hex(key, value);
  return std::string(kHead) + (short_digests ? digest.substr(0, kShortDigits) : digest);
}

bool IsSecretDigest(std::string_view text) {
  if (!text.starts_with(kHead)) return false;
  text.remove_prefix(kHead.size());
  return (text.size() == kShortDigits || text.size() == kWholeDigits) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void HideSecrets(const SecretKey& key, Plan* plan) {
  for (Change& change : plan->changes) {
    VisitChange(change, [&](const std::string&, std::string& text) { text = key.Digest(text); });
    HideValues(key, change.attributes);
  }
  for (Drift& drift : plan->drift) HideValues(key, drift.attributes);
}

bool NeedsSecrets(const Plan& plan) {
  bool needs = false;
  for (Change change : plan.changes) {
    if (IsKeep(change)) continue;
    VisitChange(change, [&](const std::string&, std::string&) { needs = true; });
    if (needs) return true;
  }
  return false;
}

Result<void> RestoreSecrets(const SecretKey& key, const Spec& spec, Kinds kinds, Plan* plan) {
  const auto texts = TextsOf(spec, kinds);
  std::optional<Error> error;
  const SecretVisitor restore = [&](const std::string& what, std::string& text) {
    if (error) return;
    const auto found = texts.find(what);
    if (found == texts.end()) {
      error = MakeError(ErrorCode::kFailedPrecondition,
                        fmt::format("the sensitive value of {} is not in the spec any more", what),
                        "A saved plan holds no sensitive values; they are taken from the spec it "
                        "was made from. Put it back, or make a new plan.");
    } else if (key.Digest(found->second) != text) {
      error = MakeError(
          ErrorCode::kFailedPrecondition,
          fmt::format("the sensitive value of {} is another one than the plan was made with", what),
          "Give the same value again, or make a new plan.");
    } else {
      text = found->second;
    }
  };
  for (Change& change : plan->changes) {
    if (!IsKeep(change)) VisitChange(change, restore);
  }
  if (error) return *error;
  return {};
}

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

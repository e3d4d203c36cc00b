// Takes what is sensitive out of a plan before it is saved, and puts it back before it is applied.
//
// In place of a value stands "hmac-sha256:…", keyed by the state's digest_key, by which another
// value is noticed. Where there is no state yet, the file carries a key of its own; whoever has
// both could try out guesses, so only four hex digits of such a digest are kept: enough to notice
// another value, too few to tell a right guess from thousands of wrong ones.
#pragma once

#include <string>
#include <string_view>

#include "plans/engine/change.h"
#include "plans/engine/kind.h"
#include "plans/engine/plan_file.h"
#include "providers/base/error.h"

namespace podctl {

// Keys the digests of one saved plan.
struct SecretKey {
  std::string key;
  bool short_digests = false;

  std::string Digest(const std::string& value) const;
};

// Whether `text` has the form of such a digest: where nothing is sensitive, it would be taken for
// the value itself.
bool IsSecretDigest(std::string_view text);
// Of a change that holds one there (Kind::WhatCannotBe).
inline constexpr const char* kDigestInTheClear =
    "has the digest of a sensitive value where nothing is sensitive";

// Every sensitive text and value of `plan` becomes its digest.
void HideSecrets(const SecretKey& key, Plan* plan);

// Whether anything in it has to come from the spec before it can be applied.
bool NeedsSecrets(const Plan& plan);

// The reverse, from the spec as it is now, for all that apply needs (the attributes, which are only
// shown, stay digests, and so does what is kept as it is). kFailedPrecondition, naming it, where
// the spec has no such value any more or another one than the plan was made with.
Result<void> RestoreSecrets(const SecretKey& key, const Spec& spec, Kinds kinds, Plan* plan);

// ---- By which an apply knows a saved plan for one that was made with its own state: the file goes
// through other hands, and its checksum anybody can make.
//
// The key is derived from the state's digest_key, which no plan holds. A plan that was made before
// there was a state has no seal; what it can do is all in what it shows (staleness.h).

// Once nothing of `saved` will change any more. Fails as PlanToJson does.
Result<void> SealPlan(const std::string& digest_key, SavedPlan* saved);

// Of a plan that was read.
bool IsSealedBy(const std::string& digest_key, const SavedPlan& saved);

}  // namespace podctl

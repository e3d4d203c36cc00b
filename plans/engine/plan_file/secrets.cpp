#include "plans/engine/plan_file/secrets.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "plans/engine/kind.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/diff.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/change.h"
#include "plans/kinds/step/record.h"
#include "plans/spec/runtime_flags.h"
#include "providers/base/digest.h"
#include "providers/base/json.h"

namespace podctl {
namespace {

// Called with each sensitive text: what to call it, and the text.
using Visitor = std::function<void(const std::string& what, std::string& text)>;

bool RuntimeIsSensitive(const PodSpec& pod) {
  const auto entry = pod.metadata.find(kRuntimeVariablesKey);
  return entry != pod.metadata.end() && entry->second.sensitive;
}

void VisitPod(PodSpec& pod, const Visitor& visit) {
  const Address address = PodAddress(pod.name);
  for (auto& [key, entry] : pod.metadata) {
    if (entry.sensitive) visit(fmt::format("metadata.{} of {}", key, address), entry.text);
  }
  if (RuntimeIsSensitive(pod)) {
    for (auto& [name, text] : pod.runtime_env) {
      visit(fmt::format("runtimeEnv.{} of {}", name, address), text);
    }
  }
  for (StepSpec& step : pod.bootstrap) {
    if (!step.sensitive) continue;
    const Address of = StepAddress(pod.name, step.name);
    visit(fmt::format("the script of {}", of), step.run);
    for (auto& [name, text] : step.env) visit(fmt::format("env.{} of {}", name, of), text);
  }
}

void VisitStep(const Address& address, StepChange& run, const Visitor& visit) {
  if (!run.sensitive) return;
  if (run.step.kind == Step::Kind::kScript) {
    visit(fmt::format("the script of {}", address), run.step.script);
  }
  for (auto& [name, text] : run.step.env) visit(fmt::format("env.{} of {}", name, address), text);
}

void VisitChange(Change& change, const Visitor& visit) {
  if (auto* pod = change.payload.Edit<PodChange>()) VisitPod(pod->wanted, visit);
  if (auto* run = change.payload.Edit<StepChange>()) VisitStep(change.address, *run, visit);
  if (const Kind* kind = change.payload.kind()) {
    kind->VisitSecrets(change.address, &change.payload, visit);
  }
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
std::map<std::string, std::string> TextsOf(const Spec& spec) {
  std::map<std::string, std::string> texts;
  const Visitor take = [&](const std::string& what, std::string& text) { texts[what] = text; };
  for (PodSpec pod : spec.pods) {
    VisitPod(pod, take);
    if (!RuntimeIsSensitive(pod)) continue;
    // The restart that podctl makes itself checks the whole entry.
    const Address restart = StepAddress(pod.name, "tpu-runtime");
    texts[fmt::format("env.{} of {}", kRuntimeVariablesKey, restart)] =
        pod.metadata[kRuntimeVariablesKey].text;
  }
  for (const Declared& declared : spec.declared) {
    Payload wanted = declared.wanted;
    wanted.kind()->VisitSecrets(declared.address, &wanted, take);
  }
  return texts;
}

}  // namespace

std::string SecretKey::Digest(const std::string& value) const {
  const std::string digest = HmacSha256Hex(key, value);
  return "hmac-sha256:" + (short_digests ? digest.substr(0, 4) : digest);
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
    VisitChange(change, [&](const std::string&, std::string&) { needs = true; });
    if (needs) return true;
  }
  return false;
}

Result<void> RestoreSecrets(const SecretKey& key, const Spec& spec, Plan* plan) {
  const auto texts = TextsOf(spec);
  std::optional<Error> error;
  const Visitor restore = [&](const std::string& what, std::string& text) {
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
  for (Change& change : plan->changes) VisitChange(change, restore);
  if (error) return *error;
  return {};
}

}  // namespace podctl

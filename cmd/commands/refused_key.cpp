#include "cmd/commands/refused_key.h"

#include <fmt/format.h>

#include "cmd/commands/pod_target.h"
#include "plans/fleet/refused_key.h"
#include "plans/kinds/pod/published_keys.h"
#include "providers/ssh/reach_advice.h"

namespace podctl {

std::string RefusedKeyAdvice(Wiring& wiring, const std::string& pod) {
  const auto record = FindRecord(wiring, pod);
  if (!record || record->ssh.os_login_user) return {};
  const auto ours = wiring.entry_doors().Keys().For(record->ssh, false);
  if (!ours || ours->empty()) return {};
  auto provider = wiring.provider();
  if (!provider) return {};
  const std::string& first = ours->front();
  const std::string lack = fmt::format("The node's `ssh-keys` do not hold our key for `{}` ({})",
                                       KeyUser(first), KeyWords(first));
  switch (StandingOfKey(*record, *ours, **provider, wiring.interrupt().drain())) {
    case KeyStanding::kUnknown:
      return {};
    case KeyStanding::kNotTakenUp:
      return fmt::format(
          "The node's `ssh-keys` hold our key for `{}`, but the worker does not go by them yet: "
          "its guest agent takes them up, within a minute when it is well.",
          KeyUser(first));
    case KeyStanding::kNotInSpec:
      return lack + ": add it to `metadata.ssh-keys` of the spec.";
    case KeyStanding::kWithheld:
      return lack + ", and the spec says `publishKey: false`: list it under `ssh.publishKeys`.";
    case KeyStanding::kUnpublished:
      return lack + ": `podctl apply` publishes it.";
  }
  return {};
}

std::string SilenceAdvice(Wiring& wiring, const std::string& pod,
                          const std::vector<ssh::WorkerResult>& results) {
  std::string advice;
  for (const ssh::WorkerResult& result : results) {
    if (result.outcome == ssh::Outcome::kAuthRefused) return RefusedKeyAdvice(wiring, pod);
    if (result.outcome == ssh::Outcome::kHostKeyChanged) {
      return "If the machine was made anew, the API has its new key: podctl apply --refresh-only";
    }
    if (result.outcome == ssh::Outcome::kUnreachable && advice.empty()) {
      advice = ssh::ReachAdvice(result.cause);
    }
  }
  return advice;
}

}  // namespace podctl

#include "plans/kinds/pod/node_trouble.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "plans/kinds/pod/node_view.h"

namespace podctl {
namespace {

struct CurrentStatus {
  std::string_view word;
  bool passes;
  std::string_view means;  // a clause
  std::string_view to_do;
};

constexpr std::string_view kWaits =
    "wait: podctl status shows when it is READY. If it stays so: podctl apply --replace pod.{pod}";
constexpr std::string_view kIfItStays = "if it stays so: podctl apply --replace pod.{pod}";

constexpr CurrentStatus kStates[] = {
    {"CREATING", true, "it is still being created",
     "podctl apply --target pod.{pod}  (waits for it)"},
    {"STARTING", true, "it is being started", kWaits},
    {"RESTARTING", true, "the service restarts it, and it comes back by itself", kWaits},
    {"REIMAGING", true, "the service gives it a new image, and it comes back by itself", kWaits},
    {"REPAIRING", true, "the service repairs it, and it comes back by itself", kWaits},
    {"UNHIDING", true, "the service hid it, and is bringing it back", kWaits},
    {"STOPPING", false, "it was asked to stop",
     "desiredState: READY in the spec, and podctl apply --target pod.{pod}  (starts it)"},
    {"STOPPED", false, "it does not start by itself",
     "desiredState: READY in the spec, and podctl apply --target pod.{pod}  (starts it)"},
    {"DELETING", false, "somebody had it deleted",
     "podctl apply --target pod.{pod}  (makes it anew)"},
    {"HIDING", false, "the service hides it, and does not say for how long", kIfItStays},
    {"HIDDEN", false, "the service hides it, and does not say for how long", kIfItStays},
};

constexpr CurrentStatus kHealths[] = {
    {"UNHEALTHY_MAINTENANCE", true, "maintenance, after which it comes back by itself",
     "wait: podctl status shows when it is HEALTHY. If it stays so: podctl apply --replace "
     "pod.{pod}"},
    {"UNHEALTHY_TENSORFLOW", false,
     "the TPU software on it does not answer, which seldom passes by itself",
     "what is said of its workers below, else podctl apply --replace pod.{pod}"},
    {"TIMEOUT", false, "it did not answer the service in time, which may pass by itself",
     kIfItStays},
};

template <std::size_t kCount>
NodeTrouble TroubleIn(const CurrentStatus (&table)[kCount], const std::string& word) {
  const CurrentStatus* found =
      std::find_if(std::begin(table), std::end(table),
                   [&](const CurrentStatus& each) { return each.word == word; });
  if (found == std::end(table)) {
    return {fmt::format("is {}, and nobody says whether that passes", word),
            std::string(kIfItStays), false};
  }
  return {fmt::format("is {}: {}", word, found->means), std::string(found->to_do), found->passes};
}

}  // namespace

std::optional<NodeTrouble> TroubleOfState(const std::string& state) {
  if (state.empty() || state == "READY") return std::nullopt;
  if (IsTerminalState(state)) {
    return NodeTrouble{fmt::format("is {}, and never comes back", state),
                       "podctl apply --target pod.{pod}  (makes it anew)", false};
  }
  return TroubleIn(kStates, state);
}

std::optional<NodeTrouble> TroubleOfHealth(const std::string& health) {
  if (health.empty() || health == "HEALTHY" || health == "HEALTH_UNSPECIFIED") return std::nullopt;
  return TroubleIn(kHealths, health);
}

}  // namespace podctl

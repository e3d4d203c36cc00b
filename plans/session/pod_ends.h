// The ends of pods that nobody asks for at the time: `ttl`, and `idle`. `podctl watch` acts on
// them, and nobody else.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plans/fleet/use.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/spec.h"
#include "providers/os/clock.h"
#include "state/state.h"

namespace podctl {

// What a plan says of them, a sentence or two; nullopt: the spec names none.
std::optional<std::string> NoteOnEnds(const Spec& spec);

// How a pod that is there is to end by itself, for who asks how things stand.
struct PlannedEnd {
  std::string pod;
  std::string at;        // of its `ttl`, RFC 3339; empty: it has none that ends it
  std::string sentence;  // "`podctl watch` deletes pod.a at 2026-…, when its ttl of 12h is over."
};
// By name.
std::vector<PlannedEnd> PlannedEnds(const Spec& spec, const State& settled);

// What is due for a pod.
struct PodEnd {
  std::string pod;
  IdleSpec::Then what = IdleSpec::Then::kDelete;
  std::string why;  // a clause: "its ttl of 12h is over"
};

// Asks the workers of a pod, on the caller's thread.
using UseLook = std::function<PodUse(const std::string& pod)>;

// From one look of a watch to the next. How long a pod has been idle is known from here alone:
// another watch begins to count anew.
class PodEnds {
 public:
  // What is told besides what is due, once each: "pod.a is deleted at 2026-…, when its ttl of 12h
  // is over".
  using Tell = std::function<void(const std::string& remark)>;

  // The pods that a look has found, but for those that it is about to change (`busy`, by name).
  void See(const Spec& spec, const State& settled, const std::set<std::string>& busy);
  void Forget() { seen_.clear(); }
  // Of those: what is due. The second one asks workers, which takes long where they are silent.
  std::vector<PodEnd> LookAtTtl(Clock& clock, const Tell& tell);
  std::vector<PodEnd> LookForUse(const UseLook& use, Clock& clock, const Tell& tell);

 private:
  struct Idle {
    std::string uid;  // of the node that it is
    Clock::SteadyTime since{};
    std::string since_then;  // the same, RFC 3339
  };

  std::optional<PodEnd> OverTtl(const PodSpec& pod, const PodRecord& record, Clock& clock,
                                const Tell& tell);
  std::optional<PodEnd> OverIdle(const PodSpec& pod, const PodRecord& record, const UseLook& use,
                                 Clock& clock, const Tell& tell);
  void TellOnce(const std::string& subject, const std::string& remark, const Tell& tell);

  std::vector<std::pair<PodSpec, PodRecord>> seen_;
  std::map<std::string, Idle> idle_;         // by pod
  std::map<std::string, std::string> told_;  // the last remark, by its subject
};

}  // namespace podctl

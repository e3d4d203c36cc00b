#include "plans/engine/targets.h"

#include <fmt/format.h>

#include <map>

#include "plans/engine/planner.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/record.h"
#include "plans/spec/near_words.h"

namespace podctl {

std::set<Address> KnownAddresses(const Spec& spec, const State& state) {
  std::set<Address> known;
  for (const PodSpec& pod : spec.pods) {
    known.insert(PodAddress(pod.name));
    known.insert(StepAddress(pod.name, kRuntimeStepName));
    known.insert(StepAddress(pod.name, kReadinessStepName));
    for (const StepSpec& step : pod.bootstrap) known.insert(StepAddress(pod.name, step.name));
  }
  for (const Declared& declared : spec.declared) known.insert(declared.address);
  for (const auto& [address, record] : state.records) known.insert(address);
  return known;
}

std::set<Address> AddressesIn(const std::vector<std::string>& texts) {
  std::set<Address> addresses;
  for (const std::string& text : texts) {
    if (auto address = ParseAddress(text)) addresses.insert(*std::move(address));
  }
  return addresses;
}

void CheckAddresses(const std::string& flag, const std::vector<std::string>& given,
                    const std::set<Address>& known, Kinds kinds, Diagnostics& diagnostics) {
  for (const std::string& text : given) {
    const auto address = ParseAddress(text);
    if (address && known.contains(*address)) continue;
    std::string near;
    if (known.contains(PodAddress(text))) {
      near = PodAddress(text).Text();
    } else {
      std::vector<std::string> texts;
      for (const Address& each : known) texts.push_back(each.Text());
      near = SuggestWord(text, texts);
    }
    Diagnostic diagnostic;
    diagnostic.summary = fmt::format("{}: there is no `{}`", flag, text);
    if (near.empty()) {
      diagnostic.detail =
          "Neither the spec nor the state has it. Pods are written `pod.NAME`, steps "
          "`bootstrap.NAME.STEP`";
      for (const Kind* kind : kinds) {
        diagnostic.detail += fmt::format(", {}s `{}`", kind->codec().noun(), kind->codec().form());
      }
      diagnostic.detail += ".";
    } else {
      diagnostic.detail = fmt::format("Did you mean `{}`?", near);
    }
    diagnostics.Add(std::move(diagnostic));
  }
}

std::set<Address> ReachOf(const std::vector<std::string>& targets, const Plan& plan) {
  struct Open {
    const Change* change;
    bool from_delete;
  };
  std::map<Address, const Change*> by_address;
  std::vector<Open> open;
  const std::set<Address> named = AddressesIn(targets);
  for (const Change& change : plan.changes) {
    by_address[change.address] = &change;
    const std::string pod = PodNameOf(change.address);
    const bool of_named_pod = !pod.empty() && named.contains(PodAddress(pod));
    if (named.contains(change.address) || of_named_pod) {
      open.push_back({&change, false});
    }
  }
  std::set<Address> reach;
  while (!open.empty()) {
    const auto [change, from_delete] = open.back();
    open.pop_back();
    if (!reach.insert(change->address).second) continue;
    // Who depends on what goes, and stays as it is, needs nothing for that.
    if (from_delete && IsKeep(*change)) continue;
    const bool deletes = IsDelete(*change);
    for (const Address& address : change->waits_for) {
      const auto next = by_address.find(address);
      if (next != by_address.end()) open.push_back({next->second, deletes});
    }
  }
  return reach;
}

}  // namespace podctl

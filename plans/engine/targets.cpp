#include "plans/engine/targets.h"

#include <fmt/format.h>

#include <cctype>
#include <map>

#include "plans/spec/near_words.h"

namespace podctl {

namespace {

// What can be meant by `text`: it with a kind before it, or what is written nearly so.
std::string NearAddress(const std::string& text, const std::set<Address>& known, Kinds kinds) {
  for (const Kind* kind : kinds) {
    const Address address(std::string(kind->name()), text);
    if (known.contains(address)) return address.Text();
  }
  std::vector<std::string> texts;
  for (const Address& each : known) texts.push_back(each.Text());
  return SuggestWord(text, texts);
}

// "Pods are written `pod.NAME`, steps `bootstrap.NAME.STEP`."
std::string Forms(Kinds kinds) {
  std::string forms;
  for (const Kind* kind : kinds) {
    std::string noun(kind->codec().noun());
    if (forms.empty()) noun[0] = static_cast<char>(std::toupper(noun[0]));
    forms += fmt::format("{}{}s{} `{}`", forms.empty() ? "" : ", ", noun,
                         forms.empty() ? " are written" : "", kind->codec().form());
  }
  return forms + ".";
}

}  // namespace

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
    const std::string near = NearAddress(text, known, kinds);
    Diagnostic diagnostic;
    diagnostic.summary = fmt::format("{}: there is no `{}`", flag, text);
    diagnostic.detail = near.empty() ? "Neither the spec nor the state has it. " + Forms(kinds)
                                     : fmt::format("Did you mean `{}`?", near);
    diagnostics.Add(std::move(diagnostic));
  }
}

std::set<Address> ReachOf(const std::set<Address>& targets, const Plan& plan, Kinds kinds) {
  struct Open {
    const Change* change;
    bool from_delete;
  };
  std::map<Address, const Change*> by_address;
  std::vector<Open> open;
  for (const Change& change : plan.changes) {
    by_address[change.address] = &change;
    const Address whole = WholeOf(kinds, change.address.WithoutDeposed());
    if (targets.contains(change.address) || targets.contains(whole)) {
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

// The state, and the pods' health, as text and as JSON for people and tools.
#pragma once

#include <string>
#include <vector>

#include "plans/engine/kind.h"
#include "plans/kinds/pod/spec.h"
#include "providers/base/value.h"
#include "state/state.h"
#include "state/store.h"

namespace podctl {

// One address of the state; "" when it is not there.
std::string ShowAddress(const State& state, const Address& address);
std::vector<Address> AddressesOf(const State& state);  // sorted
std::vector<std::string> TextsOf(const std::vector<Address>& addresses);

// The same as a document; its members `format_version`, `terraform_version` and `values` are those
// of `terraform show -json`. Holds no sensitive value (the state has none).
Value StateDocument(const State& state);

// As the service writes it: the table makes control characters visible, a document escapes them.
struct StatusRow {
  std::string pod;  // without "pod."
  std::string state;
  std::string health;
  std::string type;
  std::string project;
  std::string zone;
  std::string node_id;  // in the table only where one is not that of its pod's name
  std::string workers;
  std::vector<std::string> addresses;  // of each worker; empty: it has none yet
  bool deposed = false;                // a node that was replaced, and is still to be deleted
  std::string initiator = {};          // of a queued resource's state: "SERVICE"; empty: not told
  std::string ends_at = {};            // by its `ttl`, RFC 3339; empty: it does not, or not known
};
// A table for each other kind of which the state has something; "": of none.
std::string OtherTables(const State& settled, const Observation& observation, bool color);
std::vector<StatusRow> StatusRows(const State& settled, const Observation& observation);
// Pods that are wanted, and not made yet: "NOT CREATED". In the order of their names.
void AddNotMade(const std::vector<PodSpec>& pods, std::vector<StatusRow>* rows);
// Below the table, what makes these; "": there are none.
std::string NotMadeText(const std::vector<StatusRow>& rows);
Value StatusDocument(const std::vector<StatusRow>& rows, const State& settled,
                     const Observation& observation);
// The stored generation, and those that are kept: as a table, and as a document. `width` as below:
// what a narrow terminal has no room for is left out, the least telling column first.
std::string HistoryTable(const HistoryEntry& present, const std::vector<HistoryEntry>& kept,
                         int width = 0);
Value HistoryDocument(const HistoryEntry& present, const std::vector<HistoryEntry>& kept);

// `width`: columns of the terminal, within which addresses are left out; 0: there is none.
std::string StatusTable(const std::vector<StatusRow>& rows, bool color, int width = 0);

}  // namespace podctl

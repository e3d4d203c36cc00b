// For each recorded command of gcloud, what a user of podctl does for the same end; and why podctl
// sends other things where it does.
#pragma once

#include <string>
#include <vector>

namespace podctl::testing {

enum class Act {
  kApply,
  kGet,  // the rest: one call, of the node `after` where it is of a node
  kDelete,
  kListNodes,
  kGuestAttributes,
  kTypes,
  kVersions,
  kServiceIdentity,
  kNone,  // there is no counterpart; `how` says why
};

struct Counterpart {
  std::string name;  // of the recorded command
  std::string how;   // what the user does
  Act act = Act::kNone;
  std::string before = {};  // kApply: the pods as they were applied before, if at all
  std::string after = {};   // kApply: the pods that are applied; else a node's id
};

std::vector<Counterpart> Counterparts();

// Why a request differs so; "" when there is no reason, which is a failure.
std::string ReasonOf(const std::string& difference, const std::string& request);

}  // namespace podctl::testing

// What the state and the health of a node say of what is to come: whether the service brings it
// back by itself, and what is to be done where it does not. Pure.
#pragma once

#include <optional>
#include <string>

namespace podctl {

struct NodeTrouble {
  std::string what;   // a clause behind the pod's name: "is REPAIRING: Google repairs it, and …"
  std::string to_do;  // {pod} stands for the pod's name; command lines among it may be pasted
  bool passes = false;  // it comes back by itself
};

// nullopt: it is fit for use, as far as that tells.
std::optional<NodeTrouble> TroubleOfState(const std::string& state);
std::optional<NodeTrouble> TroubleOfHealth(const std::string& health);

}  // namespace podctl

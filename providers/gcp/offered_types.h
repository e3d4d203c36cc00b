// What a zone offers to make a node of: the service's list of accelerator types joined with the
// built-in catalogue, which knows chips and hosts; or the catalogue alone. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/value.h"

namespace podctl::gcp {

struct OfferedType {
  std::string type;                     // "v3-32"
  std::vector<std::string> topologies;  // "4x4"; the usual one first
  std::optional<int> chips;             // nullopt: neither the service nor the catalogue says
  std::optional<int> hosts;
  std::vector<std::string> zones;  // as documented; empty where the service was asked
};

// `listed`: AcceleratorType resources. Generation by generation, in growing size; what the
// catalogue does not know comes last.
std::vector<OfferedType> JoinTypes(const std::vector<Value>& listed);

// Of the catalogue: every type, or those that are documented for `zone` (not empty).
std::vector<OfferedType> BuiltInTypes(std::string_view zone);

// "tpu-vm-tf-2.9.1" before "tpu-vm-tf-2.11.0": numbers in names by their size.
bool NaturallyBefore(std::string_view a, std::string_view b);

}  // namespace podctl::gcp

// What a zone offers to make a node of: the service's list of accelerator types joined with the
// built-in catalogue, which knows chips and hosts; or the catalogue alone. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/value.h"

namespace podctl::gcp {

struct AvailableType {
  std::string type;                     // "v3-32"
  std::vector<std::string> topologies;  // "4x4"; the usual one first
  std::optional<int> chips;             // nullopt: neither the service nor the catalogue says
  std::optional<int> hosts;
  std::vector<std::string> zones;  // as documented; empty where the service was asked
};

// `listed`: AcceleratorType resources. Generation by generation, in growing size; what the
// catalogue does not know comes last.
std::vector<AvailableType> JoinTypes(const std::vector<Value>& listed);

// Of the catalogue: every type, or those that are documented for `zone` (not empty).
std::vector<AvailableType> BuiltInTypes(std::string_view zone);

// "tpu-vm-tf-2.9.1" before "tpu-vm-tf-2.11.0": numbers in names by their size.
bool NaturallyBefore(std::string_view a, std::string_view b);

// ---- The accelerator types that are publicly known, with their sizes.
//
// Only for what is said before the service has answered: the number of workers "known after apply"
// in a plan, and a warning on a type that looks mistyped. The truth is the node's networkEndpoints.
//
// Sources: cloud.google.com/tpu/docs (v4, v5e, v5p, v6e, regions-zones), the tables of pytorch/xla
// and maxtext. v2, v3, v4, v5p and tpu7x count TensorCores in their names (two a chip), v5litepod
// and v6e count chips.

struct Accelerator {
  std::string type;      // "v3-32"
  std::string topology;  // "4x4"; chips along each side
  int chips = 0;
  int workers = 0;  // TPU VMs
};

// nullopt when the type is not in the catalogue; lower case is expected.
std::optional<Accelerator> FindAccelerator(std::string_view type);
// By AcceleratorConfig: ("V4", "2x2x2"). The type is left empty.
std::optional<Accelerator> FindAccelerator(std::string_view config_type, std::string_view topology);

// Of a node with acceleratorType or acceleratorConfig set.
std::optional<Accelerator> AcceleratorOf(const Value& node);

// What its chips are sold as: "v5e" of a v5litepod-8. Of a type that the catalogue does not know
// what stands before its size; "" where a node says no type.
std::string ChipTypeOf(const Value& node);
// The same by a name of it, "v5e" or "v5litepod"; "": the catalogue knows none.
std::string ChipTypeNamed(std::string_view name);
std::vector<std::string> ChipTypes();  // all of them

// The known type that is most likely meant: of the same generation the one next in size, else the
// one spelled most alike; "" when nothing is near.
std::string NearestAccelerator(std::string_view type);

// Every known type, generation by generation, in growing size.
std::vector<std::string> AcceleratorTypes();

// The zones that the documentation names for a known type; they move, and the service knows better.
// Empty for a type that is made in other ways than through the Cloud TPU API.
std::vector<std::string> ZonesOf(std::string_view type);

// All of them, sorted.
std::vector<std::string> KnownZones();

// How many workers a node will have; nullopt when the catalogue does not know.
std::optional<int> ExpectedWorkers(const Value& node);

}  // namespace podctl::gcp

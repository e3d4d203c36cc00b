// What the metadata server of a TPU VM knows: the tree under /computeMetadata/v1, as data.
//
// Of the Compute Engine server's tree it holds what programs on a TPU VM read (google-auth, JAX,
// torch_xla, Ray, start-up scripts), and of `tpu-env` the keys that follow from the node. A token
// opens nothing: it is a word of the emulator's own. Knows neither HTTP nor processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "providers/base/value.h"
#include "providers/emulator/worker_farm.h"

namespace podctl::emulator {

// With keys as in paths ("service-accounts"). A list of maps is a folder of numbers.
Value MetadataTree(const MachineSet& machines, std::size_t worker);

// What is made at each request, and belongs to the folder of a service account. `now`: seconds
// since the epoch.
Value MakeToken(std::string_view account);
std::string MakeIdentity(std::string_view account, std::string_view audience, std::int64_t now);

}  // namespace podctl::emulator

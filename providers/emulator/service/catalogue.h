// What Google's zones offer: accelerator types, their shapes, zones and runtime versions.
//
// The emulator's own copy of the documented rules (Cloud TPU docs "TPU configurations", "regions
// and zones", "runtimes"), on purpose not shared with the client. The number of workers of a node
// comes from here and from nowhere else. Pure; thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/emulator/service/api_error.h"

namespace podctl::emulator {

struct Call;

struct Accelerator {
  std::string type;      // "v3-32"
  std::string api_type;  // AcceleratorConfig.Type, "V3"
  std::string topology;  // in chips, "4x4"
  int chips = 0;
  int workers = 0;  // TPU VMs
};

std::optional<Accelerator> FindAccelerator(std::string_view type);
// By AcceleratorConfig, e.g. ("V4", "2x2x2"). A documented alternative shape keeps its own
// topology.
std::optional<Accelerator> FindAccelerator(std::string_view api_type, std::string_view topology);

std::vector<std::string> Zones();
bool IsZone(std::string_view zone);
// The form of a region's name, "us-central1": which of them there are is not known here.
bool IsRegion(std::string_view region);
// Does the zone offer the type?
bool Offers(std::string_view zone, const Accelerator& accelerator);
// All documented types that the zone offers, smallest first in each generation.
std::vector<Accelerator> AcceleratorsOf(std::string_view zone);

std::vector<std::string> RuntimeVersions();
bool IsRuntimeVersion(std::string_view version);
// Images with TensorFlow run a tpu-runtime unit; the bare and the v5/v6 images do not.
bool HasTpuRuntime(std::string_view version);

// ---- As resources of the API, which can be looked at and no more.

Answer GetLocation(const Call& call);
Answer ListLocations(const Call& call);
Answer GetAcceleratorType(const Call& call);
Answer ListAcceleratorTypes(const Call& call);
Answer GetRuntimeVersion(const Call& call);
Answer ListRuntimeVersions(const Call& call);

}  // namespace podctl::emulator

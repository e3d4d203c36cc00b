// What of a TPU host a process can be shown, and the variables by which libtpu is told (the Cloud
// TPU and JAX documentation name them): TPU_VISIBLE_CHIPS, TPU_CHIPS_PER_PROCESS_BOUNDS and
// TPU_PROCESS_BOUNDS. Knows no specs' files and no workers.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "plans/spec/job_spec.h"
#include "providers/base/value.h"

namespace podctl {

// One host of a node, as the catalogue has it.
struct TpuHost {
  std::string type;        // "v3-32"
  int chips = 0;           // of this host
  int cores_per_chip = 1;  // that a framework sees as devices: 2 on v2 and v3
  int hosts = 1;           // of the node

  int devices() const { return chips * cores_per_chip; }
};

// Of a Node resource (or what a spec sets of one); nullopt where the type is not known.
std::optional<TpuHost> HostOf(const Value& node);

struct DeviceProblem {
  std::string summary;     // "a host of v4-8 has 4 devices, not 8"
  std::string suggestion;  // "auto, 1, 2, 4, or one of [0] to [3]"
};
// Why `devices` cannot be had there; nullopt: it can.
std::optional<DeviceProblem> CheckDevices(const JobDevices& devices, const TpuHost& host);

// By which numbers a program asks for what `devices` lists, "device 5 of the host is 1 of the 2
// that the program sees"; "" where it sees the whole host, or no list is given.
std::string DescribeVisible(const JobDevices& devices, const TpuHost& host);

// The variables for what CheckDevices accepts. None where the process sees the whole host: then
// libtpu's own rules hold, which on a pod of several hosts join them.
std::map<std::string, std::string> DeviceVariables(const JobDevices& devices, const TpuHost& host);

}  // namespace podctl

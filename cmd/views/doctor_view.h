// What `podctl doctor` found, as text and as a document. Knows nothing of how it was found.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "providers/base/value.h"
#include "providers/workers/probe.h"

namespace podctl {

struct DoctorReport {
  struct Worker {
    int index = 0;
    std::string host;
    std::vector<workers::Finding> findings;
    std::optional<workers::ProbeReport> probe;  // nullopt: there was no answer
  };
  std::string pod;
  std::string state;                       // of the node: "READY"
  std::string health;                      // "HEALTHY", or "" where the service says nothing
  std::vector<workers::Finding> findings;  // of the node as a whole
  std::vector<Worker> workers;             // those that were looked at
  std::vector<std::string> notes;
  int per_slice = 0;  // workers of each slice of a multislice, else 0

  std::size_t HealthyWorkers() const;
  bool Healthy() const;
};

// Healthy workers in one line; then what is wrong, each trouble once with the workers that have it,
// and what to do.
std::string DoctorText(const DoctorReport& report, bool color);
Value DoctorDocument(const DoctorReport& report);

}  // namespace podctl

// What is between pods: references that must lead somewhere, an order that must exist, nodes that
// must not be claimed twice.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plans/spec/pod_reader.h"
#include "plans/spec/problems.h"

namespace podctl {

// Checks every reference and writes PodSpec::depends_on. A circle is one error that names it.
void ResolveDependencies(std::vector<ReadPod>& pods, Problems& problems);

// The pods that the references of other things lead to, of each thing every one once; checked
// likewise.
std::vector<std::vector<Address>> ResolveReferences(
    const std::vector<std::vector<FoundReference>>& of_things, std::vector<ReadPod>& pods,
    Problems& problems);

struct PathProblem {
  std::string summary;
  std::string suggestion;
};
// Why a reference cannot name `path` of a node; nullopt: it can. `trigger`: it is looked at for a
// change, and its value is put in no text.
std::optional<PathProblem> CheckReferencePath(const std::string& path, bool trigger);

// Two pods with the same project, zone and node id are one error with both places.
void CheckSameNode(const std::vector<ReadPod>& pods, Problems& problems);

}  // namespace podctl

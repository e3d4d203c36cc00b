// What is between pods: what a reference may name, and nodes that must not be claimed twice.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plans/kinds/pod/spec.h"
#include "plans/spec/value_reader.h"

namespace podctl {

// nullopt: it may.
std::optional<ReferenceProblem> CheckPodReference(const FoundReference& reference,
                                                  const PodSpec& pod);

// What can be referred to of a pod: the fields of its Node, which have paths below them.
std::vector<std::string> PublishedMembers();

// Two pods with the same project, zone and node id are one problem with both places.
std::vector<Diagnostic> PodsOfOneNode(const std::vector<const Declared*>& pods);

}  // namespace podctl

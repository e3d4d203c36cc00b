// LaunchPodOf: what the state and the spec tell of a pod.
#include <fmt/format.h>

#include "plans/jobs/launch.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/references.h"
#include "plans/spec/runtime_flags.h"
#include "providers/gcp/accelerator_catalog.h"

namespace podctl {
namespace {

// The flags that the node has; the spec's where the state keeps only a digest of them.
void ReadLibtpuFlags(const PodSpec& spec, const PodRecord* record, LaunchPod* pod) {
  const std::string variable(kRuntimeFlagsVariable);
  const std::string key(kRuntimeVariablesKey);
  const auto wanted = spec.runtime_env.find(variable);
  if (const auto entry = spec.metadata.find(key); entry != spec.metadata.end()) {
    pod->libtpu_secret = entry->second.sensitive;
  }
  if (record != nullptr && !pod->libtpu_secret) {
    if (const auto here = record->exec_env.find(variable); here != record->exec_env.end()) {
      pod->libtpu_flags = here->second;
      return;
    }
    const auto entry = record->metadata.find(key);
    if (entry == record->metadata.end()) return;
    if (const auto keys = SplitRuntimeVariables(entry->second)) {
      pod->libtpu_flags = JoinFlags(keys->flags);
      return;
    }
  }
  if (wanted == spec.runtime_env.end()) return;
  const auto nobody = [](const Address&) -> const Value* { return nullptr; };
  pod->libtpu_flags = RenderText(wanted->second, nobody).value_or("");
}

}  // namespace

LaunchPod LaunchPodOf(const std::string& name, const PodRecord& record) {
  LaunchPod pod;
  pod.name = name;
  pod.node_id = record.current.locator;
  pod.node = record.observed;
  const auto& endpoints = record.observed["networkEndpoints"].AsList();
  const auto workers = AccessToWorkers(name, record);
  const std::size_t stride = EndpointsPerWorker(record.observed);
  for (const WorkerAccess& worker : workers) {
    pod.per_slice = worker.per_slice;
    const auto at = static_cast<std::size_t>(worker.index) * stride;
    pod.workers.push_back({endpoints[at]["ipAddress"].AsString(), worker.env});
  }
  return pod;
}

std::optional<LaunchPod> LaunchPodOf(const PodSpec& spec, const PodRecord* record) {
  const bool there = record != nullptr && record->exists() && WorkerCount(record->observed) > 0;
  LaunchPod pod = there ? LaunchPodOf(spec.name, *record) : LaunchPod{};
  ReadLibtpuFlags(spec, there ? record : nullptr, &pod);
  if (there) return pod;
  pod.name = spec.name;
  const auto hosts = gcp::ExpectedWorkers(spec.node);
  if (!hosts || *hosts < 1) return std::nullopt;
  pod.guessed = true;
  pod.node_id = spec.node_id;
  pod.node = spec.node;
  const int slices = NameOf(spec).slices;
  if (slices > 1) pod.per_slice = *hosts;
  for (int i = 0; i < slices * *hosts; ++i) {
    LaunchPod::Worker worker;
    worker.address = fmt::format("<address of {}>", WorkerLabel(spec.name, i, pod.per_slice));
    if (slices > 1) {
      worker.env = {{"MEGASCALE_COORDINATOR_ADDRESS",
                     fmt::format("<address of {}>", WorkerLabel(spec.name, 0, pod.per_slice))},
                    {"MEGASCALE_NUM_SLICES", std::to_string(slices)},
                    {"MEGASCALE_SLICE_ID", std::to_string(i / *hosts)}};
    }
    pod.workers.push_back(std::move(worker));
  }
  return pod;
}

}  // namespace podctl

#include "plans/kinds/step/runtime_unit.h"

#include <algorithm>
#include <iterator>

#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/record.h"

namespace podctl {

std::optional<bool> ImageHasRuntimeUnit(std::string_view runtime_version) {
  // "TPU software versions" of the Cloud TPU documentation: what it names for PyTorch and JAX.
  static constexpr std::string_view kBare[] = {"tpu-ubuntu2204-base", "v2-alpha-tpuv5-lite",
                                               "v2-alpha-tpuv5", "v2-alpha-tpuv6e"};
  if (runtime_version.starts_with("tpu-vm-tf-")) return true;
  const bool bare =
      std::find(std::begin(kBare), std::end(kBare), runtime_version) != std::end(kBare);
  return bare ? std::optional<bool>(false) : std::nullopt;
}

bool ProgramsTakeFlags(const State& state, const std::string& pod, const PodRecord& record) {
  if (WorkerCount(record.observed) < 2) return true;
  const auto known = ImageHasRuntimeUnit(record.observed["runtimeVersion"].AsString());
  if (known) return !*known;
  const StepRecord* step = Steps(state).Get(StepAddress(pod, kRuntimeStepName));
  return step != nullptr &&
         std::any_of(step->workers.begin(), step->workers.end(), [&](const auto& worker) {
           return worker.second.uid == record.current.uid &&
                  worker.second.digest.starts_with(kNoUnitMark);
         });
}

}  // namespace podctl

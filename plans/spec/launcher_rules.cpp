#include "plans/spec/launcher_rules.h"

#include <algorithm>
#include <iterator>

namespace podctl {

bool RunsOnWorkerZero(Launcher launcher) {
  return launcher == Launcher::kTensorflow || launcher == Launcher::kEstimator;
}

bool IsPlaceVariable(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "PODCTL_POD",    "PODCTL_WORKER", "PODCTL_WORKERS", "PODCTL_ADDRESSES", "PODCTL_SLICE",
      "PODCTL_SLICES", "PODCTL_JOB",    "PODCTL_RUN",     "PODCTL_ATTEMPT"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool IsXlaDistVariable(std::string_view name) {
  static constexpr std::string_view kNames[] = {"XRT_LOCAL_WORKER",
                                                "XRT_MESH_SERVICE_ADDRESS",
                                                "XRT_SHARD_WORLD_SIZE",
                                                "XRT_SHARD_ORDINAL",
                                                "XRT_TPU_CONFIG",
                                                "TPUVM_MODE",
                                                "CLOUD_TPU_TASK_ID",
                                                "TPU_CHIPS_PER_HOST_BOUNDS",
                                                "TPU_HOST_BOUNDS",
                                                "TPU_NUM_DEVICES",
                                                "TPU_MESH_CONTROLLER_ADDRESS",
                                                "TPU_MESH_CONTROLLER_PORT",
                                                "XLA_EMIT_STEPLOG"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace podctl

// What tells a process its place among the others: the variables of podctl's own, which everything
// that is started gets, and those by which frameworks find each other, which only the launcher that
// asks for them sets. Pure.
//
// On a TPU VM a framework finds its place by itself, from the metadata server, and whatever stands
// in the environment comes before that. So nothing is set here that a framework would read which
// the launcher does not name:
//   jax          jax.distributed.initialize() reads JAX_COORDINATOR_ADDRESS before it asks its
//                cluster (jax/_src/distributed.py); what is set here is what GceTpuCluster finds,
//                its port included (jax/_src/clusters/cloud_tpu_cluster.py).
//   pjrt         torch_xla's rendezvous takes MASTER_ADDR before it looks for the host of TPU 0
//                (torch_xla/_internal/rendezvous.py), and Lightning and accelerate take LOCAL_RANK
//                for a sign that somebody else starts their processes: so none of them is set.
//   torchrun     reads PET_NNODES and the like as defaults of its flags, and sets RANK and the rest
//                for what it starts (torch/distributed/argparse_util.py, run.py).
//   torch        one process a worker, for init_method env:// of torch.distributed.
//   ray          RAY_ADDRESS is where ray.init() looks for the cluster.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "plans/jobs/launch.h"

namespace podctl {

// PODCTL_POD, _WORKER, _WORKERS, _ADDRESSES, _SLICE and _SLICES, of the pod's `worker`.
std::map<std::string, std::string> PlaceVariables(const LaunchPod& pod, int worker);

// What the launcher's framework reads, of `chosen[position]`; the first of `chosen` is where they
// meet.
std::map<std::string, std::string> RankVariables(Launcher launcher, const LaunchPod& pod,
                                                 const std::vector<int>& chosen,
                                                 std::size_t position);

// ---- The variables that `python -m torch_xla.distributed.xla_dist` set on each worker of a pod
// (PyTorch/XLA up to 2.0), so that images which still need XRT find what they know.

// Where the XRT server of each worker listens.
inline constexpr int kXrtServerPort = 51011;

std::map<std::string, std::string> XlaDistVariables(const LaunchPod& pod, int worker);

// "4x8" -> "2,4,1": the hosts along each side, four chips each.
std::string HostBounds(const std::string& topology);

}  // namespace podctl

// How the workers of a pod are reached: by which address, or by which program (through a jump host
// or Google's Identity-Aware Proxy), and which host keys they may show. Knows no sockets.
#pragma once

#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "plans/kinds/pod/record.h"
#include "providers/base/error.h"
#include "providers/provider.h"
#include "providers/worker.h"
#include "state/state.h"

namespace podctl {

// Sets how `worker` is reached (through, no_route) by what the spec wanted of its pod.
void ChooseRoute(const PodRecord& record, bool has_external, WorkerAccess* worker);

// What has to be asked of the API to reach the pod: nothing, its host keys, or all there is.
bool LacksAttributes(const PodRecord& record);
std::string AttributesQuery(const SshSettings& ssh);

// After the API failed to tell host keys: no worker whose key is not known is trusted on first use,
// which is for where the API holds none. Nothing where `error` says that it holds none.
void DistrustUnread(const Error& error, std::vector<WorkerAccess>* workers);

// The names of the workers' VMs, of the guest attribute `hostname`, by worker.
std::map<int, std::string> VmNamesOf(const std::vector<WorkerAttributes>& workers);

// ---- Host keys of workers that were made anew behind the same node: what `--refresh-only` asks
// the API for besides the lists, which do not show them.

// Takes the keys that the API now shows for workers whose keys `state` has, and tells of each
// change in `notes`. Where the API shows none or does not answer, what is known stays. At most
// `parallelism` calls at once.
void TakeRenewedKeys(Provider& provider, int parallelism, const std::stop_token& stop, State* state,
                     std::vector<std::string>* notes);

}  // namespace podctl

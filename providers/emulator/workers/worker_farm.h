// The door to the machines behind a node: what the service asks of them, whoever plays them.
//
// Knows nothing of the API. All calls are thread safe and return at once; what takes time (booting,
// dying) is seen through ConditionOf.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "providers/base/error.h"
#include "providers/base/value.h"

namespace podctl::emulator {

struct MachineSet {
  std::string uid;   // of the node; names its folder
  std::string host;  // hostnames are "<host>-w-<i>"
  bool has_runtime = false;
  std::vector<std::string> addresses;  // worker i listens on addresses[i]
  std::string network;                 // sets with the same one reach each other
  Value metadata;                      // the node's metadata map
  Value node;                          // the resource, for what the metadata server says of it
  Value project_metadata;              // of its project
  // Of a multislice; slices 1: it is none. The coordinator is the first worker of the first slice.
  int slices = 1;
  int slice = 0;
  std::string coordinator = {};
  // Who is let in: a line "user:key" for each key, of `ssh-keys` or of OS Login.
  std::string accounts;
};

// Whose ports a worker has: its own, in a network of its pod, or the machine's.
enum class WorkerNetwork { kPrivateIfPossible, kPrivate, kHost };

enum class Condition { kOff, kBooting, kUp, kFailed };

class WorkerFarm {
 public:
  virtual ~WorkerFarm() = default;

  virtual void Boot(const MachineSet& machines) = 0;
  // The node's metadata changed: what the guest agent would do with it.
  virtual void SetMetadata(const MachineSet& machines) = 0;
  // kOff: no process of the node is left. kBooting also while one is still dying.
  virtual Condition ConditionOf(const std::string& uid) = 0;
  // Why ConditionOf says kFailed; one sentence.
  virtual std::string FailureOf(const std::string& uid) = 0;
  virtual void PowerOff(const std::string& uid) = 0;
  // Powers off and removes the node's files.
  virtual void Discard(const std::string& uid) = 0;

  // May a worker have this address?
  virtual bool IsFree(const std::string& address) = 0;
  // (key type, base64 key) of worker i, e.g. ("ssh-ed25519", "AAAA…"); empty when it has none yet.
  virtual std::vector<std::pair<std::string, std::string>> HostKeys(const std::string& uid,
                                                                    int worker) = 0;
  // Makes trouble on purpose: "stop", "start", "break-runtime", "new-host-keys".
  virtual Result<void> Act(const std::string& uid, int worker, const std::string& action) = 0;
};

// Nobody at home: nodes become READY, their addresses refuse connections.
class NoWorkers final : public WorkerFarm {
 public:
  void Boot(const MachineSet&) override {}
  void SetMetadata(const MachineSet&) override {}
  Condition ConditionOf(const std::string&) override { return Condition::kUp; }
  std::string FailureOf(const std::string&) override { return {}; }
  void PowerOff(const std::string&) override {}
  void Discard(const std::string&) override {}
  bool IsFree(const std::string&) override { return true; }
  std::vector<std::pair<std::string, std::string>> HostKeys(const std::string&, int) override {
    return {};
  }
  Result<void> Act(const std::string&, int, const std::string&) override {
    return MakeError(ErrorCode::kFailedPrecondition, "this emulator runs no workers");
  }
};

}  // namespace podctl::emulator

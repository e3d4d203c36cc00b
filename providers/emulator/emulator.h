// The embedded emulator: the Cloud TPU API v2 on loopback, with workers that answer real SSH.
//
// It serves podctl, gcloud and anything else that speaks the API, and accepts any credentials or
// none; therefore it listens on loopback only. Nothing of the client is used here but the reading
// of JSON, so that a mistake of one is not repeated by the other. What tests may order beside the
// API (request counters, faults, sick workers) is described in api/admin.h.
//
// What is emulated: nodes, queued resources, operations, guest attributes, accelerator types,
// runtime versions, reservations and locations of v2 and v2alpha1, capacity and quotas, with the
// service's own texts where they are known; workers as sshd processes in
// namespaces of their own (as root) or as plain ones (else), each with a hostname, homes, accounts
// from `ssh-keys`, a `startup-script`, and a tpu-runtime unit behind systemctl that reads
// `tensorflow-env-vars` when it starts. Light workers do the same from one process, for pods of
// thousands; what is less real about them stands in workers/light_farm.h. Not emulated: networks,
// disks.
//
// A worker with a private network has ports of its own, as a machine of its own has: what listens
// on 8888 of one is in nobody's way. It reaches the other workers of its pod, under the addresses
// that the API gives, all slices included, and nobody else: neither other pods nor the internet (no
// `pip install`). It has a metadata server (workers/metadata.h). With the machine's network it is
// the other way round.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "providers/base/error.h"
#include "providers/emulator/workers/worker_farm.h"

namespace podctl::emulator {

struct Options {
  // kBest: sshd where it is installed and each can be a machine of its own (in namespaces), else
  // light.
  enum class Workers { kNone, kSshd, kLight, kBest };
  using Network = WorkerNetwork;

  std::string listen_host = "127.0.0.1";
  int listen_port = 8470;   // 0: any free one
  std::string data_folder;  // made if needed; "": a temporary one, removed by Stop
  Workers workers = Workers::kSshd;
  // Of sshd workers. Private ones need namespaces and perl; kPrivate insists on them.
  Network network = Network::kPrivateIfPossible;
  // How long an operation takes at least; the workers must be up as well.
  std::chrono::milliseconds operation_delay{2000};
  // Rules as in service/capacity.h: "v3-32=2", "v3=64", "us-central2-b/res-1/v4-32=1".
  std::vector<std::string> capacity;
  std::vector<std::string> quotas;
  std::vector<std::string> reservations;
  std::string faults_file;  // docs/emulator.md; "": none
  // How long after READY the workers are switched on, as a node may be READY before it answers.
  std::chrono::milliseconds worker_boot_delay{0};
  int ssh_port = 0;              // of the workers; 0: 22 if it may be bound, else 2222
  bool allow_namespaces = true;  // false: plain workers even where namespaces could be had
};

class Emulator {
 public:
  // Serves when it returns. kInvalidArgument: not a loopback address, or a rule or the file of
  // faults that says nothing; kUnavailable: the port is
  // taken; kLocked: the data folder is in use; kDataLoss; kIo; kFailedPrecondition: something that
  // the workers need is missing (the hint says what to install).
  static Result<std::unique_ptr<Emulator>> Start(const Options& options);
  ~Emulator();  // stops
  Emulator(const Emulator&) = delete;
  Emulator& operator=(const Emulator&) = delete;

  // "http://127.0.0.1:8470", without a slash at the end.
  std::string url() const;
  int ssh_port() const;           // 0 without workers
  bool isolated_workers() const;  // each in namespaces of its own
  bool private_networks() const;  // and with a network of its own
  // Ends all workers and connections; operations in flight go on when the same data folder is
  // opened again. Idempotent; must not be called from two threads at once.
  void Stop();

 private:
  struct Parts;
  explicit Emulator(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace podctl::emulator

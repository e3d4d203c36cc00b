// The emulated service as a whole: its collections, the lock around them, and the clockwork.
//
// Every mutating call answers at once with an operation; one thread settles operations when they
// are due and the machines are as far, and lets collections do what their time has come for. State
// is written to the journal before a call answers, so a restarted emulator goes on with operations
// and requests in flight. Knows neither HTTP nor processes.
//
// To add a collection: its class in a file of its own (core.h: Collection), a member here, and its
// routes in api/routes.cpp.
#pragma once

#include <chrono>
#include <mutex>
#include <thread>

#include "providers/base/error.h"
#include "providers/base/value.h"
#include "providers/emulator/service/core.h"
#include "providers/emulator/service/custom_jobs.h"
#include "providers/emulator/service/machines.h"
#include "providers/emulator/service/nodes.h"
#include "providers/emulator/service/os_login.h"
#include "providers/emulator/service/queue.h"
#include "providers/emulator/service/queued_resources.h"
#include "providers/emulator/service/secrets.h"
#include "providers/emulator/service/storage.h"

namespace podctl::emulator {

class Service {
 public:
  // The journal and the farm are lent and outlive the service.
  Service(Settings settings, Limits limits, Journal* journal, WorkerFarm* farm);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Reads the journal, boots the workers of READY nodes and starts the clockwork.
  Result<void> Start();
  void Stop();

  // Whoever uses a member below holds it, whatever the thread.
  [[nodiscard]] std::unique_lock<std::mutex> Lock() { return std::unique_lock(mutex_); }

  // What is limited, and how it stands with all nodes and queued resources, in short.
  Value Overview() const;
  // Moves the service's time on: what would have happened meanwhile happens now.
  void Advance(std::chrono::milliseconds by);

  Core core;
  OsLogin logins;
  Machines machines;
  Queue queue;
  Nodes nodes;
  QueuedResources queued_resources;
  CustomJobs custom_jobs;
  SecretTable secrets;
  Storage storage;

 private:
  void Restore(std::string_view key, const Value& record);
  void Run();

  std::mutex mutex_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace podctl::emulator

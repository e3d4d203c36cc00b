// Answers what workers ask of 169.254.169.254, each on a socket of its own network.
//
// Which socket a question came by says whose it is, so that a worker sees its own data and nobody
// else's. One thread serves them all. Thread safe.
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "providers/base/error.h"
#include "providers/emulator/workers/light/descriptor.h"
#include "providers/emulator/workers/metadata.h"
#include "providers/emulator/workers/worker_farm.h"

namespace podctl::emulator {

class MetadataServer {
 public:
  // kIo: no descriptor can be had.
  static Result<std::unique_ptr<MetadataServer>> Start();
  ~MetadataServer();

  // What the workers of this set are told from now on; who waits for a change is answered.
  void Tell(const MachineSet& machines);
  // Listens for one of them on `socket`, which is bound.
  void Open(const std::string& uid, std::size_t worker, Descriptor socket);
  // No socket of this worker (of this set) is left open.
  void Close(const std::string& uid, std::size_t worker);
  void Forget(const std::string& uid);

 private:
  using Clock = std::chrono::steady_clock;
  using Worker = std::pair<std::string, std::size_t>;
  struct Client {
    Worker worker;
    Descriptor socket;
    std::string received;
    std::string to_send;
    bool last = false;  // closed when all is sent
    // Of a question that waits for a change.
    std::optional<MetadataRequest> waiting;
    Clock::time_point deadline;  // of the wait, or of the next question
  };

  explicit MetadataServer(Descriptor alarm);
  void Run();
  void Wake();
  void Admit(const Worker& worker, const Descriptor& door);
  // False: it is to go.
  bool Attend(Client* client, bool readable);
  bool Receive(Client* client);
  bool AnswerAll(Client* client);
  // `patient`: a question may wait for a change.
  void Answer(Client* client, const MetadataRequest& request, bool patient);
  static bool Send(Client* client);

  const Descriptor alarm_;  // an eventfd: look again
  std::mutex mutex_;
  std::map<std::string, MachineSet> sets_;  // by uid
  std::map<Worker, Descriptor> doors_;
  std::list<Client> clients_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace podctl::emulator

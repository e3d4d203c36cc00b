// Connections that the program `ssh` holds in the background for us, one a worker: opened, lent to
// one command at a time, kept for the next one, ended. Knows nothing of commands and retries.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "providers/os/clock.h"
#include "providers/os/environment.h"
#include "providers/ssh/openssh/ssh_log.h"
#include "providers/ssh/openssh/ssh_program.h"

namespace podctl::ssh {

// Thread safe.
class Masters {
 public:
  // `program`: "ssh". All that is lent must outlive it.
  Masters(const Environment& environment, Clock& clock, std::string program);
  ~Masters();  // ends those that are kept; the others end by themselves a minute later
  Masters(const Masters&) = delete;
  Masters& operator=(const Masters&) = delete;

  struct Opened {
    std::string socket_path;  // empty: not let in, see verdict
    Verdict verdict;
    bool interrupted = false;  // broken off because an interrupt came
    std::optional<HostKeyText> learned_host_key;
  };
  // Has ssh log in to the worker, each stage within its limit. `interrupts` are descriptors that
  // become readable when it is to be broken off.
  Opened Open(const WorkerAccess& worker, const Limits& limits, const std::vector<int>& interrupts,
              const std::function<void(Stage)>& on_stage);

  // A kept connection to just this worker, reached in just this way, that still answers.
  std::optional<std::string> Take(const WorkerAccess& worker);
  // Takes one back; when there are enough already, it is ended.
  void Keep(const WorkerAccess& worker, const std::string& socket_path);

 private:
  Result<SshFolder*> Folder();

  const Environment& environment_;
  Clock& clock_;
  const std::string program_;
  std::mutex mutex_;
  std::unique_ptr<SshFolder> folder_;
  std::multimap<std::string, std::string> kept_;  // route to the worker -> socket path
  std::atomic<int> next_number_ = 1;
};

}  // namespace podctl::ssh

// A client of ssh-agent (draft-ietf-sshm-ssh-agent): lists its keys and has it sign. The two
// messages podctl needs, instead of libssh2's client, which cannot sign with RSA in 1.10.
//
// Calls block for at most a few seconds and are thread safe (one request at a time). After a
// request that failed or timed out the agent is taken for dead, so that a hanging agent delays a
// fan-out once and not once a worker.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/error.h"
#include "providers/ssh/keys/key.h"

namespace podctl::ssh {

class Agent : public std::enable_shared_from_this<Agent> {
 public:
  // `socket_path`: $SSH_AUTH_SOCK. kUnavailable when nobody listens there.
  static Result<std::shared_ptr<Agent>> Connect(const std::string& socket_path);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // The plain keys (no certificates, no hardware-backed kinds that libssh2 cannot use), in the
  // agent's order, at most 64. Each keeps the agent connected.
  Result<std::vector<std::shared_ptr<const Key>>> Keys();

  // One request and its answer, both without the length in front. At most 256 KiB.
  Result<std::string> Ask(std::string_view request);

 private:
  explicit Agent(int fd) : fd_(fd) {}
  Result<std::string> Exchange(std::string_view request);

  std::mutex mutex_;
  int fd_;
};

}  // namespace podctl::ssh

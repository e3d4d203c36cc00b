// A small SSH server on libssh that misbehaves inside the protocol, where sshd cannot be made to,
// and counts the commands that reach it. Each connection has a thread.
//
// A command is answered with "ran COMMAND\n" and exit code 0; "yes" writes without end.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "providers/worker.h"
#include "tests/support/ssh_server.h"

// libssh's.
struct ssh_session_struct;
struct ssh_channel_struct;
struct ssh_key_struct;

namespace podctl::testing {

class RudeSshServer {
 public:
  struct Behavior {
    int refused_logins = 0;    // so many good keys are refused, as if not known yet
    int refused_channels = 0;  // so many are refused first
    bool tells_no_exit_status = false;
    bool changes_host_key = false;  // from the second connection on it shows another one
  };
  RudeSshServer() : RudeSshServer(Behavior()) {}
  explicit RudeSshServer(Behavior behavior);
  ~RudeSshServer();
  RudeSshServer(const RudeSshServer&) = delete;
  RudeSshServer& operator=(const RudeSshServer&) = delete;

  int port() const { return port_; }
  WorkerAccess Access(int index = 0) const;
  std::string HostKey() const;  // the first one
  int runs(const std::string& command) const;
  int connections() const { return connections_; }

 private:
  struct Visit;
  struct Client;
  void Listen();
  void Serve(int fd, int number);
  void Talk(ssh_session_struct* session);
  bool Run(ssh_channel_struct* channel, const std::string& command);
  static int OnKey(ssh_session_struct* session, const char* user, ssh_key_struct* key, char state,
                   void* data);
  static ssh_channel_struct* OnChannel(ssh_session_struct* session, void* data);
  static int OnCommand(ssh_session_struct* session, ssh_channel_struct* channel,
                       const char* command, void* data);

  const Behavior behavior_;
  TempFolder folder_;
  int listener_ = -1;
  int port_ = 0;
  std::thread thread_;
  mutable std::mutex mutex_;
  std::map<std::string, int> runs_;
  std::vector<std::unique_ptr<Visit>> visits_;
  std::vector<void*> binds_;  // one a host key
  std::atomic<bool> stop_ = false;
  std::atomic<int> refused_ = 0;  // logins
  std::atomic<int> refused_channels_ = 0;
  std::atomic<int> connections_ = 0;
};

}  // namespace podctl::testing

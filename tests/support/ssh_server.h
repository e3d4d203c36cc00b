// A real sshd of the test's own on a loopback address: own host keys, own authorized keys, own home
// folder, killed when the object goes. Needs Debian's openssh-server.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "providers/worker.h"

namespace podctl::testing {

// A folder of its own under the system's temporary folder, removed with all that is in it.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Runs a program found in PATH, waits for it, and returns its exit status.
int RunProgram(const std::vector<std::string>& arguments);
// Starts one and returns its process id; it dies with this process. Output goes to `log`.
pid_t StartProgram(const std::vector<std::string>& arguments, const std::string& log);
// Whether some process runs with just these two words as its command line.
bool IsRunning(const std::string& program, const std::string& argument);
void EndProgram(pid_t pid);  // SIGTERM, then waits for it

std::string ReadAll(const std::string& path);
void WriteAll(const std::string& path, const std::string& text);
// Makes a key with ssh-keygen at `path` and `path`.pub. `arguments` e.g. {"-t", "ed25519"}.
void MakeKey(const std::string& path, const std::vector<std::string>& arguments,
             const std::string& passphrase = "");
int FreePort(const std::string& address);

class SshServer {
 public:
  struct Options {
    std::string address = "127.0.0.1";
    int port = 0;  // 0: a free one
    std::vector<std::string> host_key_types = {"ed25519"};
    std::string config;  // further lines of sshd_config
    // A folder that is first in the PATH of commands: for stand-ins of system programs.
    std::string programs;
    bool start = true;
  };
  SshServer() : SshServer(Options()) {}
  explicit SshServer(Options options);
  ~SshServer();
  SshServer(const SshServer&) = delete;
  SshServer& operator=(const SshServer&) = delete;

  void Start();  // returns when it answers
  void Stop();
  void KillSessions();  // SIGKILL for the sshd processes that serve connections
  void Authorize(const std::string& public_line);
  void NewHostKeys();  // takes effect with the next Start

  // How to reach it with `client_key()`; nothing is pinned.
  WorkerAccess Access(int index = 0) const;
  const std::string& client_key() const { return client_key_; }  // an authorized Ed25519 key
  std::string HostKey(const std::string& type = "ed25519") const;
  std::string Home() const { return folder_.path() + "/home"; }
  std::string Folder() const { return folder_.path(); }
  std::string Log() const { return ReadAll(folder_.path() + "/log"); }
  int port() const { return options_.port; }

 private:
  std::set<pid_t> Sessions() const;  // the processes that serve connections

  Options options_;
  TempFolder folder_;
  std::string client_key_;
  std::string user_;
  pid_t pid_ = -1;
};

}  // namespace podctl::testing

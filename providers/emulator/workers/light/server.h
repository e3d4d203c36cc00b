// An SSH server for thousands of workers at once: one process, a few threads, each worker on a
// listening socket and with a host key of its own. A connection costs about half a millisecond of
// CPU; sshd takes some 17, and a process.
//
// As sshd for what podctl and ssh ask: login by public key, commands, shells, terminals, sftp,
// signals, several channels at once, forwarded connections (to addresses and localhost, on the
// machine's own network). A few words are answered without a process: see AnswerInline (host.h).
// Unlike sshd, every user's commands run as the user of this process.
//
// Knows libssh. Thread safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "providers/base/error.h"
#include "providers/emulator/workers/light/host.h"
#include "providers/emulator/workers/light/supervisor.h"

struct ssh_key_struct;

namespace podctl::emulator {

// The Ed25519 key by which an SSH server is known. Knows no files.
// Immutable, and shared freely between threads.
class HostKey {
 public:
  static Result<HostKey> Make();
  // From what PrivateText gave.
  static Result<HostKey> Parse(const std::string& private_text);

  const std::string& public_base64() const { return public_base64_; }  // "AAAAC3Nza…"
  Result<std::string> PrivateText() const;                             // OpenSSH's PEM; a secret
  ssh_key_struct* handle() const { return key_.get(); }

 private:
  static Result<HostKey> Wrap(ssh_key_struct* key);

  std::shared_ptr<ssh_key_struct> key_;
  std::string public_base64_;
};

class LightServer {
 public:
  struct Door {
    std::shared_ptr<Host> host;
    HostKey key;
    int socket = -1;  // bound and listening; taken over
  };
  using Id = int;

  // Lent: `spawner` starts the commands. kUnavailable: no descriptor can be had.
  static Result<std::unique_ptr<LightServer>> Start(int threads, ProcessSpawner& spawner);
  virtual ~LightServer() = default;

  virtual std::vector<Id> Open(std::vector<Door> doors) = 0;
  // Returns when nobody listens there and no connection is left. Commands go on, as with sshd.
  virtual void Close(const std::vector<Id>& ids) = 0;
};

// Listens at once, with room for `backlog` connections. The caller closes it.
Result<int> ListenOn(const std::string& address, int port, int backlog);

}  // namespace podctl::emulator

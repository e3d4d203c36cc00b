// Which keys podctl offers to a worker: the file a user names, else the agent's keys and then the
// usual files in ~/.ssh. Each file is read and parsed once, not once a worker. Knows no sockets but
// the agent's; key material is wiped when the last owner lets go of it, and never shown.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "providers/base/error.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"
#include "providers/ssh/keys/key.h"

namespace podctl::ssh {

// The file below ~/.ssh of a key that podctl makes.
inline constexpr const char* kMadeKey = "podctl_ed25519";

// The private keys in ~/.ssh that are offered when none is named.
std::vector<std::string> UsualKeyFiles(const Environment& environment);

// sshd hangs up after so many refused keys (MaxAuthTries).
inline constexpr std::size_t kMaxKeysOffered = 6;

// Immutable, thread safe.
class Identities {
 public:
  // `identity_file`: a private key, "~/" allowed. Only this key is then offered; when it is
  // protected by a passphrase, the agent must hold it. Empty: every key of the agent
  // ($SSH_AUTH_SOCK), then $HOME/.ssh/{id_ed25519, id_ecdsa, id_rsa, podctl_ed25519,
  // google_compute_engine}; files that are protected or unreadable are passed over. kNotFound when
  // that leaves no key, kFailedPrecondition when all there is is protected.
  static Result<std::shared_ptr<const Identities>> Load(const std::string& identity_file,
                                                        const Environment& environment,
                                                        FileSystem& files);
  // As Load with no file named; when there is no key at all, makes $HOME/.ssh/podctl_ed25519 (0600)
  // and its .pub first, without a passphrase.
  static Result<std::shared_ptr<const Identities>> LoadOrMake(const Environment& environment,
                                                              FileSystem& files);

  explicit Identities(std::vector<std::shared_ptr<const Key>> keys) : keys_(std::move(keys)) {}

  const std::vector<std::shared_ptr<const Key>>& keys() const { return keys_; }  // never empty
  // The first key as a line for a node's `ssh-keys`: "ssh-ed25519 AAAA…", without a comment.
  std::string PublicKeyLine() const { return PublicKeyLines().front(); }
  // Those that are offered to a worker, likewise.
  std::vector<std::string> PublicKeyLines() const;

 private:
  std::vector<std::shared_ptr<const Key>> keys_;
};

// Identities by identity file, each loaded when first asked for; a failure is told, not kept, so
// that a key made in between is found. Thread safe. The environment and the file system are lent
// and must outlive it.
class Keyring {
 public:
  Keyring(const Environment& environment, FileSystem& files)
      : environment_(environment), files_(files) {}

  Result<std::shared_ptr<const Identities>> For(const std::string& identity_file);

 private:
  const Environment& environment_;
  FileSystem& files_;
  std::mutex mutex_;
  std::map<std::string, Result<std::shared_ptr<const Identities>>> loaded_;
};

}  // namespace podctl::ssh

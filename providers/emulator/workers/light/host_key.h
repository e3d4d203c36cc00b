// The Ed25519 key by which an SSH server is known. Knows no files.
#pragma once

#include <memory>
#include <string>

#include "providers/base/error.h"

struct ssh_key_struct;

namespace podctl::emulator {

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

}  // namespace podctl::emulator

// One key that podctl can show to a worker: a private key read from a file, or one that an agent
// holds. Knows how to sign, not whom to.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "providers/base/error.h"

namespace podctl::ssh {

// Immutable after it is made; every call is thread safe.
class Key {
 public:
  virtual ~Key() = default;

  // The public key in wire format (RFC 4253 section 6.6) and the type it begins with.
  const std::string& blob() const { return blob_; }
  const std::string& type() const { return type_; }
  const std::string& label() const { return label_; }  // for messages: a file, an agent's comment

  // Whether a signature takes so long that it must not hold up others: it asks another process, or
  // costs a millisecond and more.
  virtual bool IsSlow() const = 0;

  // Signs `data`. `algorithm` is a signature algorithm of RFC 8332 or the key's type. The result is
  // the signature's inner part, without the algorithm's name (RFC 4252 section 7).
  virtual Result<std::string> Sign(std::string_view algorithm, std::string_view data) const = 0;

 protected:
  Key(std::string blob, std::string label);

 private:
  std::string blob_;
  std::string type_;
  std::string label_;
};

// What a private key file holds. `key` is null when it is protected by a passphrase; then only the
// public half may be known (the OpenSSH format has it in clear text; else `blob` is empty).
struct KeyFile {
  std::string blob;
  std::shared_ptr<const Key> key;
};

// Reads a private key in the OpenSSH format or in PEM (PKCS#1, SEC1, PKCS#8): Ed25519, ECDSA over
// NIST P-256, P-384, P-521, RSA. `path` is for messages only. kInvalidArgument when it is none of
// those. The text is the caller's to wipe.
Result<KeyFile> ParseKeyFile(std::string_view text, const std::string& path);

// A new Ed25519 key: the private half in the OpenSSH format, and the line for a `.pub` file.
struct NewKey {
  std::string private_text;  // the caller's to wipe
  std::string public_line;
};
Result<NewKey> MakeEd25519Key(const std::string& comment);

}  // namespace podctl::ssh

// Declared in server.h.
#include <libssh/libssh.h>

#include "providers/emulator/workers/light/server.h"

namespace podctl::emulator {

Result<HostKey> HostKey::Wrap(ssh_key_struct* key) {
  HostKey made;
  made.key_ = std::shared_ptr<ssh_key_struct>(key, [](ssh_key_struct* it) { ssh_key_free(it); });
  char* text = nullptr;
  if (ssh_pki_export_pubkey_base64(key, &text) != SSH_OK) {
    return MakeError(ErrorCode::kInternal, "a host key cannot be written");
  }
  made.public_base64_ = text;
  ssh_string_free_char(text);
  return made;
}

Result<HostKey> HostKey::Make() {
  ssh_key key = nullptr;
  if (ssh_pki_generate(SSH_KEYTYPE_ED25519, 0, &key) != SSH_OK) {
    return MakeError(ErrorCode::kInternal, "no host key can be made");
  }
  return Wrap(key);
}

Result<HostKey> HostKey::Parse(const std::string& private_text) {
  ssh_key key = nullptr;
  if (ssh_pki_import_privkey_base64(private_text.c_str(), nullptr, nullptr, nullptr, &key) !=
      SSH_OK) {
    return MakeError(ErrorCode::kDataLoss, "a host key cannot be read");
  }
  return Wrap(key);
}

Result<std::string> HostKey::PrivateText() const {
  char* text = nullptr;
  if (ssh_pki_export_privkey_base64(key_.get(), nullptr, nullptr, nullptr, &text) != SSH_OK) {
    return MakeError(ErrorCode::kInternal, "a host key cannot be written");
  }
  std::string made = text;
  ssh_string_free_char(text);
  return made;
}

}  // namespace podctl::emulator

#include "providers/emulator/workers/light/version.h"

#include <libssh/libssh.h>

namespace podctl::emulator {

// "0.10.6/openssl/zlib"
std::string LibsshVersion() {
  const char* known = ssh_version(0);
  const std::string version = known == nullptr ? "" : known;
  return version.substr(0, version.find('/'));
}

}  // namespace podctl::emulator

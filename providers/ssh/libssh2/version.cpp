#include "providers/ssh/libssh2/version.h"

#include <libssh2.h>

namespace podctl::ssh {

std::string Libssh2Version() {
  const char* version = libssh2_version(0);
  return version == nullptr ? "" : version;
}

}  // namespace podctl::ssh

// Whose certificates are trusted: the system's, unless the user names others in one of the
// variables that curl, OpenSSL and Python know. Knows nothing of TLS.
#pragma once

#include <string>

#include "providers/os/environment.h"

namespace podctl::http {

struct CaSettings {
  std::string file;      // PEM, in place of the system's; "": the system's
  std::string folder;    // hashed as by c_rehash, beside the file; "": none
  std::string named_by;  // for messages: what the user named them in

  bool empty() const { return file.empty() && folder.empty(); }
};

// CURL_CA_BUNDLE; else SSL_CERT_FILE and SSL_CERT_DIR; else REQUESTS_CA_BUNDLE, which gcloud
// honours too. Empty: the system's own.
CaSettings FindCaSettings(const Environment& environment);

}  // namespace podctl::http

// The door to a service that keeps secrets: Google's Secret Manager (secretmanager.googleapis.com
// v1). The rules of Provider (provider.h) hold here.
#pragma once

#include <stop_token>
#include <string>

#include "providers/base/error.h"

namespace podctl {

struct SecretValue {
  std::string name;   // of the version that it is, by number: "projects/p/secrets/s/versions/4"
  std::string bytes;  // at most 64 KiB; not to be shown, nor stored
};

class Secrets {
 public:
  virtual ~Secrets() = default;

  // `name`: "projects/p[/locations/l]/secrets/s/versions/v", v a number, an alias or "latest".
  // kNotFound, kFailedPrecondition: there is no such version (any more), or it is disabled.
  virtual Result<SecretValue> Access(const std::string& name, std::stop_token stop) = 0;
};

}  // namespace podctl

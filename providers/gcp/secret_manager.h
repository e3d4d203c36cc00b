// Secret Manager over any http::Transport: Secrets as Google's service has it.
#pragma once

#include <optional>
#include <string>

#include "providers/gcp/regional_clients.h"
#include "providers/secrets.h"

namespace podctl::gcp {

// Thread safe. The doors must outlive it.
class SecretManager final : public Secrets {
 public:
  // `endpoint`: for all secrets; nullopt: Google's, regional ones at their region's own,
  // secretmanager.REGION.rep.googleapis.com.
  SecretManager(std::optional<Endpoint> endpoint, http::Transport& transport,
                Credentials& credentials, Clock& clock, Random& random,
                http::RetryPolicy policy = {});

  // Errors have a hint with the command that helps. kDataLoss: what came is not what was sent.
  Result<SecretValue> Access(const std::string& name, std::stop_token stop) override;

 private:
  RegionalClients clients_;
};

}  // namespace podctl::gcp

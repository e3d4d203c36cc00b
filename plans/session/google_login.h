// OS Login as Google has it: Compute Engine tells where it is on, the OS Login API as whom it lets
// in. Each question is asked once in a run.
#pragma once

#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include "plans/session/os_login.h"
#include "providers/gcp/credentials/credentials.h"
#include "providers/gcp/rest_client.h"
#include "providers/os/clock.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"
#include "providers/ssh/identities.h"

namespace podctl {

struct GoogleLoginDoors {
  Result<gcp::RestClient*> compute;
  Result<gcp::RestClient*> os_login;
  gcp::Credentials& credentials;
  std::string endpoint;  // of the TPU API
  const Environment& environment;
  FileSystem& files;
  ssh::Keyring& keyring;
  Clock& clock;
  std::stop_token stop;
};

class GoogleLogin final : public OsLogin {
 public:
  explicit GoogleLogin(GoogleLoginDoors doors) : doors_(std::move(doors)) {}

  bool IsOnIn(const std::string& project) override;
  Result<std::string> User(const std::string& project, const std::string& identity_file,
                           bool import) override;
  Error NoUser(const std::string& project) override;

 private:
  Result<std::string> Email();
  Result<std::string> AskUser(const std::string& project, const std::string& identity_file,
                              bool import);

  const GoogleLoginDoors doors_;
  std::map<std::string, bool> projects_;
  std::map<std::string, Result<std::string>> users_;  // by project, key and `import`
  std::optional<Result<std::string>> email_;
};

}  // namespace podctl

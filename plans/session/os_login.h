// OS Login, before podctl connects to workers: whether it is on, which user name it gives us, and
// that it has our key. Knows no SSH connections.
#pragma once

#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include "plans/engine/change.h"
#include "plans/engine/kind.h"
#include "plans/kinds/pod/record.h"
#include "plans/spec/spec.h"
#include "providers/gcp/credentials/credentials.h"
#include "providers/gcp/rest_client.h"
#include "providers/os/clock.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"
#include "providers/ssh/keys/identities.h"

namespace podctl {

// The door to whoever decides it.
class OsLogin {
 public:
  virtual ~OsLogin() = default;
  // Whether the project's metadata turns it on, for nodes whose own metadata does not say. False
  // where we are not allowed to read it.
  virtual bool IsOnIn(const std::string& project) = 0;
  // Our user name there. With `import` the public key of `identity_file` is put into our profile
  // where it is not, or not for long any more; it expires after a day.
  virtual Result<std::string> User(const std::string& project, const std::string& identity_file,
                                   bool import) = 0;
  // That User is empty.
  virtual Error NoUser(const std::string& project) = 0;
};

// Which pods are entered by OS Login, by what their spec, their node, or their project says, in
// this order; these get the user name into `ssh`, and no `ssh-keys`. `known` tells the rest: pods
// of which nobody asks. Nothing is changed, and a name that is not there yet stays empty. With
// `will_log_in` the project is asked although the state knows, and it is an error that nobody can
// be let in.
Result<void> UseOsLogin(OsLogin& login, const State& known, const Observation& observation,
                        bool will_log_in, Spec* spec);

// For the pods of a plan that is about to be applied, and knows which these are: the name of
// whoever applies it. What is missing in the profile is put there.
Result<void> LogInForPlan(OsLogin& login, Plan* plan);

// For a pod whose record says that OS Login decides: the name of whoever runs podctl now. Where
// there is none, the one that was noted stands.
struct NotAsCaller {
  Error why;
  bool asked = false;   // and there is no name; else nobody could be asked
  std::string instead;  // empty: the local user
};
std::optional<NotAsCaller> LogInAsCaller(OsLogin& login, PodRecord* record);

// ---- OS Login as Google has it: Compute Engine tells where it is on, the OS Login API as whom it
// lets in. Each question is asked once in a run.

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

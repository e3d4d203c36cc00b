// OS Login (oslogin.googleapis.com v1), where a project's or a machine's metadata turns it on: it
// gives each e-mail a user name of its own, and holds the SSH keys; `ssh-keys` in metadata is then
// ignored by the guests.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "providers/gcp/rest_client.h"
#include "providers/os/clock.h"

namespace podctl::gcp {

// What metadata has under this key turns OS Login on ("TRUE", in any case) or off.
inline constexpr const char* kOsLoginKey = "enable-oslogin";
bool TurnsOsLoginOn(std::string_view metadata_value);

struct LoginProfile {
  struct SshKey {
    std::string text;                          // "ssh-ed25519 AAAA… comment"
    std::optional<Clock::SystemTime> expires;  // nullopt: never
  };
  std::string user;  // the POSIX account's; empty: there is none yet
  std::vector<SshKey> keys;

  // Whether this key, whatever its comment, will be let in until then.
  bool Holds(std::string_view key, Clock::SystemTime until) const;
};

// Both for one e-mail. kNotFound, kPermissionDenied and the rest of RestClient's errors; kInternal
// when the answer's user name is none.
Result<LoginProfile> GetLoginProfile(RestClient& client, const std::string& email,
                                     const std::string& project, std::stop_token stop);
// Adds `key`, or gives it another end, and makes the POSIX account where there is none. Doing so
// again changes nothing more.
Result<LoginProfile> ImportSshPublicKey(RestClient& client, const std::string& email,
                                        const std::string& project, const std::string& key,
                                        Clock::SystemTime expires, std::stop_token stop);

// Of the project's own metadata, which holds for machines that say nothing themselves; nullopt: it
// does not say. `compute`: a client of Compute Engine's v1.
Result<std::optional<bool>> ProjectOsLogin(RestClient& compute, const std::string& project,
                                           std::stop_token stop);

}  // namespace podctl::gcp

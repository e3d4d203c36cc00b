// Who is known to OS Login (oslogin.googleapis.com v1) of the emulated world, and with which keys:
// profiles in the form of that API. Anybody with an e-mail is let in everywhere. Who keeps it
// beyond the process asks for each person's record. Not thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "providers/base/value.h"
#include "providers/emulator/api_error.h"

namespace podctl::emulator {

class OsLogin {
 public:
  // What metadata's `enable-oslogin` says.
  static bool IsOn(std::string_view value);

  // users.getLoginProfile: without a POSIX account as long as no key came.
  Answer Profile(const std::string& email) const;
  // users.importSshPublicKey: `body` is an SshPublicKey, {key, expirationTimeUsec}.
  Answer Import(const std::string& email, const Value& body, std::int64_t now_ms);
  // A line "user:key" for each key that lives.
  std::string Accounts(std::int64_t now_ms) const;
  // What Restore makes the same person of, in another process.
  Value RecordOf(const std::string& email) const;
  void Restore(const std::string& email, const Value& record);

 private:
  struct Key {
    std::string text;
    std::int64_t expires_usec = 0;  // 0: never
  };
  struct Person {
    std::string user;
    std::map<std::string, Key> keys;  // by fingerprint
  };
  static Value ProfileOf(const std::string& email, const Person& person);

  std::map<std::string, Person> people_;  // by e-mail
};

}  // namespace podctl::emulator

// Who is let into machines: the people known to OS Login (oslogin.googleapis.com v1) with their
// keys, as profiles in the form of that API, and the metadata of all projects, which may ask for
// OS Login. Anybody with an e-mail is let in everywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "providers/base/value.h"
#include "providers/emulator/service/api_error.h"
#include "providers/emulator/service/core.h"
#include "providers/emulator/service/table.h"

namespace podctl::emulator {

class OsLogin {
 public:
  // `core` is lent and outlives it. `on_change`: machines have to be told.
  OsLogin(Core* core, std::function<void()> on_change)
      : core_(core), on_change_(std::move(on_change)), people_(core->journal, "login") {}

  // users.getLoginProfile: without a POSIX account as long as no key came.
  Answer Profile(const std::string& email) const;
  // users.importSshPublicKey: `body` is an SshPublicKey, {key, expirationTimeUsec}.
  Answer Import(const std::string& email, const Value& body);
  // A line "user:key" for each key that opens a machine with this metadata, which goes before its
  // project's: by OS Login or as its `ssh-keys` says.
  std::string Accounts(const Value& metadata) const;

  const Value& project_metadata() const { return project_metadata_; }
  void SetProjectMetadata(const Value& metadata);

  // From the journal. `kind`: "login" or "projectMetadata".
  void Restore(std::string_view kind, const std::string& email, const Value& record);

 private:
  struct Key {
    std::string text;
    std::int64_t expires_usec = 0;  // 0: never
  };
  struct Person {
    std::string user;
    std::map<std::string, Key> keys;  // by fingerprint

    void Fields(RecordWriter& record) const;
    void Fields(RecordReader& record);
  };
  static Value ProfileOf(const std::string& email, const Person& person);

  Core* const core_;
  const std::function<void()> on_change_;
  Table<Person> people_;  // by e-mail
  Value project_metadata_ = Value::EmptyMap();
};

}  // namespace podctl::emulator

#include "providers/emulator/service/os_login.h"

#include <fmt/format.h>

#include <cctype>
#include <functional>

namespace podctl::emulator {
namespace {

constexpr std::size_t kMostPeople = 1000;
constexpr std::size_t kMostKeys = 100;  // of one; the real profile ends at 32 KiB
constexpr std::int64_t kUsecOfMs = 1000;

// As many digits as an identity of Google's has.
std::string UniqueId(const std::string& email) {
  return fmt::format("1{:020}", std::hash<std::string>{}(email));
}

// alice@example.com is alice_example_com, a service account sa_ and its number.
std::string UserName(const std::string& email) {
  if (email.ends_with(".gserviceaccount.com")) return "sa_" + UniqueId(email);
  std::string user;
  for (const unsigned char c : email) {
    user += std::isalnum(c) != 0 ? static_cast<char>(std::tolower(c)) : '_';
  }
  return user;
}

// 64 hex digits, as SHA-256 has; nobody looks into them.
std::string Fingerprint(const std::string& key) {
  std::string text;
  for (int i = 0; i < 4; ++i) {
    text += fmt::format("{:016x}", std::hash<std::string>{}(fmt::format("{}{}", i, key)));
  }
  return text;
}

bool IsKey(const std::string& text) {
  const auto blank = text.find(' ');
  const bool known =
      text.starts_with("ssh-") || text.starts_with("ecdsa-") || text.starts_with("sk-");
  return known && blank != std::string::npos && text.compare(blank + 1, 4, "AAAA") == 0 &&
         text.find_first_of("\r\n") == std::string::npos;
}

}  // namespace

Value OsLogin::ProfileOf(const std::string& email, const Person& person) {
  Value profile;
  profile.Set("name", UniqueId(email));
  if (person.user.empty()) return profile;
  const std::string id = std::to_string(std::hash<std::string>{}(email) % 1'000'000'000);
  Value account = Value::Map{{"primary", true},
                             {"username", person.user},
                             {"uid", id},
                             {"gid", id},
                             {"homeDirectory", "/home/" + person.user},
                             {"shell", "/bin/bash"},
                             {"operatingSystemType", "LINUX"}};
  profile.Set("posixAccounts", Value::List{std::move(account)});
  Value keys = Value::EmptyMap();
  for (const auto& [fingerprint, key] : person.keys) {
    Value entry =
        Value::Map{{"key", key.text},
                   {"fingerprint", fingerprint},
                   {"name", fmt::format("users/{}/sshPublicKeys/{}", email, fingerprint)}};
    if (key.expires_usec > 0) entry.Set("expirationTimeUsec", std::to_string(key.expires_usec));
    keys.Set(fingerprint, std::move(entry));
  }
  profile.Set("sshPublicKeys", std::move(keys));
  return profile;
}

Answer OsLogin::Profile(const std::string& email) const {
  const Person* person = people_.Find(email);
  return ProfileOf(email, person == nullptr ? Person() : *person);
}

Answer OsLogin::Import(const std::string& email, const Value& body) {
  for (const auto& [name, value] : body.AsMap()) {
    if (name != "key" && name != "expirationTimeUsec") {
      return FieldViolation("ssh_public_key", fmt::format("Unknown name \"{}\"", name));
    }
  }
  Key key{body["key"].AsString()};
  if (!IsKey(key.text)) return InvalidArgument("The SSH public key is not valid.");
  const std::string& end = body["expirationTimeUsec"].AsString();
  if (!end.empty()) {
    if (!ReadNumber(end, &key.expires_usec)) {
      return FieldViolation("ssh_public_key.expiration_time_usec",
                            fmt::format("Invalid value (TYPE_INT64), \"{}\"", end));
    }
    if (key.expires_usec <= core_->clock.NowMs() * kUsecOfMs) {
      return InvalidArgument("The expiration time lies in the past.");
    }
  }
  if (people_.rows().size() >= kMostPeople && people_.Find(email) == nullptr) {
    return FailedPrecondition("There are too many people.");
  }
  Person& person = people_.rows()[email];
  const std::string fingerprint = Fingerprint(key.text);
  if (person.keys.size() >= kMostKeys && !person.keys.contains(fingerprint)) {
    return FailedPrecondition("The login profile is full.");
  }
  person.user = UserName(email);
  person.keys[fingerprint] = std::move(key);
  people_.Keep(email);
  on_change_();
  return Value::Map{{"loginProfile", ProfileOf(email, person)}};
}

std::string OsLogin::Accounts(const Value& metadata) const {
  constexpr const char* kKey = "enable-oslogin";
  const Value* own = metadata.Find(kKey);
  const Value& said = own != nullptr ? *own : project_metadata_[kKey];
  if (LowerCase(said.AsString()) != "true") return metadata["ssh-keys"].AsString();
  std::string text;
  for (const auto& [email, person] : people_.rows()) {
    for (const auto& [fingerprint, key] : person.keys) {
      const bool gone =
          key.expires_usec > 0 && key.expires_usec <= core_->clock.NowMs() * kUsecOfMs;
      if (!gone) text += fmt::format("{}:{}\n", person.user, key.text);
    }
  }
  return text;
}

void OsLogin::SetProjectMetadata(const Value& metadata) {
  project_metadata_ = metadata;
  // A full disk shows at the next request.
  static_cast<void>(core_->journal->Put("projectMetadata:", metadata));
  on_change_();
}

void OsLogin::Person::Fields(RecordWriter& record) const {
  Value::List list;
  for (const auto& [fingerprint, key] : keys) {
    list.push_back(Value::Map{{"text", key.text}, {"expiresUsec", key.expires_usec}});
  }
  record("keys", Value(std::move(list)));
}

void OsLogin::Person::Fields(RecordReader& record) {
  for (const Value& entry : record.record["keys"].AsList()) {
    const std::string& text = entry["text"].AsString();
    keys[Fingerprint(text)] = {text, entry["expiresUsec"].AsInt()};
  }
}

void OsLogin::Restore(std::string_view kind, const std::string& email, const Value& record) {
  if (kind == "projectMetadata") {
    project_metadata_ = record;
  } else {
    people_.Restore(email, record).user = UserName(email);
  }
}

}  // namespace podctl::emulator

#include "providers/emulator/os_login.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
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

bool OsLogin::IsOn(std::string_view value) {
  std::string lower(value);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower == "true";
}

Value OsLogin::ProfileOf(const std::string& email, const Person& person) {
  Value profile;
  profile.Set("name", UniqueId(email));
  if (person.user.empty()) return profile;
  Value account;
  account.Set("primary", true);
  account.Set("username", person.user);
  const std::string id = std::to_string(std::hash<std::string>{}(email) % 1'000'000'000);
  account.Set("uid", id);
  account.Set("gid", id);
  account.Set("homeDirectory", "/home/" + person.user);
  account.Set("shell", "/bin/bash");
  account.Set("operatingSystemType", "LINUX");
  profile.Set("posixAccounts", Value::List{std::move(account)});
  Value keys = Value::EmptyMap();
  for (const auto& [fingerprint, key] : person.keys) {
    Value entry;
    entry.Set("key", key.text);
    if (key.expires_usec > 0) entry.Set("expirationTimeUsec", std::to_string(key.expires_usec));
    entry.Set("fingerprint", fingerprint);
    entry.Set("name", fmt::format("users/{}/sshPublicKeys/{}", email, fingerprint));
    keys.Set(fingerprint, std::move(entry));
  }
  profile.Set("sshPublicKeys", std::move(keys));
  return profile;
}

Answer OsLogin::Profile(const std::string& email) const {
  const auto found = people_.find(email);
  return ProfileOf(email, found == people_.end() ? Person() : found->second);
}

Answer OsLogin::Import(const std::string& email, const Value& body, std::int64_t now_ms) {
  for (const auto& [name, value] : body.AsMap()) {
    if (name != "key" && name != "expirationTimeUsec") {
      return FieldViolation("ssh_public_key", fmt::format("Unknown name \"{}\"", name));
    }
  }
  Key key{body["key"].AsString()};
  if (!IsKey(key.text)) return InvalidArgument("The SSH public key is not valid.");
  const std::string& end = body["expirationTimeUsec"].AsString();
  if (!end.empty()) {
    const auto [rest, problem] =
        std::from_chars(end.data(), end.data() + end.size(), key.expires_usec);
    if (problem != std::errc() || rest != end.data() + end.size()) {
      return FieldViolation("ssh_public_key.expiration_time_usec",
                            fmt::format("Invalid value (TYPE_INT64), \"{}\"", end));
    }
    if (key.expires_usec <= now_ms * kUsecOfMs) {
      return InvalidArgument("The expiration time lies in the past.");
    }
  }
  if (people_.size() >= kMostPeople && !people_.contains(email)) {
    return FailedPrecondition("There are too many people.");
  }
  Person& person = people_[email];
  const std::string fingerprint = Fingerprint(key.text);
  if (person.keys.size() >= kMostKeys && !person.keys.contains(fingerprint)) {
    return FailedPrecondition("The login profile is full.");
  }
  person.user = UserName(email);
  person.keys[fingerprint] = std::move(key);
  Value answer;
  answer.Set("loginProfile", ProfileOf(email, person));
  return answer;
}

std::string OsLogin::Accounts(std::int64_t now_ms) const {
  std::string text;
  for (const auto& [email, person] : people_) {
    for (const auto& [fingerprint, key] : person.keys) {
      if (key.expires_usec > 0 && key.expires_usec <= now_ms * kUsecOfMs) continue;
      text += fmt::format("{}:{}\n", person.user, key.text);
    }
  }
  return text;
}

Value OsLogin::RecordOf(const std::string& email) const {
  Value::List keys;
  const auto found = people_.find(email);
  if (found != people_.end()) {
    for (const auto& [fingerprint, key] : found->second.keys) {
      Value entry;
      entry.Set("text", key.text);
      entry.Set("expiresUsec", key.expires_usec);
      keys.push_back(std::move(entry));
    }
  }
  Value record;
  record.Set("keys", std::move(keys));
  return record;
}

void OsLogin::Restore(const std::string& email, const Value& record) {
  Person& person = people_[email];
  person.user = UserName(email);
  for (const Value& entry : record["keys"].AsList()) {
    const std::string& text = entry["text"].AsString();
    person.keys[Fingerprint(text)] = {text, entry["expiresUsec"].AsInt()};
  }
}

}  // namespace podctl::emulator

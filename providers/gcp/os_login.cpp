#include "providers/gcp/os_login.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "providers/base/text.h"
#include "providers/http/url.h"

namespace podctl::gcp {
namespace {

using std::chrono::microseconds;

constexpr std::chrono::seconds kPatience{15};  // of one attempt

// "ssh-ed25519 AAAA…", without a comment.
std::string_view WithoutComment(std::string_view key) {
  key = TrimBlanks(key);
  const auto type_end = key.find(' ');
  if (type_end == std::string_view::npos) return key;
  return key.substr(0, key.find(' ', type_end + 1));
}

// It becomes a word of ssh's.
bool IsUserName(std::string_view name) {
  return !name.empty() && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
         });
}

std::optional<Clock::SystemTime> TimeOf(const Value& microseconds_value) {
  const std::int64_t count = microseconds_value.AsInt();
  if (count <= 0) return std::nullopt;
  return Clock::SystemTime(
      std::chrono::duration_cast<Clock::SystemTime::duration>(microseconds(count)));
}

Result<LoginProfile> ReadProfile(const Value& answer) {
  LoginProfile profile;
  bool primary = false;
  for (const Value& account : answer["posixAccounts"].AsList()) {
    if (account["operatingSystemType"] == Value("WINDOWS")) continue;
    const bool is_primary = account["primary"] == Value(true);
    if (!profile.user.empty() && (primary || !is_primary)) continue;
    profile.user = account["username"].AsString();
    primary = is_primary;
  }
  if (!profile.user.empty() && !IsUserName(profile.user)) {
    return MakeError(ErrorCode::kInternal, "OS Login's answer names no user that can be one");
  }
  for (const auto& [fingerprint, key] : answer["sshPublicKeys"].AsMap()) {
    profile.keys.push_back({key["key"].AsString(), TimeOf(key["expirationTimeUsec"])});
  }
  return profile;
}

Call UserCall(const std::string& method, const std::string& email, std::string_view rest,
              const std::string& project) {
  Call call;
  call.method = method;
  call.path = fmt::format("v1/users/{}{}", http::PercentEncode(email), rest);
  call.query = {{"projectId", project}};
  call.timeout = kPatience;
  return call;
}

}  // namespace

bool TurnsOsLoginOn(std::string_view metadata_value) {
  return LowerCase(metadata_value) == "true";
}

bool LoginProfile::Holds(std::string_view key, Clock::SystemTime until) const {
  return std::any_of(keys.begin(), keys.end(), [&](const SshKey& each) {
    return WithoutComment(each.text) == WithoutComment(key) &&
           (!each.expires || *each.expires >= until);
  });
}

Result<LoginProfile> GetLoginProfile(RestClient& client, const std::string& email,
                                     const std::string& project, std::stop_token stop) {
  auto answer = client.Send(UserCall("GET", email, "/loginProfile", project), std::move(stop));
  if (!answer) return answer.error();
  return ReadProfile(*answer);
}

Result<LoginProfile> ImportSshPublicKey(RestClient& client, const std::string& email,
                                        const std::string& project, const std::string& key,
                                        Clock::SystemTime expires, std::stop_token stop) {
  Call call = UserCall("POST", email, ":importSshPublicKey", project);
  const auto end = std::chrono::duration_cast<microseconds>(expires.time_since_epoch());
  call.body = Value::Map{{"key", key}, {"expirationTimeUsec", std::to_string(end.count())}};
  auto answer = client.Send(call, std::move(stop));
  if (!answer) return answer.error();
  return ReadProfile((*answer)["loginProfile"]);
}

Result<std::optional<bool>> ProjectOsLogin(RestClient& compute, const std::string& project,
                                           std::stop_token stop) {
  Call call;
  call.path = fmt::format("projects/{}", http::PercentEncode(project));
  call.query = {{"fields", "commonInstanceMetadata"}};
  call.timeout = kPatience;
  const auto answer = compute.Send(call, std::move(stop));
  if (!answer) return answer.error();
  for (const Value& item : (*answer)["commonInstanceMetadata"]["items"].AsList()) {
    if (item["key"] == Value(kOsLoginKey)) {
      return std::optional<bool>(TurnsOsLoginOn(item["value"].AsString()));
    }
  }
  return std::optional<bool>();
}

}  // namespace podctl::gcp

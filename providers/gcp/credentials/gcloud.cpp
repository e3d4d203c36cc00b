#include <fmt/format.h>

#include <memory>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/gcp/credentials/token_request.h"

namespace podctl::gcp {
namespace {

constexpr std::chrono::milliseconds kLimit{60'000};
constexpr std::size_t kMaxQuotedGcloudBytes = 300;
constexpr const char* kCommand = "gcloud config config-helper";
constexpr const char* kHowToLogIn =
    "log in with `gcloud auth application-default login` or `gcloud auth login`, or name a "
    "credential file in GOOGLE_APPLICATION_CREDENTIALS (`podctl emulator` needs none: set "
    "PODCTL_ENDPOINT to its address)";

// The line of gcloud's stderr that says what is wrong: "ERROR: (gcloud.config…) You do not …".
std::string Complaint(const std::string& err) {
  for (const std::string& line : SplitLines(err)) {
    if (line.starts_with("ERROR:")) return VisibleControls(line.substr(0, kMaxQuotedGcloudBytes));
  }
  return {};
}

Error Failure(std::string message) {
  return MakeError(ErrorCode::kUnauthenticated, std::move(message), kHowToLogIn);
}

// `account`: told whose the token is.
Result<AccessToken> ReadGcloudAnswer(const std::string& out, std::string* account) {
  const Result<Value> answer = ParseJson(out);
  if (!answer) return Failure(fmt::format("`{}` printed no JSON", kCommand));
  const Value& properties = (*answer)["configuration"]["properties"];
  *account = properties["auth"]["impersonate_service_account"].AsString();
  if (account->empty()) *account = properties["core"]["account"].AsString();
  const Value& credential = (*answer)["credential"];
  const std::string& text = credential["access_token"].AsString();
  if (!IsToken(text)) return Failure(fmt::format("`{}` printed no access token", kCommand));
  return AccessToken{Secret(text), ParseTimestamp(credential["token_expiry"].AsString())};
}

Result<AccessToken> AskGcloud(ProcessRunner& processes, TokenFreshness freshness,
                              const std::stop_token& stop, std::string* account) {
  const Result<ProcessResult> ran = processes.Run(
      {"gcloud", "config", "config-helper", "--format=json",
       freshness == TokenFreshness::kNew ? "--force-auth-refresh" : "--min-expiry=5m"},
      kLimit, stop);
  if (!ran && ran.error().code == ErrorCode::kCancelled) return ran.error();
  if (!ran && ran.error().code == ErrorCode::kNotFound) {
    return Failure("there are no credentials, and gcloud is not installed");
  }
  if (!ran) return Failure(fmt::format("gcloud gave no access token: {}", ran.error().message));
  if (ran->exit_code == 0) return ReadGcloudAnswer(ran->out, account);
  const std::string complaint = Complaint(ran->err);
  return Failure(complaint.empty()
                     ? fmt::format("`{}` failed with exit code {}", kCommand, ran->exit_code)
                     : fmt::format("`{}` failed: {}", kCommand, complaint));
}

}  // namespace

TokenSource MakeGcloud(const CredentialDoors& doors) {
  const auto account = std::make_shared<std::string>();
  return {"gcloud",
          [doors, account](TokenFreshness freshness, const std::stop_token& stop) {
            return AskGcloud(doors.processes, freshness, stop, account.get());
          },
          [account](const auto&) { return *account; }};
}

}  // namespace podctl::gcp

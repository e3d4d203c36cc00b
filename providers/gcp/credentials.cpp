#include "providers/gcp/credentials.h"

#include <fmt/format.h>

#include <algorithm>

#include "providers/base/text.h"

namespace podctl::gcp {
namespace {

constexpr const char* kTokenFileVariable = "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE";
constexpr const char* kTokenVariable = "GOOGLE_OAUTH_ACCESS_TOKEN";
constexpr std::uint64_t kMaxTokenBytes = 64 * 1024;
constexpr std::chrono::milliseconds kGcloudLimit{60'000};
constexpr std::size_t kMaxQuotedBytes = 300;

constexpr const char* kHowToLogIn =
    "log in with `gcloud auth login`, or put a token into the environment variable "
    "GOOGLE_OAUTH_ACCESS_TOKEN";

// A token is one word of visible ASCII (RFC 6750, 2.1); anything else would break the header.
Result<Secret> AsToken(std::string_view text, const std::string& source) {
  const std::string_view token = TrimBlanks(text);
  const bool visible =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (token.empty() || !visible) {
    return MakeError(ErrorCode::kUnauthenticated,
                     fmt::format("{} {}", source,
                                 token.empty() ? "holds no access token"
                                               : "holds something that is not an access token"),
                     kHowToLogIn);
  }
  return Secret(std::string(token));
}

// The line of gcloud's stderr that says what is wrong: "ERROR: (gcloud.auth…) You do not …".
std::string Complaint(const std::string& err) {
  const std::vector<std::string> lines = SplitLines(err);
  for (const std::string& line : lines) {
    if (line.starts_with("ERROR:")) return VisibleControls(line.substr(0, kMaxQuotedBytes));
  }
  return {};
}

}  // namespace

// The order in which credentials are looked for.
Result<Secret> Credentials::Find(const std::stop_token& stop) {
  if (auto given = FromEnvironment()) return *std::move(given);
  return FromGcloud(stop);
}

std::optional<Result<Secret>> Credentials::FromEnvironment() {
  const auto file = environment_.Get(kTokenFileVariable);
  if (file && !file->empty()) return FromFile(*file);
  const auto token = environment_.Get(kTokenVariable);
  if (token && !token->empty()) return AsToken(*token, kTokenVariable);
  return std::nullopt;
}

Result<Secret> Credentials::FromFile(const std::string& path) {
  Result<std::string> text = files_.Read(ExpandHome(path), kMaxTokenBytes);
  if (!text) {
    return MakeError(ErrorCode::kUnauthenticated,
                     fmt::format("{} ({})", text.error().message, kTokenFileVariable),
                     "write a token into that file, or unset the variable");
  }
  return AsToken(*text, fmt::format("{} ({})", path, kTokenFileVariable));
}

Result<Secret> Credentials::FromGcloud(const std::stop_token& stop) {
  Result<ProcessResult> gcloud =
      processes_.Run({"gcloud", "auth", "print-access-token"}, kGcloudLimit, stop);
  if (!gcloud && gcloud.error().code == ErrorCode::kCancelled) return gcloud.error();
  if (!gcloud) {
    const bool absent = gcloud.error().code == ErrorCode::kNotFound;
    return MakeError(ErrorCode::kUnauthenticated,
                     absent
                         ? "there are no credentials: gcloud is not installed, and no variable "
                           "holds a token"
                         : fmt::format("gcloud gave no access token: {}", gcloud.error().message),
                     kHowToLogIn);
  }
  if (gcloud->exit_code != 0) {
    const std::string complaint = Complaint(gcloud->err);
    return MakeError(ErrorCode::kUnauthenticated,
                     complaint.empty()
                         ? fmt::format("`gcloud auth print-access-token` failed with exit code {}",
                                       gcloud->exit_code)
                         : fmt::format("`gcloud auth print-access-token` failed: {}", complaint),
                     kHowToLogIn);
  }
  return AsToken(gcloud->out, "the output of `gcloud auth print-access-token`");
}

Result<Secret> Credentials::Token(const std::stop_token& stop) {
  std::lock_guard lock(mutex_);
  if (token_) return *token_;
  Result<Secret> found = Find(stop);
  if (found) token_ = *found;
  return found;
}

std::optional<Secret> Credentials::TokenIfGiven() {
  std::lock_guard lock(mutex_);
  if (token_) return token_;
  const auto given = FromEnvironment();
  if (given && *given) token_ = **given;
  return token_;
}

Result<Secret> Credentials::TokenAfter(const Secret& refused, const std::stop_token& stop) {
  std::lock_guard lock(mutex_);
  if (token_ && *token_ != refused) return *token_;  // another thread was here before
  Result<Secret> found = Find(stop);
  if (!found) return found;
  token_ = *found;
  if (*found == refused) {
    return MakeError(ErrorCode::kUnauthenticated, "the access token is not accepted any more",
                     kHowToLogIn);
  }
  return found;
}

}  // namespace podctl::gcp

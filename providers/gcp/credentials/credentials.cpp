#include "providers/gcp/credentials/credentials.h"

#include <tuple>

#include "providers/base/text.h"
#include "providers/gcp/credentials/token_request.h"
#include "providers/gcp/gcloud_config.h"

namespace podctl::gcp {
namespace {

using std::chrono::seconds;

constexpr seconds kMargin{225};  // 3 min 45 s, as Google's own libraries have it
constexpr seconds kLastMargin{10};
constexpr seconds kPause{3};  // after a failure
constexpr const char* kTokenInfo = "https://oauth2.googleapis.com/tokeninfo";

std::optional<std::string> Named(const Environment& environment, const char* name) {
  auto value = environment.Get(name);
  return value && !value->empty() ? value : std::nullopt;
}

}  // namespace

bool Credentials::LivesOn(const AccessToken& token, seconds margin) {
  return !token.expires || *token.expires - doors_.clock.Now() > margin;
}

Result<Secret> Credentials::Renew(TokenFreshness freshness, const std::stop_token& stop) {
  if (!search_.source) search_ = FindCredentials(doors_, stop);
  Result<AccessToken> fresh =
      search_.source ? search_.source->fetch(freshness, stop) : Result<AccessToken>(*search_.error);
  if (fresh) {
    token_ = *std::move(fresh);
    return token_->secret;
  }
  if (fresh.error().code != ErrorCode::kCancelled) {
    failure_ = fresh.error();
    failed_at_ = doors_.clock.Steady();
  }
  return fresh.error();
}

Result<Secret> Credentials::Token(const std::stop_token& stop) {
  std::lock_guard lock(mutex_);
  if (token_ && LivesOn(*token_, kMargin)) return token_->secret;
  const bool failed_just_now = failure_ && doors_.clock.Steady() - failed_at_ < kPause;
  Result<Secret> fresh =
      failed_just_now ? Result<Secret>(*failure_) : Renew(TokenFreshness::kAny, stop);
  if (!fresh && fresh.error().code != ErrorCode::kCancelled && token_ &&
      LivesOn(*token_, kLastMargin)) {
    return token_->secret;
  }
  return fresh;
}

std::optional<Secret> Credentials::TokenIfGiven() {
  std::lock_guard lock(mutex_);
  if (token_) return token_->secret;
  const auto source = FindGivenToken(doors_);
  if (!source) return std::nullopt;
  auto given = source->fetch(TokenFreshness::kAny, {});
  if (!given) return std::nullopt;
  token_ = *std::move(given);
  return token_->secret;
}

Result<Secret> Credentials::TokenAfter(const Secret& refused, const std::stop_token& stop) {
  std::lock_guard lock(mutex_);
  if (token_ && token_->secret != refused) return token_->secret;  // another thread was here before
  Result<Secret> fresh = Renew(TokenFreshness::kNew, stop);
  if (fresh && *fresh == refused) {
    return MakeError(ErrorCode::kUnauthenticated, "the access token is not accepted any more",
                     "`podctl auth status` shows where it comes from");
  }
  return fresh;
}

std::pair<std::string, std::string> Credentials::QuotaAndOrigin() {
  for (const char* name : {"GOOGLE_CLOUD_QUOTA_PROJECT", "CLOUDSDK_BILLING_QUOTA_PROJECT"}) {
    if (auto project = Named(doors_.environment, name)) return {*project, name};
  }
  if (search_.source && !search_.source->quota_project.empty()) {
    return {search_.source->quota_project, search_.file};
  }
  if (!gcloud_quota_) {
    const GcloudConfig config = ReadGcloudConfig(doors_.environment, doors_.files);
    std::string project = config.quota_project.value_or("");
    if (project.starts_with("CURRENT_PROJECT")) project = config.project.value_or("");
    if (project == "LEGACY") project.clear();  // gcloud's word for none
    gcloud_quota_ = {project, project.empty() ? "" : "gcloud's billing/quota_project"};
  }
  return *gcloud_quota_;
}

std::optional<std::string> Credentials::QuotaProject() {
  std::lock_guard lock(mutex_);
  std::string project = QuotaAndOrigin().first;
  return project.empty() ? std::nullopt : std::make_optional(std::move(project));
}

void Credentials::AskWhose(const Secret& token, const std::stop_token& stop,
                           CredentialStatus* status) {
  TokenRequest request;
  request.url = kTokenInfo;
  request.form = {{"access_token", token.Reveal()}};  // in the body: URLs are logged
  request.attempts = 1;
  request.timeout = seconds(10);
  request.whose = "the token";
  const auto asked = doors_.clock.Now();
  const Result<Value> answer = AskForJson(doors_, request, stop);
  if (!answer) return;  // not every token is known there; it serves all the same
  if (status->account.empty()) status->account = VisibleControls((*answer)["email"].AsString());
  const std::int64_t left = (*answer)["expires_in"].AsInt(-1);
  if (!status->expires && left >= 0) status->expires = asked + seconds(left);
}

CredentialStatus Credentials::Status(const std::stop_token& stop) {
  std::lock_guard lock(mutex_);
  CredentialStatus status;
  const Result<Secret> token = Renew(TokenFreshness::kAny, stop);
  status.looks = search_.looks;
  status.file = search_.file;
  if (search_.source) status.type = search_.source->type;
  std::tie(status.quota_project, status.quota_from) = QuotaAndOrigin();
  if (!token) {
    status.error = token.error();
    return status;
  }
  status.expires = token_->expires;
  status.account = search_.source->account(stop);
  if (status.account.empty() || !status.expires) AskWhose(*token, stop, &status);
  return status;
}

}  // namespace podctl::gcp

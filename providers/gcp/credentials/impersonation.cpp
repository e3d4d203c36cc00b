#include "providers/gcp/credentials/impersonation.h"

#include <fmt/format.h>

#include "providers/gcp/credentials/token_request.h"

namespace podctl::gcp {
namespace {

class ImpersonatedAccount final : public TokenSource {
 public:
  ImpersonatedAccount(const CredentialDoors& doors, std::unique_ptr<TokenSource> base,
                      Impersonation target, std::string quota_project)
      : doors_(doors),
        base_(std::move(base)),
        target_(std::move(target)),
        quota_project_(std::move(quota_project)) {}

  Result<AccessToken> Fetch(Need need, const std::stop_token& stop) override {
    Result<AccessToken> base = base_->Fetch(need, stop);
    if (!base) return base.error();
    return target_.Fetch(doors_, base->secret, stop);
  }
  std::string Account(const std::stop_token&) override { return target_.Account(); }
  std::string Type() const override { return "impersonated_service_account"; }
  std::string QuotaProject() const override { return quota_project_; }

 private:
  const CredentialDoors doors_;
  const std::unique_ptr<TokenSource> base_;
  const Impersonation target_;
  const std::string quota_project_;
};

}  // namespace

std::string Impersonation::Account() const {
  const auto slash = url.rfind('/');
  const auto colon = url.rfind(':');
  if (slash == std::string::npos || colon == std::string::npos || colon < slash) return {};
  return url.substr(slash + 1, colon - slash - 1);
}

Result<AccessToken> Impersonation::Fetch(const CredentialDoors& doors, const Secret& base,
                                         const std::stop_token& stop) const {
  TokenRequest request;
  request.url = url;
  request.whose = where;
  request.hint = fmt::format(
      "grant roles/iam.serviceAccountTokenCreator on {} to who is to act as "
      "it, and switch on the IAM Service Account Credentials API",
      Account().empty() ? "the service account" : Account());
  request.headers = {{"Authorization", "Bearer " + base.Reveal()}};
  Value body = Value::EmptyMap();
  body.Set("scope", Value::List{Value(kCloudScope)});
  body.Set("lifetime", fmt::format("{}s", lifetime));
  if (!delegates.empty()) body.Set("delegates", Value::List(delegates.begin(), delegates.end()));
  request.json = std::move(body);
  Result<Value> answer = AskForJson(doors, request, stop);
  if (!answer) return answer.error();
  const std::string& text = (*answer)["accessToken"].AsString();
  if (!IsToken(text)) {
    return MakeError(ErrorCode::kUnauthenticated,
                     fmt::format("{}: the answer holds no usable `accessToken`", where));
  }
  return AccessToken{Secret(text), ParseTime((*answer)["expireTime"].AsString())};
}

Result<std::unique_ptr<TokenSource>> MakeImpersonatedAccount(const CredentialDoors& doors,
                                                             const Fields& fields, int depth) {
  Impersonation target;
  Result<std::string> url = fields.Text("service_account_impersonation_url");
  if (!url) return url.error();
  target.url = *std::move(url);
  target.where = fields.Named("service_account_impersonation_url");
  for (const Value& delegate : fields["delegates"].AsList()) {
    target.delegates.push_back(delegate.AsString());
  }
  const Value& source = fields["source_credentials"];
  if (!source.is_map()) {
    return fields.Wrong("source_credentials", source.is_null() ? "is missing" : "is not an object");
  }
  auto base = MakeTokenSource(
      doors, Fields(source, fmt::format("{}, in `source_credentials`", fields.where())),
      TokenUse::kAnyGoogle, depth + 1);
  if (!base) return base.error();
  return std::unique_ptr<TokenSource>(std::make_unique<ImpersonatedAccount>(
      doors, *std::move(base), std::move(target), fields.TextOr("quota_project_id")));
}

}  // namespace podctl::gcp

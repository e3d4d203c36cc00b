// Declared in credential_file.h.
#include <fmt/format.h>

#include "providers/base/text.h"
#include "providers/gcp/credentials/credential_file.h"
#include "providers/gcp/credentials/token_request.h"

namespace podctl::gcp {

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
  request.json = Value::Map{{"scope", Value::List{Value(kCloudScope)}},
                            {"lifetime", fmt::format("{}s", lifetime)}};
  if (!delegates.empty()) {
    request.json->Set("delegates", Value::List(delegates.begin(), delegates.end()));
  }
  Result<Value> answer = AskForJson(doors, request, stop);
  if (!answer) return answer.error();
  const std::string& text = (*answer)["accessToken"].AsString();
  if (!IsToken(text)) {
    return MakeError(ErrorCode::kUnauthenticated,
                     fmt::format("{}: the answer holds no usable `accessToken`", where));
  }
  return AccessToken{Secret(text), ParseTimestamp((*answer)["expireTime"].AsString())};
}

Result<TokenSource> MakeImpersonatedAccount(const CredentialDoors& doors, const Fields& fields,
                                            int depth) {
  Impersonation target;
  auto taken = fields.Take({{"service_account_impersonation_url", &target.url}});
  if (!taken) return taken.error();
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
  const auto fetch = [doors, base = *std::move(base), target](
                         TokenFreshness freshness,
                         const std::stop_token& stop) -> Result<AccessToken> {
    Result<AccessToken> token = base.fetch(freshness, stop);
    return token ? target.Fetch(doors, token->secret, stop) : token;
  };
  return TokenSource{"impersonated_service_account", fetch,
                     [target](const auto&) { return target.Account(); },
                     fields.TextOr("quota_project_id")};
}

}  // namespace podctl::gcp

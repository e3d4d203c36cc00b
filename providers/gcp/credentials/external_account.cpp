// Declared in credential_file.h.
#include <fmt/format.h>

#include <optional>

#include "providers/base/encoding.h"
#include "providers/base/json.h"
#include "providers/gcp/credentials/subject_token.h"
#include "providers/gcp/credentials/token_request.h"
#include "providers/http/url.h"

namespace podctl::gcp {
namespace {

constexpr std::int64_t kShortestAskedLife = 600;   // seconds
constexpr std::int64_t kLongestAskedLife = 43200;  // seconds

struct Exchange {
  Federation federation;
  std::string token_url;
  std::string client_id;
  std::string client_secret;
  std::string workforce_project;
  std::string where;

  Result<AccessToken> For(const Secret& subject, const CredentialDoors& doors,
                          const std::stop_token& stop) const {
    TokenRequest request;
    request.url = token_url;
    request.whose = where;
    request.hint = "does the pool's provider accept such tokens: issuer, audience, attributes?";
    request.form = {{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
                    {"audience", federation.audience},
                    {"scope", kCloudScope},
                    {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
                    {"subject_token", subject.Reveal()},
                    {"subject_token_type", federation.subject_token_type}};
    if (!client_id.empty()) {
      request.headers.emplace_back("Authorization",
                                   "Basic " + Base64Encode(client_id + ":" + client_secret));
    } else if (!workforce_project.empty()) {
      const Value::Map options = {{"userProject", workforce_project}};
      request.form.emplace_back("options", http::PercentEncode(ToJson(options)));
    }
    return AskForToken(doors, request, stop);
  }
};

Result<std::optional<Impersonation>> ReadImpersonation(const Fields& fields) {
  const std::string url = fields.TextOr("service_account_impersonation_url");
  if (url.empty()) return std::optional<Impersonation>();
  Impersonation impersonation{url};
  impersonation.where = fields.Named("service_account_impersonation_url");
  const Value& life = fields["service_account_impersonation"]["token_lifetime_seconds"];
  if (!life.is_null()) {
    impersonation.lifetime = life.AsInt(-1);
    if (impersonation.lifetime < kShortestAskedLife || impersonation.lifetime > kLongestAskedLife) {
      return fields.Wrong("service_account_impersonation.token_lifetime_seconds",
                          "is not from 600 to 43200");
    }
  }
  return std::optional<Impersonation>(std::move(impersonation));
}

}  // namespace

Result<TokenSource> MakeExternalAccount(const CredentialDoors& doors, const Fields& fields) {
  Exchange exchange;
  auto taken = fields.Take({{"audience", &exchange.federation.audience},
                            {"subject_token_type", &exchange.federation.subject_token_type},
                            {"token_url", &exchange.token_url}});
  if (!taken) return taken.error();
  auto impersonation = ReadImpersonation(fields);
  if (!impersonation) return impersonation.error();
  if (*impersonation) exchange.federation.impersonated = (*impersonation)->Account();
  exchange.client_id = fields.TextOr("client_id");
  exchange.client_secret = fields.TextOr("client_secret");
  exchange.workforce_project = fields.TextOr("workforce_pool_user_project");
  exchange.where = fields.where();
  const Value& source = fields["credential_source"];
  if (!source.is_map()) {
    return fields.Wrong("credential_source", source.is_null() ? "is missing" : "is not an object");
  }
  auto subject = MakeSubjectToken(
      doors, Fields(source, fmt::format("{}, in `credential_source`", fields.where())),
      exchange.federation);
  if (!subject) return subject.error();
  const auto fetch = [doors, exchange, subject = *std::move(subject),
                      acts_as = *std::move(impersonation)](
                         TokenFreshness, const std::stop_token& stop) -> Result<AccessToken> {
    Result<Secret> vouched = subject(stop);
    if (!vouched) return vouched.error();
    Result<AccessToken> token = exchange.For(*vouched, doors, stop);
    return token && acts_as ? acts_as->Fetch(doors, token->secret, stop) : token;
  };
  std::string account = exchange.federation.impersonated;
  return TokenSource{"external_account", fetch,
                     [account = std::move(account)](const auto&) { return account; },
                     fields.TextOr("quota_project_id")};
}

}  // namespace podctl::gcp

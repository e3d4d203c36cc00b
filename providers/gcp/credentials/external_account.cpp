#include "providers/gcp/credentials/external_account.h"

#include <fmt/format.h>

#include <optional>

#include "providers/base/encoding.h"
#include "providers/base/json.h"
#include "providers/gcp/credentials/impersonation.h"
#include "providers/gcp/credentials/subject_token.h"
#include "providers/gcp/credentials/token_request.h"
#include "providers/http/url.h"

namespace podctl::gcp {
namespace {

constexpr std::int64_t kShortestAskedLife = 600;   // seconds
constexpr std::int64_t kLongestAskedLife = 43200;  // seconds

class ExternalAccount final : public TokenSource {
 public:
  struct Setup {
    Federation federation;
    std::string token_url;
    std::string client_id;
    std::string client_secret;
    std::string workforce_project;
    std::string quota_project;
    std::optional<Impersonation> impersonation;
    std::string where;
  };

  ExternalAccount(const CredentialDoors& doors, Setup setup, std::unique_ptr<SubjectToken> subject)
      : doors_(doors), setup_(std::move(setup)), subject_(std::move(subject)) {}

  Result<AccessToken> Fetch(Need, const std::stop_token& stop) override {
    Result<Secret> subject = subject_->Get(stop);
    if (!subject) return subject.error();
    Result<AccessToken> token = Exchange(*subject, stop);
    if (!token || !setup_.impersonation) return token;
    return setup_.impersonation->Fetch(doors_, token->secret, stop);
  }
  std::string Account(const std::stop_token&) override { return setup_.federation.impersonated; }
  std::string Type() const override { return "external_account"; }
  std::string QuotaProject() const override { return setup_.quota_project; }

 private:
  Result<AccessToken> Exchange(const Secret& subject, const std::stop_token& stop) {
    TokenRequest request;
    request.url = setup_.token_url;
    request.whose = setup_.where;
    request.hint = "does the pool's provider accept such tokens: issuer, audience, attributes?";
    request.form = {{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
                    {"audience", setup_.federation.audience},
                    {"scope", kCloudScope},
                    {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
                    {"subject_token", subject.Reveal()},
                    {"subject_token_type", setup_.federation.subject_token_type}};
    if (!setup_.client_id.empty()) {
      request.headers.emplace_back(
          "Authorization", "Basic " + Base64Encode(setup_.client_id + ":" + setup_.client_secret));
    } else if (!setup_.workforce_project.empty()) {
      Value options = Value::EmptyMap();
      options.Set("userProject", setup_.workforce_project);
      request.form.emplace_back("options", http::PercentEncode(ToJson(options)));
    }
    const auto asked = doors_.clock.Now();
    Result<Value> answer = AskForJson(doors_, request, stop);
    if (!answer) return answer.error();
    return ReadTokenAnswer(*answer, asked, setup_.where);
  }

  const CredentialDoors doors_;
  const Setup setup_;
  const std::unique_ptr<SubjectToken> subject_;
};

Result<std::optional<Impersonation>> ReadImpersonation(const Fields& fields) {
  const std::string url = fields.TextOr("service_account_impersonation_url");
  if (url.empty()) return std::optional<Impersonation>();
  Impersonation impersonation;
  impersonation.url = url;
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

Result<std::unique_ptr<TokenSource>> MakeExternalAccount(const CredentialDoors& doors,
                                                         const Fields& fields) {
  ExternalAccount::Setup setup;
  for (auto [name, target] : {std::pair{"audience", &setup.federation.audience},
                              std::pair{"subject_token_type", &setup.federation.subject_token_type},
                              std::pair{"token_url", &setup.token_url}}) {
    Result<std::string> text = fields.Text(name);
    if (!text) return text.error();
    *target = *std::move(text);
  }
  auto impersonation = ReadImpersonation(fields);
  if (!impersonation) return impersonation.error();
  setup.impersonation = *std::move(impersonation);
  if (setup.impersonation) setup.federation.impersonated = setup.impersonation->Account();
  setup.client_id = fields.TextOr("client_id");
  setup.client_secret = fields.TextOr("client_secret");
  setup.workforce_project = fields.TextOr("workforce_pool_user_project");
  setup.quota_project = fields.TextOr("quota_project_id");
  setup.where = fields.where();
  const Value& source = fields["credential_source"];
  if (!source.is_map()) {
    return fields.Wrong("credential_source", source.is_null() ? "is missing" : "is not an object");
  }
  auto subject = MakeSubjectToken(
      doors, Fields(source, fmt::format("{}, in `credential_source`", fields.where())),
      setup.federation);
  if (!subject) return subject.error();
  return std::unique_ptr<TokenSource>(
      std::make_unique<ExternalAccount>(doors, std::move(setup), *std::move(subject)));
}

}  // namespace podctl::gcp

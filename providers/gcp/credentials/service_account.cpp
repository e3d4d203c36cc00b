#include "providers/gcp/credentials/service_account.h"

#include <fmt/format.h>

#include "providers/base/encoding.h"
#include "providers/base/json.h"
#include "providers/gcp/credentials/crypto.h"
#include "providers/gcp/credentials/token_request.h"

namespace podctl::gcp {
namespace {

using std::chrono::seconds;

constexpr const char* kTokenUrl = "https://oauth2.googleapis.com/token";
constexpr const char* kGoogle = "googleapis.com";
constexpr seconds kLife{3600};
// A clock that is ahead must not make the token one of the future.
constexpr seconds kClockSlack{10};

std::int64_t UnixTime(Clock::SystemTime time) {
  return std::chrono::duration_cast<seconds>(time.time_since_epoch()).count();
}

class ServiceAccount final : public TokenSource {
 public:
  struct Key {
    std::string email;
    std::string private_key;
    std::string key_id;
    std::string token_url;
    std::string universe;
    std::string quota_project;
    std::string where;
  };

  ServiceAccount(const CredentialDoors& doors, Key key, TokenUse use)
      : doors_(doors), key_(std::move(key)), exchanges_(use == TokenUse::kAnyGoogle) {}

  Result<AccessToken> Fetch(Need need, const std::stop_token& stop) override {
    // Only Google's own universe exchanges tokens.
    const bool may_exchange = key_.universe == kGoogle;
    if (need == Need::kNew && may_exchange) exchanges_ = true;
    return exchanges_ && may_exchange ? Exchange(stop) : SignForTpuApi();
  }
  std::string Account(const std::stop_token&) override { return key_.email; }
  std::string Type() const override { return "service_account"; }
  std::string QuotaProject() const override { return key_.quota_project; }

 private:
  Result<AccessToken> SignForTpuApi() {
    Value claims = Value::EmptyMap();
    claims.Set("sub", key_.email);
    claims.Set("aud", fmt::format("https://tpu.{}/", key_.universe));
    const auto now = doors_.clock.Now() - kClockSlack;
    Result<std::string> jwt = Sign(std::move(claims), now);
    if (!jwt) return jwt.error();
    return AccessToken{Secret(*std::move(jwt)), now + kLife};
  }

  Result<AccessToken> Exchange(const std::stop_token& stop) {
    const auto now = doors_.clock.Now();
    Value claims = Value::EmptyMap();
    claims.Set("aud", key_.token_url);
    claims.Set("scope", kCloudScope);
    Result<std::string> jwt = Sign(std::move(claims), now - kClockSlack);
    if (!jwt) return jwt.error();
    TokenRequest request;
    request.url = key_.token_url;
    request.whose = key_.where;
    request.hint = "was the key deleted, or does this machine's clock go wrong?";
    request.form = {{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
                    {"assertion", *std::move(jwt)}};
    Result<Value> answer = AskForJson(doors_, request, stop);
    if (!answer) return answer.error();
    return ReadTokenAnswer(*answer, now, key_.where);
  }

  Result<std::string> Sign(Value claims, Clock::SystemTime now) const {
    claims.Set("iss", key_.email);
    claims.Set("iat", UnixTime(now));
    claims.Set("exp", UnixTime(now + kLife));
    Value header = Value::EmptyMap();
    header.Set("alg", "RS256");
    header.Set("typ", "JWT");
    header.Set("kid", key_.key_id);
    const std::string text = Base64Url(ToJson(header)) + "." + Base64Url(ToJson(claims));
    Result<std::string> signature = SignRs256(key_.private_key, text);
    if (!signature) {
      return MakeError(ErrorCode::kUnauthenticated,
                       fmt::format("{}: `private_key` cannot be used: {}", key_.where,
                                   signature.error().message));
    }
    return text + "." + Base64Url(*signature);
  }

  const CredentialDoors doors_;
  const Key key_;
  bool exchanges_;
};

}  // namespace

Result<std::unique_ptr<TokenSource>> MakeServiceAccount(const CredentialDoors& doors,
                                                        const Fields& fields, TokenUse use) {
  ServiceAccount::Key key;
  for (auto [name, target] :
       {std::pair{"client_email", &key.email}, std::pair{"private_key", &key.private_key}}) {
    Result<std::string> text = fields.Text(name);
    if (!text) return text.error();
    *target = *std::move(text);
  }
  key.key_id = fields.TextOr("private_key_id");
  key.token_url = fields.TextOr("token_uri", kTokenUrl);
  key.universe = fields.TextOr("universe_domain", kGoogle);
  key.quota_project = fields.TextOr("quota_project_id");
  key.where = fields.where();
  return std::unique_ptr<TokenSource>(std::make_unique<ServiceAccount>(doors, std::move(key), use));
}

}  // namespace podctl::gcp

#include "providers/gcp/credentials/refresh_token.h"

#include "providers/base/encoding.h"
#include "providers/gcp/credentials/token_request.h"

namespace podctl::gcp {
namespace {

constexpr const char* kGoogleTokenUrl = "https://oauth2.googleapis.com/token";

struct Login {
  std::string type;
  std::string token_url;
  std::string client_id;
  std::string client_secret;
  std::string refresh_token;
  bool basic = false;  // the client names itself in a header, not in the form
  std::string account;
  std::string quota_project;
  std::string where;
};

class RefreshToken final : public TokenSource {
 public:
  RefreshToken(const CredentialDoors& doors, Login login)
      : doors_(doors), login_(std::move(login)) {}

  Result<AccessToken> Fetch(Need, const std::stop_token& stop) override {
    TokenRequest request;
    request.url = login_.token_url;
    request.whose = login_.where;
    request.hint = "log in again: `gcloud auth application-default login`";
    request.form = {{"grant_type", "refresh_token"}, {"refresh_token", login_.refresh_token}};
    if (login_.basic) {
      request.headers.emplace_back(
          "Authorization", "Basic " + Base64Encode(login_.client_id + ":" + login_.client_secret));
    } else {
      request.form.emplace_back("client_id", login_.client_id);
      request.form.emplace_back("client_secret", login_.client_secret);
    }
    const auto asked = doors_.clock.Now();
    Result<Value> answer = AskForJson(doors_, request, stop);
    if (!answer) return answer.error();
    const std::string& next = (*answer)["refresh_token"].AsString();
    if (!next.empty()) login_.refresh_token = next;
    return ReadTokenAnswer(*answer, asked, login_.where);
  }
  std::string Account(const std::stop_token&) override { return login_.account; }
  std::string Type() const override { return login_.type; }
  std::string QuotaProject() const override { return login_.quota_project; }

 private:
  const CredentialDoors doors_;
  Login login_;
};

Result<std::unique_ptr<TokenSource>> Make(const CredentialDoors& doors, const Fields& fields,
                                          Login login) {
  for (auto [name, target] :
       {std::pair{"client_id", &login.client_id}, std::pair{"client_secret", &login.client_secret},
        std::pair{"refresh_token", &login.refresh_token}}) {
    Result<std::string> text = fields.Text(name);
    if (!text) return text.error();
    *target = *std::move(text);
  }
  login.account = fields.TextOr("account");
  login.quota_project = fields.TextOr("quota_project_id");
  login.where = fields.where();
  return std::unique_ptr<TokenSource>(std::make_unique<RefreshToken>(doors, std::move(login)));
}

}  // namespace

Result<std::unique_ptr<TokenSource>> MakeAuthorizedUser(const CredentialDoors& doors,
                                                        const Fields& fields) {
  Login login;
  login.type = "authorized_user";
  login.token_url = fields.TextOr("token_uri", kGoogleTokenUrl);
  return Make(doors, fields, std::move(login));
}

Result<std::unique_ptr<TokenSource>> MakeExternalUser(const CredentialDoors& doors,
                                                      const Fields& fields) {
  Result<std::string> url = fields.Text("token_url");
  if (!url) return url.error();
  Login login;
  login.type = "external_account_authorized_user";
  login.token_url = *std::move(url);
  login.basic = true;
  return Make(doors, fields, std::move(login));
}

}  // namespace podctl::gcp

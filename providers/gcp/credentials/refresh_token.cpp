// Declared in credential_file.h.
#include "providers/base/encoding.h"
#include "providers/gcp/credentials/credential_file.h"
#include "providers/gcp/credentials/token_request.h"

namespace podctl::gcp {
namespace {

constexpr const char* kGoogleTokenUrl = "https://oauth2.googleapis.com/token";

struct Login {
  std::string token_url;
  bool basic = false;  // the client names itself in a header, not in the form
  std::string client_id = {};
  std::string client_secret = {};
  std::string refresh_token = {};
  std::string where = {};

  Result<AccessToken> Fetch(const CredentialDoors& doors, const std::stop_token& stop) {
    TokenRequest request;
    request.url = token_url;
    request.whose = where;
    request.hint = "log in again: `gcloud auth application-default login`";
    request.form = {{"grant_type", "refresh_token"}, {"refresh_token", refresh_token}};
    if (basic) {
      request.headers.emplace_back("Authorization",
                                   "Basic " + Base64Encode(client_id + ":" + client_secret));
    } else {
      request.form.emplace_back("client_id", client_id);
      request.form.emplace_back("client_secret", client_secret);
    }
    Value answer;
    Result<AccessToken> token = AskForToken(doors, request, stop, &answer);
    const std::string& next = answer["refresh_token"].AsString();
    if (!next.empty()) refresh_token = next;
    return token;
  }
};

Result<TokenSource> MakeLogin(const CredentialDoors& doors, const Fields& fields, std::string type,
                              Login login) {
  auto taken = fields.Take({{"client_id", &login.client_id},
                            {"client_secret", &login.client_secret},
                            {"refresh_token", &login.refresh_token}});
  if (!taken) return taken.error();
  login.where = fields.where();
  const auto fetch = [doors, login](TokenFreshness, const std::stop_token& stop) mutable {
    return login.Fetch(doors, stop);
  };
  std::string account = fields.TextOr("account");
  return TokenSource{std::move(type), fetch,
                     [account = std::move(account)](const auto&) { return account; },
                     fields.TextOr("quota_project_id")};
}

}  // namespace

Result<TokenSource> MakeAuthorizedUser(const CredentialDoors& doors, const Fields& fields) {
  return MakeLogin(doors, fields, "authorized_user", {fields.TextOr("token_uri", kGoogleTokenUrl)});
}

Result<TokenSource> MakeExternalUser(const CredentialDoors& doors, const Fields& fields) {
  Result<std::string> url = fields.Text("token_url");
  if (!url) return url.error();
  return MakeLogin(doors, fields, "external_account_authorized_user", {*std::move(url), true});
}

}  // namespace podctl::gcp

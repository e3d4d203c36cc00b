// Declared in credential_file.h.
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>

#include "providers/base/encoding.h"
#include "providers/base/json.h"
#include "providers/gcp/credentials/credential_file.h"
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

struct FreeOfOpenssl {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Error NotAKey(const char* why) {
  ERR_clear_error();  // OpenSSL's own words may quote the key
  return MakeError(ErrorCode::kInvalidArgument, why);
}

// OpenSSL would ask the terminal for a key's password.
int NoPassword(char*, int, int, void*) {
  return 0;
}

// RS256 (RFC 7518, 3.3): RSASSA-PKCS1-v1_5 with SHA-256 by a private key in PEM, PKCS #8 or #1.
// kInvalidArgument when the text is not such a key; the message does not hold it.
Result<std::string> SignRs256(const std::string& private_key, std::string_view text) {
  std::unique_ptr<BIO, FreeOfOpenssl> bio(
      BIO_new_mem_buf(private_key.data(), static_cast<int>(private_key.size())));
  std::unique_ptr<EVP_PKEY, FreeOfOpenssl> key(
      bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, &NoPassword, nullptr) : nullptr);
  if (!key) return NotAKey("it is not a private key in PEM");
  if (EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA) return NotAKey("it is not an RSA key");
  std::unique_ptr<EVP_MD_CTX, FreeOfOpenssl> context(EVP_MD_CTX_new());
  std::size_t size = 0;
  if (!context ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, Bytes(text), text.size()) != 1) {
    return NotAKey("it cannot sign");
  }
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     Bytes(text), text.size()) != 1) {
    return NotAKey("it cannot sign");
  }
  signature.resize(size);
  return signature;
}

struct AccountKey {
  std::string email;
  std::string private_key;
  std::string key_id;
  std::string token_url;
  std::string universe;
  std::string where;

  Result<AccessToken> SignForTpuApi(Clock& clock) const {
    const auto now = clock.Now() - kClockSlack;
    Result<std::string> jwt =
        Sign(Value::Map{{"sub", email}, {"aud", fmt::format("https://tpu.{}/", universe)}}, now);
    if (!jwt) return jwt.error();
    return AccessToken{Secret(*std::move(jwt)), now + kLife};
  }

  Result<AccessToken> Exchange(const CredentialDoors& doors, const std::stop_token& stop) const {
    Result<std::string> jwt = Sign(Value::Map{{"aud", token_url}, {"scope", kCloudScope}},
                                   doors.clock.Now() - kClockSlack);
    if (!jwt) return jwt.error();
    TokenRequest request;
    request.url = token_url;
    request.whose = where;
    request.hint = "was the key deleted, or does this machine's clock go wrong?";
    request.form = {{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
                    {"assertion", *std::move(jwt)}};
    return AskForToken(doors, request, stop);
  }

  Result<std::string> Sign(Value claims, Clock::SystemTime now) const {
    claims.Set("iss", email);
    claims.Set("iat", UnixTime(now));
    claims.Set("exp", UnixTime(now + kLife));
    const Value::Map header = {{"alg", "RS256"}, {"typ", "JWT"}, {"kid", key_id}};
    const std::string text = Base64Url(ToJson(header)) + "." + Base64Url(ToJson(claims));
    Result<std::string> signature = SignRs256(private_key, text);
    if (signature) return text + "." + Base64Url(*signature);
    return MakeError(
        ErrorCode::kUnauthenticated,
        fmt::format("{}: `private_key` cannot be used: {}", where, signature.error().message));
  }
};

}  // namespace

Result<TokenSource> MakeServiceAccount(const CredentialDoors& doors, const Fields& fields,
                                       TokenUse use) {
  AccountKey key;
  auto taken = fields.Take({{"client_email", &key.email}, {"private_key", &key.private_key}});
  if (!taken) return taken.error();
  key.key_id = fields.TextOr("private_key_id");
  key.token_url = fields.TextOr("token_uri", kTokenUrl);
  key.universe = fields.TextOr("universe_domain", kGoogle);
  key.where = fields.where();
  const auto fetch = [doors, key, exchanges = use == TokenUse::kAnyGoogle](
                         TokenFreshness freshness, const std::stop_token& stop) mutable {
    // Only Google's own universe exchanges tokens.
    const bool may_exchange = key.universe == kGoogle;
    if (freshness == TokenFreshness::kNew && may_exchange) exchanges = true;
    return exchanges && may_exchange ? key.Exchange(doors, stop) : key.SignForTpuApi(doors.clock);
  };
  return TokenSource{"service_account", fetch, [email = key.email](const auto&) { return email; },
                     fields.TextOr("quota_project_id")};
}

}  // namespace podctl::gcp

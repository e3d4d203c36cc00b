#include "providers/gcp/credentials/crypto.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>

namespace podctl::gcp {
namespace {

struct Free {
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

}  // namespace

Result<std::string> SignRs256(const std::string& private_key, std::string_view text) {
  std::unique_ptr<BIO, Free> bio(
      BIO_new_mem_buf(private_key.data(), static_cast<int>(private_key.size())));
  std::unique_ptr<EVP_PKEY, Free> key(
      bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, &NoPassword, nullptr) : nullptr);
  if (!key) return NotAKey("it is not a private key in PEM");
  if (EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA) return NotAKey("it is not an RSA key");
  std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
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

}  // namespace podctl::gcp

#include "providers/base/certificate.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

namespace podctl {
namespace {

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

}  // namespace

Result<std::string> MakeCertificate() {
  const auto failed = [] {
    return MakeError(ErrorCode::kInternal, "a certificate could not be made");
  };
  const std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>> key(EVP_EC_gen("P-256"));
  const std::unique_ptr<X509, Freed<X509_free>> made(X509_new());
  const std::unique_ptr<BIO, Freed<BIO_free_all>> text(BIO_new(BIO_s_secmem()));
  if (!key || !made || !text) return failed();
  X509_NAME* name = X509_get_subject_name(made.get());
  constexpr unsigned char kName[] = "podctl";
  // RFC 5280 4.1.2.5: the last moment that a certificate can name means that it has no end.
  const bool whole =
      X509_set_version(made.get(), X509_VERSION_3) == 1 &&
      ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1) == 1 &&
      ASN1_TIME_set_string_X509(X509_getm_notBefore(made.get()), "20000101000000Z") == 1 &&
      ASN1_TIME_set_string_X509(X509_getm_notAfter(made.get()), "99991231235959Z") == 1 &&
      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, kName, -1, -1, 0) == 1 &&
      X509_set_issuer_name(made.get(), name) == 1 && X509_set_pubkey(made.get(), key.get()) == 1 &&
      X509_sign(made.get(), key.get(), EVP_sha256()) > 0 &&
      PEM_write_bio_X509(text.get(), made.get()) == 1 &&
      PEM_write_bio_PrivateKey(text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1;
  if (!whole) return failed();
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  if (size <= 0) return failed();
  return std::string(bytes, static_cast<std::size_t>(size));
}

}  // namespace podctl

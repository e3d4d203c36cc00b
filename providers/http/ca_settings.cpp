#include "providers/http/ca_settings.h"

namespace podctl::http {

CaSettings FindCaSettings(const Environment& environment) {
  const auto get = [&](const char* name) { return environment.Get(name).value_or(""); };
  if (const std::string file = get("CURL_CA_BUNDLE"); !file.empty()) {
    return {file, "", "CURL_CA_BUNDLE"};
  }
  CaSettings openssl{get("SSL_CERT_FILE"), get("SSL_CERT_DIR"), ""};
  if (!openssl.empty()) {
    openssl.named_by = openssl.file.empty() ? "SSL_CERT_DIR" : "SSL_CERT_FILE";
    return openssl;
  }
  if (const std::string file = get("REQUESTS_CA_BUNDLE"); !file.empty()) {
    return {file, "", "REQUESTS_CA_BUNDLE"};
  }
  return {};
}

}  // namespace podctl::http

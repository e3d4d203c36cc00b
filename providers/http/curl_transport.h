// HTTP over libcurl. TLS certificates are verified, redirects are not followed, proxies are taken
// from the environment as curl does (https_proxy, HTTPS_PROXY, http_proxy, all_proxy, ALL_PROXY,
// no_proxy, NO_PROXY; but never for loopback), answers are limited to 64 MiB.
//
// It knows nothing of tokens, JSON, retries or any API.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "providers/http/transport.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"

namespace podctl::http {

// Whose certificates are trusted: the system's, unless the user names others in one of the
// variables that curl, OpenSSL and Python know.
struct CaSettings {
  std::string file;      // PEM, in place of the system's; "": the system's
  std::string folder;    // hashed as by c_rehash, beside the file; "": none
  std::string named_by;  // for messages: what the user named them in, or may name them in

  bool empty() const { return file.empty() && folder.empty(); }
};

// CURL_CA_BUNDLE; else SSL_CERT_FILE and SSL_CERT_DIR; else REQUESTS_CA_BUNDLE, which gcloud
// honours too. Empty: the system's own.
CaSettings FindCaSettings(const Environment& environment);

// The system's own. Empty where libcurl finds them by itself, as it does on the system that it was
// built for; on another one the file that is there of those in which systems keep them.
CaSettings FindSystemCa(FileSystem& files, std::string_view built_in);
// Where libcurl looks by itself; "": it was built without such a file.
std::string_view BuiltInCa();

// With what this client shows who it is, where a server asks. Files are read for each connection.
struct ClientCertificate {
  std::string file;      // PEM; "": none
  std::string key_file;  // PEM; "": it is in `file`
  std::string named_by;  // for messages: what the user named it in
};

// Asks for gzip and unpacks it. Of a request with an `Accept-Encoding` of its own the body of an
// answer that is no error stays as it comes.
class CurlTransport final : public Transport {
 public:
  // `user_agent` is sent with each request, e.g. "podctl/0.1.0".
  // `ca` takes the place of the system's certificates where it is not empty.
  explicit CurlTransport(std::string user_agent, CaSettings ca = {},
                         ClientCertificate certificate = {});
  ~CurlTransport() override;

  // Connections are kept alive and used again. A POST or PATCH that is not said to be repeatable,
  // and a request that is to be sent once, always gets a new one: on a kept connection that turns
  // out to be dead, libcurl sends a request a second time by itself, and only repeatable methods
  // (RFC 9110, 9.2.2) may be sent so. One whose sender settles what became of it, and that has a
  // body, goes over a kept connection too, and is kReplyLost when that turns out to be dead.
  Result<Response> Send(const Request& request, std::stop_token stop) override;

 private:
  class Pool;
  std::string user_agent_;
  CaSettings ca_;
  ClientCertificate certificate_;
  std::unique_ptr<Pool> pool_;
};

}  // namespace podctl::http

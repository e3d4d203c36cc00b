#include "providers/http/curl_transport.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "providers/base/gzip.h"
#include "providers/base/text.h"
#include "providers/http/url.h"

namespace podctl::http {

struct CloseHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
using Handle = std::unique_ptr<CURL, CloseHandle>;

namespace {

constexpr std::size_t kMaxBodyBytes = std::size_t{64} * 1024 * 1024;
constexpr std::size_t kMaxHeaders = 200;
constexpr std::size_t kMaxIdleHandles = 16;
constexpr std::chrono::milliseconds kMaxConnectTime{15'000};
// Of a connection that a request which is never repeated may find: longer ones get lost in the
// middle of a network without a word.
constexpr long kMostIdleSeconds = 30;

struct CloseList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, CloseList>;

// One request on its way: what the callbacks fill.
struct Exchange {
  std::string_view unsent;  // of the body, where it is read by OnRead
  Response response;
  std::stop_token stop;
  bool only_reads = false;
  bool too_large = false;
  bool whole_head = false;  // the blank line after the headers has come
  std::array<char, CURL_ERROR_SIZE> words{};
};

std::size_t OnBody(char* bytes, std::size_t, std::size_t count, void* user) {
  auto* exchange = static_cast<Exchange*>(user);
  // Counted after decompression, so that a small answer cannot swell up.
  if (exchange->response.body.size() + count > kMaxBodyBytes) {
    exchange->too_large = true;
    return 0;
  }
  exchange->response.body.append(bytes, count);
  return count;
}

std::size_t OnHeader(char* bytes, std::size_t, std::size_t count, void* user) {
  auto* exchange = static_cast<Exchange*>(user);
  const std::string_view line = TrimBlanks({bytes, count});
  auto& headers = exchange->response.headers;
  if (line.starts_with("HTTP/")) {
    headers.clear();  // a 1xx answer, or a proxy's, came before the real one
    exchange->whole_head = false;
    return count;
  }
  if (line.empty()) exchange->whole_head = true;
  if (exchange->whole_head) return count;  // what follows the body are trailers, and no headers
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return count;
  if (headers.size() >= kMaxHeaders) {
    exchange->too_large = true;
    return 0;
  }
  headers.emplace_back(LowerCase(TrimBlanks(line.substr(0, colon))),
                       TrimBlanks(line.substr(colon + 1)));
  return count;
}

std::size_t OnRead(char* to, std::size_t, std::size_t most, void* user) {
  auto* exchange = static_cast<Exchange*>(user);
  const std::size_t count = std::min(most, exchange->unsent.size());
  exchange->unsent.copy(to, count);
  exchange->unsent.remove_prefix(count);
  return count;
}

// libcurl wants to send the body a second time.
int OnRewind(void*, curl_off_t, int) {
  return CURL_SEEKFUNC_FAIL;
}

// Called at least once a second.
int OnProgress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Exchange*>(user)->stop.stop_requested() ? 1 : 0;
}

bool IsRepeatable(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "PUT" || method == "DELETE" ||
         method == "OPTIONS";
}

// A line break in a header would let its text add headers of its own.
bool HasLineBreak(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
}

// Who names an encoding by a header takes what is asked for as it comes.
bool NamesEncoding(const Request& request) {
  return std::any_of(request.headers.begin(), request.headers.end(), [](const auto& header) {
    return LowerCase(header.first) == "accept-encoding";
  });
}

// An error is still to be read.
void UnpackError(Response* response) {
  const std::string* encoding = response->Header("content-encoding");
  if (response->status < 300 || encoding == nullptr || *encoding != "gzip") return;
  if (auto text = Gunzip(response->body, kMaxBodyBytes)) response->body = *std::move(text);
}

HeaderList MakeHeaders(const Request& request) {
  curl_slist* list = nullptr;
  for (const auto& [name, value] : request.headers) {
    list = curl_slist_append(list, fmt::format("{}: {}", name, value).c_str());
  }
  // curl would otherwise call an empty body a form.
  if (request.body.empty()) list = curl_slist_append(list, "Content-Type:");
  // curl would otherwise hold back a large body for a second, waiting for "100 Continue".
  return HeaderList(curl_slist_append(list, "Expect:"));
}

void SetMethod(CURL* curl, const Request& request, Exchange& exchange) {
  const bool may_repeat = (IsRepeatable(request.method) || request.repeatable) && !request.once;
  // A body that cannot be read twice is never sent twice; without it no server acts.
  const bool reads = !may_repeat && request.settled && !request.body.empty();
  const bool has_body = !request.body.empty() || request.method == "POST" ||
                        request.method == "PATCH" || request.method == "PUT";
  if (request.method == "HEAD") {
    curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  } else if (has_body) {
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    if (reads) {
      exchange.unsent = request.body;
      curl_easy_setopt(curl, CURLOPT_READFUNCTION, &OnRead);
      curl_easy_setopt(curl, CURLOPT_READDATA, &exchange);
      curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, &OnRewind);
      curl_easy_setopt(curl, CURLOPT_MAXAGE_CONN, kMostIdleSeconds);
    } else {
      curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
    }
  } else {
    curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
  }
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, may_repeat || reads ? 0L : 1L);
  // The fresh connection takes the kept one's place: a server that lends a thread to each would
  // otherwise run out of them on idle ones.
  curl_easy_setopt(curl, CURLOPT_MAXCONNECTS, 1L);
}

void SetOptions(CURL* curl, const Request& request, const Url& url, Exchange& exchange) {
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);  // a node may be called ".."
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  // One request a connection at a time: with HTTP/2 an answer could be lost to somebody else's
  // error.
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);  // signals are for the main thread
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!NamesEncoding(request)) curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "gzip");
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  // A proxy elsewhere cannot reach our loopback, and what goes to loopback must not leave.
  if (IsLoopback(url) || request.no_proxy) curl_easy_setopt(curl, CURLOPT_PROXY, "");
  const auto timeout = std::max(request.timeout, std::chrono::milliseconds(1));  // 0: for ever
  const auto connect = std::min(timeout, kMaxConnectTime);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(connect.count()));

  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, exchange.words.data());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &OnBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &OnHeader);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &OnProgress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &exchange);
}

void SetCertificates(CURL* curl, const CaSettings& ca, const ClientCertificate& certificate) {
  if (!certificate.file.empty()) {
    const std::string& key = certificate.key_file.empty() ? certificate.file : certificate.key_file;
    curl_easy_setopt(curl, CURLOPT_SSLCERT, certificate.file.c_str());
    curl_easy_setopt(curl, CURLOPT_SSLKEY, key.c_str());
  }
  if (!ca.file.empty()) {
    curl_easy_setopt(curl, CURLOPT_CAINFO, ca.file.c_str());
    curl_easy_setopt(curl, CURLOPT_PROXY_CAINFO, ca.file.c_str());
  }
  if (!ca.folder.empty()) {
    curl_easy_setopt(curl, CURLOPT_CAPATH, ca.folder.c_str());
    curl_easy_setopt(curl, CURLOPT_PROXY_CAPATH, ca.folder.c_str());
  }
}

// Whether the connection was never made, so that no byte of the request can have arrived.
bool NeverSent(CURL* curl, CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_FAILED_INIT:
    case CURLE_OUT_OF_MEMORY:
    case CURLE_OPERATION_TIMEDOUT:
      break;
    default:
      return false;
  }
  long sent = 0;  // bytes; counts a proxy's CONNECT too, which errs on the safe side
  curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &sent);
  return sent == 0;
}

bool IsCertificateProblem(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_ISSUER_ERROR ||
         code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_PINNEDPUBKEYNOTMATCH;
}

// Whether what came in place of a TLS handshake was plain text: OpenSSL's words up to 3.2, and
// after.
bool SpeaksNoTls(CURLcode code, std::string_view words) {
  const auto say = [&](std::string_view part) {
    return words.find(part) != std::string_view::npos;
  };
  return code == CURLE_SSL_CONNECT_ERROR &&
         (say("wrong version number") || say("packet length too long"));
}

// The proxy's own refusal to make a way to the server, which has seen nothing; 0 when there is
// none.
long TunnelRefusal(CURL* curl) {
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_HTTP_CONNECTCODE, &status);
  return status >= 200 && status < 300 ? 0 : status;
}

Error TunnelError(long status, const std::string& server) {
  const bool passing = status == 429 || status >= 500;
  return MakeError(
      passing ? ErrorCode::kUnavailable : ErrorCode::kFailedPrecondition,
      fmt::format("the proxy makes no way to {}: HTTP status {}", server, status),
      status == 407 ? "it wants a user and a password: HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT"
                    : "check HTTPS_PROXY, or name the server in NO_PROXY if no proxy is needed");
}

// Whether it was the proxy that could not be reached. libcurl's words name whom it tried.
bool IsProxyTrouble(CURLcode code, std::string_view words, const Url& url) {
  return code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_PROXY ||
         (code == CURLE_COULDNT_CONNECT && words.find(url.host) == std::string_view::npos);
}

Error ErrorOf(CURL* curl, CURLcode code, const Url& url, const Exchange& exchange,
              const CaSettings& ca, const ClientCertificate& certificate) {
  const std::string server = url.Server();
  const std::string_view words = code == CURLE_SEND_FAIL_REWIND
                                     ? "the kept connection was closed under the request"
                                 : exchange.words[0] != '\0' ? exchange.words.data()
                                                             : curl_easy_strerror(code);
  if (exchange.stop.stop_requested()) {
    return MakeError(ErrorCode::kCancelled, fmt::format("the request to {} was stopped", server));
  }
  if (exchange.too_large) {
    // Of what is only read it will be no smaller the next time.
    return MakeError(exchange.only_reads ? ErrorCode::kDataLoss : ErrorCode::kReplyLost,
                     fmt::format("the answer of {} is too large to be read", server));
  }
  if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL) {
    return MakeError(ErrorCode::kInvalidArgument, fmt::format("bad URL for {}", server));
  }
  if (code == CURLE_SSL_CACERT_BADFILE) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     ca.file.empty() ? fmt::format("the CA certificates cannot be read: {}", words)
                                     : fmt::format("the CA certificates in {} cannot be read ({})",
                                                   ca.file, ca.named_by),
                     ca.file.empty() ? "is the package ca-certificates installed?"
                                     : "it is a file of certificates in PEM");
  }
  if (code == CURLE_SSL_CERTPROBLEM && !certificate.file.empty()) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     fmt::format("the certificate {}, or its key, cannot be used ({})",
                                 certificate.file, certificate.named_by),
                     "both are files in PEM, and the key is that of the certificate");
  }
  if (IsCertificateProblem(code)) {
    return MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("the certificate of {} is not trusted: {}", server, words),
        ca.named_by.empty()
            ? "check the endpoint, the clock of this machine, and its CA certificates; where "
              "a proxy looks into TLS, name its certificate in CURL_CA_BUNDLE"
            : fmt::format("check the endpoint, the clock of this machine, and {}", ca.named_by));
  }
  if (const long status = TunnelRefusal(curl)) return TunnelError(status, server);
  if (SpeaksNoTls(code, words)) {
    return MakeError(ErrorCode::kFailedPrecondition, fmt::format("{} speaks no TLS", server),
                     "check the endpoint's scheme and port");
  }
  if (NeverSent(curl, code)) {
    return MakeError(ErrorCode::kUnavailable, fmt::format("cannot reach {}: {}", server, words),
                     IsProxyTrouble(code, words, url)
                         ? "check the network and the proxy (HTTPS_PROXY, ALL_PROXY)"
                         : "check the network and the endpoint's address");
  }
  return MakeError(ErrorCode::kReplyLost,
                   fmt::format("no whole answer from {}: {}", server, words));
}

}  // namespace

const std::string* Response::Header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) return &value;
  }
  return nullptr;
}

// Idle handles, each with its kept connections. The last one back is the first one out, so that
// few connections stay warm. Handles are never shared between threads, and there is no CURLSH.
class CurlTransport::Pool {
 public:
  Handle Take() {
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        Handle handle = std::move(idle_.back());
        idle_.pop_back();
        return handle;
      }
    }
    return Handle(curl_easy_init());
  }
  void GiveBack(Handle handle) {
    curl_easy_reset(handle.get());  // keeps the connections, forgets the pointers into the exchange
    std::lock_guard lock(mutex_);
    if (idle_.size() < kMaxIdleHandles) idle_.push_back(std::move(handle));
  }

 private:
  std::mutex mutex_;
  std::vector<Handle> idle_;
};

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

CaSettings FindSystemCa(FileSystem& files, std::string_view built_in) {
  // Debian and Arch; Red Hat and Fedora; SUSE; Alpine and the BSDs.
  constexpr const char* kBundles[] = {"/etc/ssl/certs/ca-certificates.crt",
                                      "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                      "/etc/ssl/cert.pem"};
  if (built_in.empty() || files.Stat(std::string(built_in))) return {};
  for (const char* bundle : kBundles) {
    if (files.Stat(bundle)) return {bundle, "", ""};
  }
  return {};
}

std::string_view BuiltInCa() {
  const char* file = curl_version_info(CURLVERSION_NOW)->cainfo;
  return file == nullptr ? "" : file;
}

CurlTransport::CurlTransport(std::string user_agent, CaSettings ca, ClientCertificate certificate)
    : user_agent_(std::move(user_agent)),
      ca_(std::move(ca)),
      certificate_(std::move(certificate)),
      pool_(std::make_unique<Pool>()) {
  // Once for the process, and not thread safe in older versions. Never undone: other libraries in
  // the process may use libcurl too.
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  PODCTL_CHECK(initialised == CURLE_OK);
}

CurlTransport::~CurlTransport() = default;

Result<Response> CurlTransport::Send(const Request& request, std::stop_token stop) {
  Result<Url> url = ParseUrl(request.url);
  if (!url) return url.error();
  if (stop.stop_requested()) return MakeError(ErrorCode::kCancelled, "stopped before sending");
  for (const auto& [name, value] : request.headers) {
    if (HasLineBreak(name) || HasLineBreak(value)) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("the header {} holds a line break", VisibleControls(name)));
    }
  }
  Handle handle = pool_->Take();
  if (!handle) return MakeError(ErrorCode::kUnavailable, "cannot make an HTTP connection");
  Exchange exchange;
  exchange.stop = stop;
  exchange.only_reads = request.method == "GET" || request.method == "HEAD";
  const HeaderList headers = MakeHeaders(request);
  SetOptions(handle.get(), request, *url, exchange);
  SetCertificates(handle.get(), ca_, certificate_);
  SetMethod(handle.get(), request, exchange);
  curl_easy_setopt(handle.get(), CURLOPT_USERAGENT, user_agent_.c_str());
  curl_easy_setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());

  const CURLcode code = curl_easy_perform(handle.get());
  // After an error the handle is destroyed, with its connections: their state is unknown.
  if (code != CURLE_OK) return ErrorOf(handle.get(), code, *url, exchange, ca_, certificate_);
  // libcurl takes a connection that closes among the headers for an answer without a body.
  if (!exchange.whole_head) {
    return ErrorOf(handle.get(), CURLE_PARTIAL_FILE, *url, exchange, ca_, certificate_);
  }
  long status = 0;
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  exchange.response.status = static_cast<int>(status);
  if (NamesEncoding(request)) UnpackError(&exchange.response);
  pool_->GiveBack(std::move(handle));
  return std::move(exchange.response);
}

}  // namespace podctl::http

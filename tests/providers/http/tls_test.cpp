// Whom a certificate is believed from, and how one gets out through a proxy: as curl's users know
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>

#include "providers/http/curl_transport.h"
#include "tests/providers/http/socket_server.h"
#include "tests/support/fake_file_system.h"

namespace podctl::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Peer;
using testing::SocketServer;

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// A context with a fresh key and a certificate for 127.0.0.1 and tpu.invalid that it signed itself;
// the certificate is written to `pem_file` where one is named.
std::unique_ptr<SSL_CTX, Free> SelfSigned(const std::string& pem_file = {}) {
  std::unique_ptr<EVP_PKEY, Free> key(EVP_EC_gen("P-256"));
  std::unique_ptr<X509, Free> certificate(X509_new());
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  const unsigned char host[] = "127.0.0.1";
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, host, -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  std::unique_ptr<X509_EXTENSION, Free> names(
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1,DNS:tpu.invalid"));
  X509_add_ext(certificate.get(), names.get(), -1);
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  if (!pem_file.empty()) {
    std::unique_ptr<std::FILE, Free> file(std::fopen(pem_file.c_str(), "w"));
    EXPECT_EQ(PEM_write_X509(file.get(), certificate.get()), 1);
  }
  std::unique_ptr<SSL_CTX, Free> context(SSL_CTX_new(TLS_server_method()));
  EXPECT_EQ(SSL_CTX_use_certificate(context.get(), certificate.get()), 1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey(context.get(), key.get()), 1);
  return context;
}

TEST(Tls, RefusesACertificateThatNobodyVouchesFor) {
  ::signal(SIGPIPE, SIG_IGN);  // the server's own: OpenSSL writes to a client that has gone
  const auto context = SelfSigned();
  std::atomic<int> bytes_of_request{0};
  SocketServer server([&](Peer& peer) {
    std::unique_ptr<SSL, Free> session(SSL_new(context.get()));
    SSL_set_fd(session.get(), peer.fd());
    if (SSL_accept(session.get()) != 1) return;
    char buffer[1024];
    const int count = SSL_read(session.get(), buffer, sizeof(buffer));
    if (count > 0) bytes_of_request += count;
  });
  {
    CurlTransport transport("podctl");
    Request request;
    request.url = "https" + server.Url().substr(4);
    request.headers = {{"Authorization", "Bearer secret"}};
    const auto response = transport.Send(request, {});
    ASSERT_FALSE(response.has_value());
    EXPECT_EQ(response.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_THAT(response.error().message, HasSubstr("is not trusted"));
    EXPECT_THAT(response.error().hint, HasSubstr("CA certificates"));
  }
  EXPECT_EQ(bytes_of_request, 0);
}

TEST(Tls, AServerThatSpeaksPlainHttpNeverSawTheRequest) {
  SocketServer server([](Peer& peer) {
    peer.Write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    peer.Close();
  });
  CurlTransport transport("podctl");
  Request request;
  request.url = "https" + server.Url().substr(4);
  const auto response = transport.Send(request, {});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(response.error().message, HasSubstr("speaks no TLS"));
}

// ---- Trusted servers.

// A server over TLS that answers every request with "trusted", and a file with its certificate.
class TrustTest : public ::testing::Test {
 protected:
  TrustTest() { ::signal(SIGPIPE, SIG_IGN); }
  ~TrustTest() override {
    std::filesystem::remove(pem_file_);
    for (const char* name : {"https_proxy", "HTTPS_PROXY", "ALL_PROXY", "no_proxy", "NO_PROXY"}) {
      ::unsetenv(name);
    }
  }

  void Serve(Peer& peer) {
    std::unique_ptr<SSL, Free> session(SSL_new(context_.get()));
    SSL_set_fd(session.get(), peer.fd());
    if (SSL_accept(session.get()) != 1) return;
    char buffer[4096];
    if (SSL_read(session.get(), buffer, sizeof(buffer)) <= 0) return;
    const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\ntrusted";
    SSL_write(session.get(), answer.data(), static_cast<int>(answer.size()));
    SSL_shutdown(session.get());
  }
  std::string Url() const { return "https" + server_.Url().substr(4); }
  static Result<Response> Get(const std::string& url, const CaSettings& ca) {
    CurlTransport transport("podctl", ca);
    Request request;
    request.url = url;
    return transport.Send(request, {});
  }

  const std::string pem_file_ =
      (std::filesystem::temp_directory_path() / ("podctl-ca-" + std::to_string(::getpid())))
          .string();
  const std::unique_ptr<SSL_CTX, Free> context_ = SelfSigned(pem_file_);
  SocketServer server_{[this](Peer& peer) { Serve(peer); }};
};

TEST_F(TrustTest, ANamedFileOfCertificatesIsBelieved) {
  const auto response = Get(Url(), {pem_file_, "", "CURL_CA_BUNDLE"});
  ASSERT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(response->body, "trusted");
}

TEST_F(TrustTest, AFileOfOtherCertificatesIsNamedInTheHint) {
  const std::string other = pem_file_ + "-other";
  SelfSigned(other);
  const auto response = Get(Url(), {other, "", "CURL_CA_BUNDLE"});
  std::filesystem::remove(other);
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(response.error().hint, HasSubstr("CURL_CA_BUNDLE"));
}

TEST_F(TrustTest, WhereOthersCanBeNamedIsToldWithoutAnyToo) {
  const auto response = Get(Url(), {"", "", "ETCDCTL_CACERT"});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(response.error().hint,
            "check the endpoint, the clock of this machine, and ETCDCTL_CACERT");
}

TEST_F(TrustTest, AFileThatCannotBeReadIsNamed) {
  const auto response = Get(Url(), {"/no/such/file", "", "SSL_CERT_FILE"});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(response.error().message,
            "the CA certificates in /no/such/file cannot be read (SSL_CERT_FILE)");
}

// ---- Proxies.

// A small HTTP proxy that knows CONNECT only, and takes every name for one server's.
class ConnectProxy {
 public:
  explicit ConnectProxy(const SocketServer& target)
      : port_(std::stoi(target.Url("").substr(target.Url("").rfind(':') + 1))) {}

  std::string Url() const { return server_.Url(""); }
  std::string seen() const {
    std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  void Serve(Peer& peer) {
    const std::string request = peer.ReadRequest();
    {
      std::lock_guard lock(mutex_);
      seen_ += request;
    }
    if (!request.starts_with("CONNECT ")) return;
    const int there = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(there, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
      peer.Write("HTTP/1.1 200 Connection established\r\n\r\n");
      Shuttle(peer.fd(), there);
    }
    ::close(there);
  }
  static void Shuttle(int here, int there) {
    for (;;) {
      pollfd polled[2] = {{here, POLLIN, 0}, {there, POLLIN, 0}};
      if (::poll(polled, 2, 20'000) <= 0) return;
      for (int i = 0; i < 2; ++i) {
        if (polled[i].revents == 0) continue;
        char buffer[16384];
        const ssize_t count = ::recv(polled[i].fd, buffer, sizeof(buffer), 0);
        if (count <= 0) return;
        (void)!::send(polled[1 - i].fd, buffer, static_cast<std::size_t>(count), MSG_NOSIGNAL);
      }
    }
  }

  const int port_;
  mutable std::mutex mutex_;
  std::string seen_;
  SocketServer server_{[this](Peer& peer) { Serve(peer); }};
};

TEST_F(TrustTest, GoesThroughAProxyWithItsPassword) {
  for (const char* variable : {"https_proxy", "HTTPS_PROXY", "ALL_PROXY"}) {
    ConnectProxy proxy(server_);
    ::setenv(variable, ("http://me:pass@" + proxy.Url().substr(7)).c_str(), 1);
    const auto response = Get("https://tpu.invalid/v2", {pem_file_, "", "CURL_CA_BUNDLE"});
    ::unsetenv(variable);
    ASSERT_TRUE(response.has_value()) << variable << ": " << response.error().message;
    EXPECT_EQ(response->body, "trusted");
    EXPECT_THAT(proxy.seen(), HasSubstr("CONNECT tpu.invalid:443 HTTP/1.1\r\n"));
    EXPECT_THAT(proxy.seen(), HasSubstr("Proxy-Authorization: Basic bWU6cGFzcw==\r\n"));
  }
}

TEST_F(TrustTest, NoProxyAndDirectRequestsPassByTheProxy) {
  ConnectProxy proxy(server_);
  ::setenv("HTTPS_PROXY", proxy.Url().c_str(), 1);
  ::setenv("NO_PROXY", "example.com,.invalid", 1);
  EXPECT_FALSE(Get("https://tpu.invalid/v2", {pem_file_, "", ""}).has_value());
  ::unsetenv("NO_PROXY");
  CurlTransport transport("podctl");
  Request request;
  request.url = "https://tpu.invalid/v2";
  request.no_proxy = true;
  EXPECT_FALSE(transport.Send(request, {}).has_value());
  EXPECT_EQ(proxy.seen(), "");
}

TEST_F(TrustTest, AProxyThatRefusesIsToldWithoutItsPassword) {
  SocketServer proxy([](Peer& peer) {
    peer.ReadRequest();
    peer.Answer("", "Proxy-Authenticate: Basic realm=\"x\"\r\n",
                "407 Proxy Authentication Required");
  });
  ::setenv("HTTPS_PROXY", ("http://me:top-secret@" + proxy.Url("").substr(7)).c_str(), 1);
  const auto response = Get("https://tpu.invalid/v2", {});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kFailedPrecondition);  // nothing was sent
  EXPECT_EQ(response.error().message, "the proxy makes no way to tpu.invalid: HTTP status 407");
  EXPECT_THAT(response.error().hint, HasSubstr("USER:PASSWORD"));
  EXPECT_THAT(response.error().message + response.error().hint, Not(HasSubstr("top-secret")));
}

TEST_F(TrustTest, ATunnelThatFailsForNowMayBeTriedAgain) {
  SocketServer proxy([](Peer& peer) {
    peer.ReadRequest();
    peer.Answer("", "", "503 Service Unavailable");
  });
  ::setenv("HTTPS_PROXY", proxy.Url("").c_str(), 1);
  EXPECT_EQ(Get("https://tpu.invalid/v2", {}).error().code, ErrorCode::kUnavailable);
}

TEST_F(TrustTest, AProxyThatIsNotThereIsNamedInTheHint) {
  ::setenv("HTTPS_PROXY", "http://127.0.0.1:1", 1);
  const auto response = Get("https://tpu.invalid/v2", {});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(response.error().hint, HasSubstr("HTTPS_PROXY"));
}

TEST(CaSettings, TheVariablesOfCurlComeFirst) {
  std::map<std::string, std::string> variables = {{"REQUESTS_CA_BUNDLE", "/requests"}};
  const auto find = [&] { return FindCaSettings(FixedEnvironment(variables)); };
  EXPECT_EQ(find().file, "/requests");
  EXPECT_EQ(find().named_by, "REQUESTS_CA_BUNDLE");
  variables["SSL_CERT_DIR"] = "/folder";
  EXPECT_EQ(find().file, "");
  EXPECT_EQ(find().folder, "/folder");
  variables["SSL_CERT_FILE"] = "/openssl";
  EXPECT_EQ(find().file, "/openssl");
  EXPECT_EQ(find().folder, "/folder");
  variables["CURL_CA_BUNDLE"] = "/curl";
  EXPECT_EQ(find().file, "/curl");
  EXPECT_EQ(find().folder, "");
  variables = {{"CURL_CA_BUNDLE", ""}};
  EXPECT_TRUE(find().empty());
}

TEST(CaSettings, OnAnotherSystemItsOwnAreFound) {
  constexpr const char* kOfDebian = "/etc/ssl/certs/ca-certificates.crt";
  constexpr const char* kOfFedora = "/etc/pki/tls/certs/ca-bundle.crt";
  testing::FakeFileSystem files;
  EXPECT_TRUE(FindSystemCa(files, kOfDebian).empty()) << "libcurl says what is missing";
  files.SetFile(kOfFedora, "certificates");
  EXPECT_EQ(FindSystemCa(files, kOfDebian).file, kOfFedora);
  EXPECT_TRUE(FindSystemCa(files, "").empty()) << "built for something else than files";
  files.SetFile(kOfDebian, "certificates");
  EXPECT_TRUE(FindSystemCa(files, kOfDebian).empty()) << "libcurl finds them by itself";
}

}  // namespace
}  // namespace podctl::http

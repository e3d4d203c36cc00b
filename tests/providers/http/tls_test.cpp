// A server with a certificate that nobody vouches for is not talked to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <atomic>
#include <csignal>
#include <memory>

#include "providers/http/curl_transport.h"
#include "tests/providers/http/socket_server.h"

namespace podctl::http {
namespace {

using ::testing::HasSubstr;
using testing::Peer;
using testing::SocketServer;

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
};

// A context with a fresh key and a certificate for 127.0.0.1 that it signed itself.
std::unique_ptr<SSL_CTX, Free> SelfSigned() {
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
  X509_sign(certificate.get(), key.get(), EVP_sha256());
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
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace podctl::http

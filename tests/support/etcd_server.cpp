#include "tests/support/etcd_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "providers/http/curl_transport.h"
#include "tests/support/free_port.h"

namespace podctl::testing {
namespace {

constexpr std::chrono::seconds kComesUpWithin{60};
constexpr int kTries = 5;  // another process may take the port between our look and etcd's

bool IsInPath(const std::string& program) {
  std::istringstream path(std::getenv("PATH") == nullptr ? "" : std::getenv("PATH"));
  for (std::string folder; std::getline(path, folder, ':');) {
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<EtcdServer> EtcdServer::Start(const Options& options) {
  if (!IsInPath("etcd")) {
    ADD_FAILURE() << "the program etcd is not installed: apt-get install etcd-server";
    return nullptr;
  }
  std::unique_ptr<EtcdServer> server(new EtcdServer());
  server->options_ = options;
  std::string pattern = (std::filesystem::temp_directory_path() / "podctl-etcd-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    ADD_FAILURE() << "no folder for etcd could be made";
    return nullptr;
  }
  server->folder_ = pattern;
  if (options.tls) {
    const std::string command = fmt::format(
        "cd '{}' && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 "
        "-keyout key.pem -out cert.pem -subj /CN=podctl -addext subjectAltName=IP:127.0.0.1 "
        ">openssl.log 2>&1",
        server->folder_);
    EXPECT_EQ(std::system(command.c_str()), 0) << "openssl made no certificate";
  }
  for (int i = 0; i < kTries; ++i) {
    server->port_ = FreePort();
    server->peer_port_ = FreePort();
    server->Launch();
    if (server->IsUp()) return server;
    server->Kill();
    std::filesystem::remove_all(server->folder_ + "/data");
  }
  ADD_FAILURE() << "etcd does not come up: " << server->Log();
  return nullptr;
}

EtcdServer::~EtcdServer() {
  Kill();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void EtcdServer::Launch() {
  const std::string own = fmt::format("{}://127.0.0.1:{}", options_.tls ? "https" : "http", port_);
  const std::string peer = fmt::format("http://127.0.0.1:{}", peer_port_);
  std::vector<std::string> words = {"etcd",
                                    "--data-dir=" + folder_ + "/data",
                                    "--listen-client-urls=" + own,
                                    "--advertise-client-urls=" + own,
                                    "--listen-peer-urls=" + peer,
                                    "--initial-advertise-peer-urls=" + peer,
                                    "--initial-cluster=default=" + peer};
  if (options_.tls) {
    words.insert(words.end(), {"--client-cert-auth", "--trusted-ca-file=" + CertificateFile(),
                               "--cert-file=" + CertificateFile(), "--key-file=" + KeyFile()});
  }
  words.insert(words.end(), options_.flags.begin(), options_.flags.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string log = folder_ + "/log";
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ != 0) return;
  // Whoever kills the test leaves no server behind.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(fd, 1);
  ::dup2(fd, 2);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

bool EtcdServer::IsUp() {
  http::CaSettings ca;
  http::ClientCertificate client;
  if (options_.tls) {
    ca = {CertificateFile(), "", "the test"};
    client = {CertificateFile(), KeyFile(), "the test"};
  }
  http::CurlTransport transport("podctl-test", ca, client);
  http::Request request;
  request.method = "POST";
  request.url = fmt::format("{}://{}/v3/kv/range", options_.tls ? "https" : "http", Address());
  request.headers = {{"Content-Type", "application/json"}};
  request.body = R"({"key":"YQ=="})";
  request.timeout = std::chrono::seconds(5);
  const auto end = std::chrono::steady_clock::now() + kComesUpWithin;
  while (std::chrono::steady_clock::now() < end) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return false;
    }
    const auto answer = transport.Send(request, {});
    // Whom it refuses, it has heard.
    if (answer && answer->status < 500) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

void EtcdServer::Kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

bool EtcdServer::Restart() {
  Kill();
  Launch();
  return IsUp();
}

std::string EtcdServer::Log() const {
  std::ifstream file(folder_ + "/log");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string EtcdServer::Ask(const std::string& path, const std::string& json,
                            const std::string& token) {
  http::CurlTransport transport("podctl-test");
  http::Request request;
  request.method = "POST";
  request.url = fmt::format("http://{}/v3/{}", Address(), path);
  request.headers = {{"Content-Type", "application/json"}};
  if (!token.empty()) request.headers.emplace_back("Authorization", token);
  request.body = json;
  const auto answer = transport.Send(request, {});
  if (answer && answer->status == 200) return answer->body;
  ADD_FAILURE() << path << ": " << (answer ? answer->body : answer.error().message);
  return {};
}

}  // namespace podctl::testing

// A world for credentials: files in memory, a clock that is moved by hand, and a server on loopback
// that stands for all of Google's hosts and keeps every request, to be checked.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/gcp/credentials/credentials.h"
#include "providers/http/curl_transport.h"
#include "tests/providers/gcp/fake_gcloud.h"
#include "tests/providers/http/socket_server.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_file_system.h"

namespace podctl::testing {

inline std::string PercentDecode(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      plain += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      plain += text[i] == '+' ? ' ' : text[i];
    }
  }
  return plain;
}

struct SeenRequest {
  std::string method;
  std::string host;  // that the client meant: "oauth2.googleapis.com"
  std::string path;  // with its query
  std::map<std::string, std::string> headers;
  std::string body;

  std::string Header(const std::string& lower_case_name) const {
    const auto it = headers.find(lower_case_name);
    return it == headers.end() ? "" : it->second;
  }
  std::map<std::string, std::string> Form() const {
    std::map<std::string, std::string> form;
    for (std::string_view rest = body; !rest.empty();) {
      const std::string pair(rest.substr(0, rest.find('&')));
      rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
      const auto equals = pair.find('=');
      form[PercentDecode(pair.substr(0, equals))] = PercentDecode(pair.substr(equals + 1));
    }
    return form;
  }
};

struct ServerAnswer {
  std::string body = "{}";
  std::string status = "200 OK";
  std::string headers = {};
};

class TokenServer {
 public:
  using Handler = std::function<ServerAnswer(const SeenRequest&)>;

  // Answers are given in turn; the last one again and again.
  void Then(ServerAnswer answer) {
    Then([answer](const SeenRequest&) { return answer; });
  }
  void Then(Handler handler) {
    std::lock_guard lock(mutex_);
    handlers_.push_back(std::move(handler));
  }
  std::vector<SeenRequest> seen() const {
    std::lock_guard lock(mutex_);
    return seen_;
  }
  std::string Url(const std::string& path) const { return server_.Url(path); }

 private:
  void Serve(Peer& peer) {
    for (std::string text = peer.ReadRequest(); !text.empty(); text = peer.ReadRequest()) {
      const SeenRequest request = Parse(text);
      Handler handler;
      {
        std::lock_guard lock(mutex_);
        seen_.push_back(request);
        const std::size_t turn = std::min(seen_.size(), handlers_.size());
        if (turn > 0) handler = handlers_[turn - 1];
      }
      const ServerAnswer answer =
          handler ? handler(request) : ServerAnswer{"{}", "404 Not Found", {}};
      peer.Answer(answer.body, answer.headers, answer.status);
    }
  }

  static SeenRequest Parse(const std::string& text) {
    SeenRequest request;
    const auto end = text.find("\r\n\r\n");
    request.body = text.substr(end + 4);
    const std::vector<std::string> lines = SplitLines(text.substr(0, end));
    const std::string& first = lines.at(0);
    request.method = first.substr(0, first.find(' '));
    request.path = first.substr(request.method.size() + 1);
    request.path.resize(request.path.find(' '));
    if (request.path.starts_with("/for/")) {  // Detour
      request.host = request.path.substr(5, request.path.find('/', 5) - 5);
      request.path = request.path.substr(5 + request.host.size());
    }
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const auto colon = lines[i].find(':');
      std::string name = lines[i].substr(0, colon);
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      request.headers[name] = TrimBlanks(std::string_view(lines[i]).substr(colon + 1));
    }
    return request;
  }

  mutable std::mutex mutex_;
  std::vector<Handler> handlers_;
  std::vector<SeenRequest> seen_;
  SocketServer server_{[this](Peer& peer) { Serve(peer); }};
};

// The way to the token server for whoever means a host of Google's or AWS's.
class Detour final : public http::Transport {
 public:
  explicit Detour(const TokenServer& server) : server_(server) {}

  Result<http::Response> Send(const http::Request& request, std::stop_token stop) override {
    http::Request there = request;
    const auto begin = request.url.find("://") + 3;
    if (!request.url.starts_with("http://127.0.0.1")) {
      there.url = server_.Url("/for/" + request.url.substr(begin));
    }
    if (request.no_proxy) ++direct_;
    return curl_.Send(there, stop);
  }
  int direct() const { return direct_; }  // how many were to pass by every proxy

 private:
  const TokenServer& server_;
  std::atomic<int> direct_{0};
  http::CurlTransport curl_{"podctl-test"};
};

class TokenWorld : public ::testing::Test {
 protected:
  static constexpr const char* kKeyFile = "/home/alice/key.json";

  gcp::CredentialDoors Doors() { return {environment_, files_, gcloud_, http_, clock_, random_}; }
  void SetVariables(std::map<std::string, std::string> variables) {
    variables.try_emplace("NO_GCE_CHECK", "true");
    environment_ = FixedEnvironment(std::move(variables));
  }
  // The file that GOOGLE_APPLICATION_CREDENTIALS names.
  void UseFile(const Value& content, std::map<std::string, std::string> more = {}) {
    files_.SetFolder("/home/alice");
    files_.SetFile(kKeyFile, ToJson(content));
    more["GOOGLE_APPLICATION_CREDENTIALS"] = kKeyFile;
    SetVariables(std::move(more));
  }
  // How the next question fails: a failure is told for three seconds.
  Error FailureOf(gcp::Credentials& credentials) {
    clock_.Advance(std::chrono::seconds(3));
    return credentials.Token().error();
  }
  static std::string AllTextOf(const Error& error) { return error.message + "\n" + error.hint; }

  FixedEnvironment environment_{{{"NO_GCE_CHECK", "true"}}};
  FakeFileSystem files_;
  FakeGcloud gcloud_;
  TokenServer server_;
  Detour http_{server_};
  FakeClock clock_;
  FakeRandom random_;
};

}  // namespace podctl::testing

#include "tests/providers/emulator/api_client.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <thread>

#include "providers/base/json.h"

namespace podctl::emulator::testing {

struct ApiClient::Core {
  explicit Core(const std::string& url) : client(url) {}
  httplib::Client client;
};

ApiClient::ApiClient(const std::string& url) : core_(std::make_unique<Core>(url)) {
  core_->client.set_read_timeout(30, 0);
  core_->client.set_keep_alive(true);
  core_->client.set_tcp_nodelay(true);  // headers and body go in two writes
}

ApiClient::~ApiClient() = default;

Reply ApiClient::Send(const std::string& method, const std::string& path, const std::string& body) {
  std::map<std::string, std::string> headers;
  if (!body.empty()) headers["Content-Type"] = "application/json";
  return SendWith(headers, method, path, body);
}

Reply ApiClient::SendWith(const std::map<std::string, std::string>& headers,
                          const std::string& method, const std::string& path,
                          const std::string& body) {
  httplib::Request request;
  request.method = method;
  request.path = path;
  request.body = body;
  for (const auto& [name, value] : headers) request.headers.emplace(name, value);
  // A cpp-httplib that can unpack gzip would ask for it, and unpack what comes.
  request.headers.emplace("Accept-Encoding", "identity");
  const httplib::Result result = core_->client.send(request);
  Reply reply;
  if (!result) return reply;
  reply.status = result->status;
  reply.text = result->body;
  reply.body = ParseJson(result->body).value_or(Value());
  for (const auto& [name, value] : result->headers) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    reply.headers[lower] = value;
  }
  return reply;
}

Value ApiClient::Finish(const Reply& reply) {
  const std::string& name = reply.body["name"].AsString();
  EXPECT_EQ(reply.status, 200) << reply.text;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (reply.status == 200 && std::chrono::steady_clock::now() < limit) {
    const Reply operation = Send("GET", "/v2/" + name);
    EXPECT_EQ(operation.status, 200) << operation.text;
    if (operation.status != 200 || operation.body["done"].AsBool()) return operation.body;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // as any client of operations
  }
  return {};
}

}  // namespace podctl::emulator::testing

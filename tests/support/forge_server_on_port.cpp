#include <httplib.h>

#include <cctype>
#include <thread>

#include "tests/support/forge_server.h"

namespace podctl::testing {

struct ForgeServerOnPort::Parts {
  httplib::Server http;
  std::thread thread;
};

ForgeServerOnPort::ForgeServerOnPort(ForgeServer& server) : parts_(std::make_unique<Parts>()) {
  const auto answer = [&server](const httplib::Request& request, httplib::Response& response) {
    std::map<std::string, std::string> headers;
    for (const auto& [name, value] : request.headers) {
      std::string lower = name;
      for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      headers[lower] = value;
    }
    const auto told = server.Answer(request.method, request.target, headers, request.body);
    response.status = told.status;
    response.set_content(told.body, "application/json");
  };
  parts_->http.Get(".*", answer);
  parts_->http.Post(".*", answer);
  parts_->http.Put(".*", answer);
  parts_->http.Patch(".*", answer);
  parts_->http.set_keep_alive_max_count(1);
  const int port = parts_->http.bind_to_any_port("127.0.0.1");
  url_ = "http://127.0.0.1:" + std::to_string(port);
  parts_->thread = std::thread([this] { parts_->http.listen_after_bind(); });
  while (!parts_->http.is_running()) std::this_thread::yield();
}

ForgeServerOnPort::~ForgeServerOnPort() {
  parts_->http.stop();
  parts_->thread.join();
}

}  // namespace podctl::testing

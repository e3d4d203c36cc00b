// A server on a loopback socket whose every byte the test decides: the wire's own faults.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace podctl::testing {

// One accepted connection, in the hands of the test.
class Peer {
 public:
  explicit Peer(int fd) : fd_(fd) {}
  ~Peer() { Close(); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  int fd() const { return fd_; }

  // Reads one request: head and, by its Content-Length, body. "" when the client has gone.
  std::string ReadRequest() {
    std::string text;
    for (;;) {
      const auto end = text.find("\r\n\r\n");
      if (end != std::string::npos && text.size() >= end + 4 + BodyBytes(text)) return text;
      char buffer[4096];
      const ssize_t count = ::recv(fd_, buffer, sizeof(buffer), 0);
      if (count <= 0) return {};
      text.append(buffer, static_cast<std::size_t>(count));
    }
  }
  void Write(const std::string& text) {
    (void)!::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
  }
  void Answer(const std::string& body, const std::string& more_headers = {},
              const std::string& status = "200 OK") {
    Write("HTTP/1.1 " + status + "\r\n" + more_headers +
          "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  void Reset() {  // RST in place of FIN
    const linger hard{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    Close();
  }

 private:
  static std::size_t BodyBytes(const std::string& text) {
    const auto at = text.find("Content-Length: ");
    return at == std::string::npos ? 0 : std::stoul(text.substr(at + 16));
  }
  int fd_;
};

// Serves each connection by `serve`, on a thread of its own. To be made before the client, so that
// the client is gone when the connections are waited for.
class SocketServer {
 public:
  explicit SocketServer(std::function<void(Peer&)> serve) : serve_(std::move(serve)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](std::stop_token stop) { Run(stop); });
  }
  ~SocketServer() {
    thread_.request_stop();
    thread_.join();
    peers_.clear();  // joins
    ::close(listener_);
  }

  std::string Url(const std::string& path = "/") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  int Connections() const { return connections_; }

 private:
  void Run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd polled{listener_, POLLIN, 0};
      if (::poll(&polled, 1, 10) != 1) continue;
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      // No test may hang for longer than this on a client that says nothing.
      const timeval limit{20, 0};
      ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
      ++connections_;
      peers_.emplace_back([this, fd] {
        Peer peer(fd);
        serve_(peer);
      });
    }
  }

  std::function<void(Peer&)> serve_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> connections_{0};
  std::vector<std::jthread> peers_;  // touched by thread_ while it runs
  std::jthread thread_;
};

}  // namespace podctl::testing

#include "tests/bench/relay.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "providers/base/text.h"
#include "tests/bench/workbench.h"

namespace podctl::bench {
namespace {

constexpr std::size_t kPiece = 65536;

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

void SendAtOnce(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

void RequestStream::Feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (at_ == At::kBody || at_ == At::kChunk) {
      const auto some = std::min<std::size_t>(bytes.size(), static_cast<std::size_t>(left_));
      bytes.remove_prefix(some);
      left_ -= static_cast<std::int64_t>(some);
      body_bytes_ += static_cast<std::int64_t>(some);
      if (left_ == 0) at_ = at_ == At::kBody ? At::kHead : At::kChunkSize;
      continue;
    }
    const char next = bytes.front();
    bytes.remove_prefix(1);
    if (next == '\n') {
      EndLine();
      line_.clear();
    } else if (next != '\r') {
      line_ += next;
    }
  }
}

void RequestStream::EndLine() {
  if (at_ == At::kChunkSize) {
    if (line_.empty()) return;  // behind the chunk before it
    left_ = std::strtoll(line_.c_str(), nullptr, 16);
    at_ = left_ == 0 ? At::kTrailers : At::kChunk;
  } else if (at_ == At::kTrailers) {
    if (line_.empty()) at_ = At::kHead;
  } else if (line_.empty()) {
    if (in_head_) EndHead();
  } else {
    in_head_ = true;
    const std::string lower = LowerCase(line_);
    const std::string_view value = std::string_view(lower).substr(lower.find(':') + 1);
    if (lower.starts_with("content-length:")) left_ = std::atoll(std::string(value).c_str());
    if (lower.starts_with("transfer-encoding:")) chunked_ = value.find("chunked") != value.npos;
  }
}

void RequestStream::EndHead() {
  in_head_ = false;
  if (std::exchange(chunked_, false)) {
    at_ = At::kChunkSize;
  } else if (left_ > 0) {
    at_ = At::kBody;
  }
}

// Shared with the threads of connections, which may outlive the relay by a moment.
struct Relay::Parts {
  int listener = -1;
  int port = 0;
  int server_port = 0;
  std::chrono::milliseconds delay{0};
  std::thread acceptor;
  std::atomic<bool> ends = false;
  std::mutex mutex;
  Count count;         // guarded
  std::set<int> open;  // guarded; clients' ends

  void Accept(const std::shared_ptr<Parts>& self);
  void Carry(int client);
  bool CarryPiece(int client, int server, RequestStream* stream);
};

bool Relay::Parts::CarryPiece(int client, int server, RequestStream* stream) {
  std::array<char, kPiece> piece{};
  const ssize_t got = recv(client, piece.data(), piece.size(), 0);
  if (got <= 0) return false;
  const bool begins = stream->IsBetween();
  const std::int64_t before = stream->body_bytes();
  stream->Feed({piece.data(), static_cast<std::size_t>(got)});
  {
    const std::lock_guard guard(mutex);
    if (begins) ++count.requests;
    count.bytes += stream->body_bytes() - before;
  }
  std::string bytes(piece.data(), static_cast<std::size_t>(got));
  if (begins) {
    std::this_thread::sleep_for(delay);
    // A server may answer to its own name alone. Every client sends it in the first piece.
    const std::string own = "127.0.0.1:" + std::to_string(port);
    const std::size_t at = LowerCase(bytes).find("\nhost: " + own + "\r");
    if (at != std::string::npos) {
      bytes.replace(at + 7, own.size(), "127.0.0.1:" + std::to_string(server_port));
    }
  }
  return SendAll(server, bytes);
}

void Relay::Parts::Carry(int client) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(server_port);
  bool goes_on = connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  SendAtOnce(server);
  SendAtOnce(client);
  RequestStream stream;
  std::array<char, kPiece> piece{};
  while (goes_on) {
    std::array<pollfd, 2> ready = {{{client, POLLIN, 0}, {server, POLLIN, 0}}};
    if (poll(ready.data(), ready.size(), -1) < 0) break;
    if (ready[1].revents != 0) {
      const ssize_t got = recv(server, piece.data(), piece.size(), 0);
      goes_on = got > 0 && SendAll(client, {piece.data(), static_cast<std::size_t>(got)});
    }
    if (goes_on && ready[0].revents != 0) goes_on = CarryPiece(client, server, &stream);
  }
  close(server);
  const std::lock_guard guard(mutex);
  open.erase(client);
  close(client);
}

void Relay::Parts::Accept(const std::shared_ptr<Parts>& self) {
  while (!ends) {
    const int client = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    const std::lock_guard guard(mutex);
    if (ends) {
      close(client);
      return;
    }
    ++count.connections;
    open.insert(client);
    std::thread([self, client] { self->Carry(client); }).detach();
  }
}

Relay::Relay(int server_port, std::chrono::milliseconds delay) : parts_(std::make_shared<Parts>()) {
  parts_->server_port = server_port;
  parts_->delay = delay;
  parts_->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof(address);
  if (bind(parts_->listener, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      listen(parts_->listener, 64) != 0 ||
      getsockname(parts_->listener, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    Fail("cannot listen on loopback");
  }
  parts_->port = ntohs(address.sin_port);
  parts_->acceptor = std::thread([parts = parts_] { parts->Accept(parts); });
}

Relay::~Relay() {
  parts_->ends = true;
  shutdown(parts_->listener, SHUT_RDWR);
  parts_->acceptor.join();
  close(parts_->listener);
  const std::lock_guard guard(parts_->mutex);
  for (const int client : parts_->open) shutdown(client, SHUT_RDWR);
}

int Relay::port() const {
  return parts_->port;
}

Relay::Count Relay::Take() {
  const std::lock_guard guard(parts_->mutex);
  return std::exchange(parts_->count, {});
}

}  // namespace podctl::bench

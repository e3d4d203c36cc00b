#include "providers/emulator/http_server.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fmt/format.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace podctl::emulator {
namespace {

// A kept-alive connection holds one, and podctl may keep 256 (--parallelism).
constexpr std::size_t kThreads = 320;
constexpr std::size_t kMaxBody = std::size_t{8} << 20;
constexpr int kKeepAliveSeconds = 10;
constexpr int kReadSeconds = 30;
constexpr std::size_t kRequestsPerConnection = 1'000'000;

bool IsLoopback(const std::string& host) {
  if (host == "localhost" || host == "::1") return true;
  in_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24U) == 127;
}

int PortOf(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
  }
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  }
  return -1;
}

// Shuts the accepted sockets of `port`; with a peer's port, only the one that it is connected to.
// The library lends no socket to a handler, so it is looked up among the open files.
void CutConnections(int port, int peer_port) {
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return;
  while (const dirent* entry = ::readdir(folder)) {
    int file = -1;
    const char* const end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, file).ptr != end) continue;
    sockaddr_storage own{};
    sockaddr_storage peer{};
    socklen_t own_size = sizeof own;
    socklen_t peer_size = sizeof peer;
    if (::getsockname(file, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
        ::getpeername(file, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) {
      continue;  // no socket, or the listening one
    }
    if (PortOf(own) == port && (peer_port == 0 || PortOf(peer) == peer_port)) {
      ::shutdown(file, SHUT_RDWR);
    }
  }
  ::closedir(folder);
}

}  // namespace

struct HttpServer::Core {
  httplib::Server server;
  int port = 0;
  Handler handler;
  std::mutex mutex;
  std::condition_variable wake;  // ends a delay when the server stops
  bool stopping = false;
  std::atomic<bool> ended = false;  // the listening thread is past its loop
  std::thread thread;

  httplib::Server::HandlerResponse Answer(const httplib::Request& from, httplib::Response& to);
};

httplib::Server::HandlerResponse HttpServer::Core::Answer(const httplib::Request& from,
                                                          httplib::Response& to) {
  HttpRequest request{.method = from.method, .path = from.path, .query = {}, .body = from.body};
  for (const auto& [name, value] : from.params) request.query[name] = value;
  const HttpReply reply = handler(request);
  if (reply.delay.count() > 0) {
    std::unique_lock lock(mutex);
    wake.wait_for(lock, reply.delay, [this] { return stopping; });
  }
  if (reply.drop) CutConnections(port, from.remote_port);
  to.status = reply.status;
  if (reply.cut_after >= 0) {
    const std::size_t kept = std::min(static_cast<std::size_t>(reply.cut_after), reply.body.size());
    // The connection ends when the provider gives up, short of the length that was promised.
    to.set_content_provider(std::max<std::size_t>(reply.body.size(), kept + 1), reply.content_type,
                            [text = reply.body.substr(0, kept)](std::size_t offset, std::size_t,
                                                                httplib::DataSink& sink) {
                              if (offset >= text.size()) return false;
                              return sink.write(text.data() + offset, text.size() - offset);
                            });
    return httplib::Server::HandlerResponse::Handled;
  }
  to.set_content(reply.body, reply.content_type);
  return httplib::Server::HandlerResponse::Handled;
}

HttpServer::HttpServer(std::unique_ptr<Core> core) : core_(std::move(core)) {}

HttpServer::~HttpServer() {
  Stop();
}

Result<std::unique_ptr<HttpServer>> HttpServer::Listen(const std::string& host, int port) {
  if (!IsLoopback(host)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("the emulator listens on loopback only, and {} is not", host),
                     "it asks nobody for credentials; use 127.0.0.1");
  }
  auto core = std::make_unique<Core>();
  httplib::Server& server = core->server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server.set_keep_alive_timeout(kKeepAliveSeconds);
  server.set_keep_alive_max_count(kRequestsPerConnection);
  server.set_read_timeout(kReadSeconds, 0);
  server.set_write_timeout(kReadSeconds, 0);
  server.set_payload_max_length(kMaxBody);
  server.set_tcp_nodelay(true);
  // The library's default, SO_REUSEPORT, would let two emulators share a port unnoticed.
  server.set_socket_options([](socket_t socket) {
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  });
  const bool bound =
      port == 0 ? (port = server.bind_to_any_port(host)) > 0 : server.bind_to_port(host, port);
  if (!bound) {
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("cannot listen on {}:{}: {}", host, port, std::strerror(errno)),
                     "is another emulator running? choose another port with --listen");
  }
  core->port = port;
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(core)));
}

int HttpServer::port() const {
  return core_->port;
}

void HttpServer::Serve(Handler handler) {
  Core* const core = core_.get();
  core->handler = std::move(handler);
  const auto answer = [core](const httplib::Request& from, httplib::Response& to) {
    core->Answer(from, to);
  };
  // `curl -X POST` says nothing of a body, which means that there is none (RFC 9112, 6.3); the
  // library would wait for the connection's end.
  core->server.set_pre_routing_handler([core](const httplib::Request& from, httplib::Response& to) {
    const bool has_body = from.has_header("Content-Length") || from.has_header("Transfer-Encoding");
    if (has_body || from.method == "GET" || from.method == "HEAD") {
      return httplib::Server::HandlerResponse::Unhandled;
    }
    return core->Answer(from, to);
  });
  core->server.Get(".*", answer);
  core->server.Post(".*", answer);
  core->server.Patch(".*", answer);
  core->server.Delete(".*", answer);
  core->server.Put(".*", answer);
  core->thread = std::thread([core] {
    core->server.listen_after_bind();
    core->ended = true;
  });
}

void HttpServer::Stop() {
  Core* const core = core_.get();
  {
    std::lock_guard lock(core->mutex);
    if (core->stopping) return;
    core->stopping = true;
  }
  core->wake.notify_all();
  // The library closes the listening socket only at the end of its loop, so that must run once.
  if (!core->thread.joinable()) {
    Serve([](const HttpRequest&) { return HttpReply{.status = 503}; });
  }
  // stop() is heard only by a server that has begun; it begins at once.
  while (!core->server.is_running() && !core->ended) std::this_thread::yield();
  core->server.stop();
  // Connections that wait for a next request would hold their threads for the keep-alive time.
  std::atomic<bool> joined = false;
  std::thread cutter([&] {
    while (!joined) {
      CutConnections(core->port, 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  core->thread.join();
  joined = true;
  cutter.join();
}

}  // namespace podctl::emulator

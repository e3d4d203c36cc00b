#include "providers/emulator/api/http_server.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <httplib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "providers/base/json.h"
#include "providers/emulator/names.h"

namespace podctl::emulator {
namespace {

// A request that waits holds one, and podctl may send 256 at once (--parallelism).
constexpr std::size_t kHttpThreads = 320;
// From so many on, connections of strangers are cut: each holds a thread for as long as it sends a
// byte now and then, and whose it is is asked only when its request is there. So are those that
// have been silent for a while, whoever's they are.
constexpr int kCrowd = 288;
constexpr unsigned kSilentMs = 1000;
constexpr int kQueue = 1024;  // of connections that no thread has taken yet
constexpr std::size_t kMaxBody = std::size_t{8} << 20;
// Of an upload to Cloud Storage: the largest object, and what is told about it.
constexpr std::size_t kMaxUpload = (std::size_t{64} << 20) + (std::size_t{64} << 10);
constexpr int kFirstByteSeconds = 5;
constexpr int kReadSeconds = 30;
// What follows a refused request on its connection may be its body, which a page in a browser may
// have written as another request, under a Host and without an Origin of its own choice. So nothing
// that follows is ever read.
constexpr std::size_t kRequestsPerConnection = 1;

std::optional<End> EndOf(const sockaddr_storage& name) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (name.ss_family == AF_INET) {
    const auto& address = reinterpret_cast<const sockaddr_in&>(name);
    ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
    return End{text.data(), ntohs(address.sin_port)};
  }
  if (name.ss_family == AF_INET6) {
    const auto& address = reinterpret_cast<const sockaddr_in6&>(name);
    ::inet_ntop(AF_INET6, &address.sin6_addr, text.data(), text.size());
    return End{text.data(), ntohs(address.sin6_port)};
  }
  return std::nullopt;
}

// Shuts the accepted sockets of `port` for which `is_to_go(peer, own, socket)`. The library lends
// no socket to a handler, so they are looked up among the open files.
template <typename Rule>
void CutConnections(int port, const Rule& is_to_go) {
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return;
  while (const dirent* entry = ::readdir(folder)) {
    int number = -1;
    if (!ReadNumber(entry->d_name, &number)) continue;
    // One's own name for it: the number may be another file's before the rule has answered.
    const int file = ::fcntl(number, F_DUPFD_CLOEXEC, 0);
    if (file < 0) continue;
    sockaddr_storage own_name{};
    sockaddr_storage peer_name{};
    socklen_t own_size = sizeof own_name;
    socklen_t peer_size = sizeof peer_name;
    // Else it is no socket, or the listening one.
    if (::getsockname(file, reinterpret_cast<sockaddr*>(&own_name), &own_size) == 0 &&
        ::getpeername(file, reinterpret_cast<sockaddr*>(&peer_name), &peer_size) == 0) {
      const auto own = EndOf(own_name);
      const auto peer = EndOf(peer_name);
      if (own && peer && own->port == port && is_to_go(*peer, *own, file))
        ::shutdown(file, SHUT_RDWR);
    }
    ::close(file);
  }
  ::closedir(folder);
}

// Whether nothing has come for a while, and nothing waits to be read.
bool IsSilent(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  int unread = 0;
  return ::ioctl(socket, FIONREAD, &unread) == 0 && unread == 0 &&
         ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         info.tcpi_last_data_recv > kSilentMs;
}

bool IsServed(const Gate& gate, uid_t user) {
  return std::find(gate.users.begin(), gate.users.end(), user) != gate.users.end();
}

// The library's threads, with a word when they are few.
class Threads final : public httplib::TaskQueue {
 public:
  // `on_crowd` is called on the thread that accepts connections.
  Threads(std::atomic<int>& taken, std::function<void()> on_crowd)
      : taken_(taken), on_crowd_(std::move(on_crowd)) {}

  // void, or in newer versions of the library bool.
  using Taken = decltype(std::declval<httplib::ThreadPool&>().enqueue({}));
  Taken enqueue(std::function<void()> task) override {
    if (++taken_ > kCrowd) on_crowd_();
    return pool_.enqueue([this, task = std::move(task)] {
      task();
      --taken_;
    });
  }
  void shutdown() override { pool_.shutdown(); }

 private:
  std::atomic<int>& taken_;
  const std::function<void()> on_crowd_;
  httplib::ThreadPool pool_{kHttpThreads};
};

std::vector<std::string> Values(const httplib::Request& from, const char* name) {
  std::vector<std::string> values;
  const auto [first, last] = from.headers.equal_range(name);
  for (auto header = first; header != last; ++header) values.push_back(header->second);
  return values;
}

bool HasBody(const httplib::Request& from) {
  return from.has_header("Transfer-Encoding") ||
         (from.has_header("Content-Length") && from.get_header_value("Content-Length") != "0");
}

bool IsTooLarge(const httplib::Request& from, std::size_t bytes) {
  return bytes > kMaxBody && !IsUpload(from.target);
}

// The part of a stored text that was asked for. False: there is no such part.
bool CutToRange(const httplib::Ranges& ranges, std::string* body, httplib::Response* to) {
  const auto size = static_cast<ssize_t>(body->size());
  if (ranges.size() != 1) return true;  // several at once are not worth the trouble (RFC 9110)
  auto [first, last] = ranges[0];
  if (first < 0) {
    first = std::max<ssize_t>(0, size - last);
    last = size - 1;
  }
  if (last < 0 || last >= size) last = size - 1;
  if (first > last) return false;
  *body = body->substr(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first + 1));
  to->status = 206;
  to->set_header("Content-Range", fmt::format("bytes {}-{}/{}", first, last, size));
  return true;
}

// What somebody stored, as it is: what a provider gives the library does not compress.
void SetMedia(const httplib::Ranges& ranges, HttpReply reply, httplib::Response* to) {
  if (!CutToRange(ranges, &reply.body, to)) {
    to->status = 416;
    return;
  }
  const std::size_t size = reply.body.size();
  if (size == 0) return to->set_content("", reply.content_type);
  to->set_content_provider(size, reply.content_type,
                           [text = std::move(reply.body)](std::size_t offset, std::size_t length,
                                                          httplib::DataSink& sink) {
                             return sink.write(text.data() + offset,
                                               std::min(length, text.size() - offset));
                           });
}

Refusal CheckPeer(const Gate& gate, const httplib::Request& from) {
  if (gate.users.empty()) return std::nullopt;
  const auto user = UserAt({from.remote_addr, from.remote_port}, {from.local_addr, gate.port});
  if (user && IsServed(gate, *user)) return std::nullopt;
  return MakeStatus("PERMISSION_DENIED",
                    "The connection is not of the user who runs this emulator; it serves that user "
                    "and root only.");
}

}  // namespace

void Show(const Answer& answer, HttpReply* reply) {
  if (const auto* refusal = std::get_if<ApiError>(&answer)) {
    reply->status = refusal->HttpStatus();
    reply->body = ToJson(refusal->HttpBody());
  } else if (const auto* written = std::get_if<JsonText>(&answer)) {
    reply->body = written->text;
  } else {
    reply->body = ToJson(std::get<Value>(answer));
  }
}

struct HttpServer::Core {
  httplib::Server server;
  int port = 0;
  Handler handler;
  Gate gate;
  std::mutex mutex;
  std::condition_variable wake;  // ends a delay when the server stops
  bool stopping = false;
  std::atomic<int> taken = 0;       // connections that are not done with
  std::thread watch;                // cuts idle ones in a crowd, also when no other comes
  std::set<int> at_work;            // ports of the peers whose requests have come
  std::atomic<bool> ended = false;  // the listening thread is past its loop
  std::thread thread;

  Refusal Check(const httplib::Request& from) const;
  void CutIdle();
  httplib::Server::HandlerResponse Answer(const httplib::Request& from, httplib::Response& to);
};

void HttpServer::Core::CutIdle() {
  CutConnections(port, [this](const End& peer, const End& own, int socket) {
    const auto user = gate.users.empty() ? std::nullopt : UserAt(peer, own);
    if (user && !IsServed(gate, *user)) return true;
    const std::lock_guard lock(mutex);
    return !at_work.contains(peer.port) && IsSilent(socket);
  });
}

Refusal HttpServer::Core::Check(const httplib::Request& from) const {
  if (Refusal refusal = CheckPeer(gate, from)) return refusal;
  return CheckRequestHead(gate, {.method = from.method,
                                 .target = from.target,
                                 .hosts = Values(from, "Host"),
                                 .origins = Values(from, "Origin"),
                                 .sites = Values(from, "Sec-Fetch-Site"),
                                 .destinations = Values(from, "Sec-Fetch-Dest"),
                                 .types = Values(from, "Content-Type"),
                                 .has_body = HasBody(from)});
}

httplib::Server::HandlerResponse HttpServer::Core::Answer(const httplib::Request& from,
                                                          httplib::Response& to) {
  if (IsTooLarge(from, from.body.size())) {
    to.status = 413;
    return httplib::Server::HandlerResponse::Handled;
  }
  HttpRequest request{.method = from.method,
                      .path = from.path,
                      .query = {},
                      .body = from.body,
                      .target = from.target};
  for (const auto& [name, value] : from.params) request.query[name] = value;
  for (const auto& [name, value] : from.headers) request.headers[LowerCase(name)] = value;
  {
    const std::lock_guard lock(mutex);
    at_work.insert(from.remote_port);
  }
  HttpReply reply = handler(request);
  // The library would cut every answer to them.
  const httplib::Ranges ranges = std::exchange(const_cast<httplib::Request&>(from).ranges, {});
  {
    std::unique_lock lock(mutex);
    if (reply.delay.count() > 0) wake.wait_for(lock, reply.delay, [this] { return stopping; });
    at_work.erase(from.remote_port);
  }
  if (reply.drop) {
    CutConnections(port,
                   [&](const End& peer, const End&, int) { return peer.port == from.remote_port; });
  }
  to.status = reply.status;
  for (const auto& [name, value] : reply.headers) to.set_header(name, value);
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
  if (reply.is_media) {
    SetMedia(ranges, std::move(reply), &to);
  } else {
    to.set_content(reply.body, reply.content_type);
  }
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
  server.new_task_queue = [core = core.get()] {
    return new Threads(core->taken, [core] { core->CutIdle(); });
  };
  server.set_keep_alive_timeout(kFirstByteSeconds);
  server.set_keep_alive_max_count(kRequestsPerConnection);
  server.set_read_timeout(kReadSeconds, 0);
  server.set_write_timeout(kReadSeconds, 0);
  server.set_payload_max_length(kMaxUpload);
  server.set_tcp_nodelay(true);
  // For browsers: no answer is a script or a picture of somebody else's page.
  server.set_default_headers(
      {{"X-Content-Type-Options", "nosniff"}, {"Cross-Origin-Resource-Policy", "same-origin"}});
  // The library's default, SO_REUSEPORT, would let two emulators share a port unnoticed.
  int listener = -1;
  server.set_socket_options([&listener](socket_t socket) {
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    listener = socket;
  });
  const bool bound =
      port == 0 ? (port = server.bind_to_any_port(host)) > 0 : server.bind_to_port(host, port);
  if (!bound) {
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("cannot listen on {}:{}: {}", host, port, std::strerror(errno)),
                     "is another emulator running? choose another port with --listen");
  }
  // The library's queue of 5 would make a burst of connections wait for their SYN's second try.
  ::listen(listener, kQueue);
  core->port = port;
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(core)));
}

int HttpServer::port() const {
  return core_->port;
}

void HttpServer::Serve(Handler handler, Gate gate) {
  Core* const core = core_.get();
  core->handler = std::move(handler);
  core->gate = std::move(gate);
  core->gate.port = core->port;
  const auto answer = [core](const httplib::Request& from, httplib::Response& to) {
    core->Answer(from, to);
  };
  // Before the body of a stranger's request is read. `curl -X POST` says nothing of a body, which
  // means that there is none (RFC 9112, 6.3); the library would wait for the connection's end.
  core->server.set_pre_routing_handler([core](const httplib::Request& from, httplib::Response& to) {
    if (const Refusal refusal = core->Check(from)) {
      HttpReply reply;
      Show(*refusal, &reply);
      to.status = reply.status;
      to.set_content(reply.body, reply.content_type);
      return httplib::Server::HandlerResponse::Handled;
    }
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
  core->watch = std::thread([core] {
    constexpr std::chrono::milliseconds kPace{500};
    std::unique_lock lock(core->mutex);
    while (!core->wake.wait_for(lock, kPace, [core] { return core->stopping; })) {
      if (core->taken <= kCrowd) continue;
      lock.unlock();
      core->CutIdle();
      lock.lock();
    }
  });
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
    Serve([](const HttpRequest&) { return HttpReply{.status = 503}; }, {});
  }
  // stop() is heard only by a server that has begun; it begins at once.
  while (!core->server.is_running() && !core->ended) std::this_thread::yield();
  core->server.stop();
  // Connections that wait for a next request would hold their threads for the keep-alive time.
  std::atomic<bool> joined = false;
  std::thread cutter([&] {
    while (!joined) {
      CutConnections(core->port, [](const End&, const End&, int) { return true; });
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  core->thread.join();
  if (core->watch.joinable()) core->watch.join();
  joined = true;
  cutter.join();
}

}  // namespace podctl::emulator

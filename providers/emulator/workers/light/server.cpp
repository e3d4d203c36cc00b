#include "providers/emulator/workers/light/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <libssh/libssh.h>
#include <libssh/server.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

#include "providers/emulator/workers/address.h"
#include "providers/emulator/workers/light/descriptor.h"
#include "providers/emulator/workers/light/session.h"
#include "providers/emulator/workers/light/supervisor.h"

namespace podctl::emulator {
namespace {

constexpr int kEventsAtOnce = 256;
constexpr int kAcceptsPerTurn = 64;  // of one listener
constexpr int kLookEvery = 10'000;   // milliseconds, for connections that never log in

struct FreeBind {
  void operator()(ssh_bind bind) const { ssh_bind_free(bind); }
};
using BindPointer = std::unique_ptr<ssh_bind_struct, FreeBind>;

// nullptr: libssh does not take the key.
BindPointer MakeBind(const HostKey& key) {
  BindPointer bind(ssh_bind_new());
  if (bind == nullptr) return nullptr;
  const bool no = false;
  ssh_bind_options_set(bind.get(), SSH_BIND_OPTIONS_PROCESS_CONFIG, &no);
  ssh_key copy = ssh_key_dup(key.handle());
  if (ssh_bind_options_set(bind.get(), SSH_BIND_OPTIONS_IMPORT_KEY, copy) != SSH_OK) {
    ssh_key_free(copy);
    return nullptr;
  }
  return bind;
}

// One thread with its listeners and their connections.
class Lane {
 public:
  // Takes over the two descriptors.
  Lane(int epoll, int bell, ProcessSpawner& spawner)
      : spawner_(spawner), epoll_(epoll), bell_(bell), reserve_(OpenReserve()) {
    bell_.Watch(epoll_.get(), EPOLLIN, &wakeup_watcher_);
    watchers_[wakeup_watcher_.number()] = &wakeup_watcher_;
    thread_ = std::thread([this] { Run(); });
  }
  ~Lane() {
    Post([this] { stopping_ = true; });
    thread_.join();
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Runs `work` on the lane's thread, soon.
  void Post(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      posted_.push_back(std::move(work));
    }
    const std::uint64_t one = 1;
    static_cast<void>(::write(bell_.get(), &one, sizeof one) == sizeof one);
  }

  // On the lane's thread.
  void Open(LightServer::Id id, LightServer::Door door) {
    auto listener = std::make_unique<Listener>(*this, std::move(door));
    listener->socket.Watch(epoll_.get(), EPOLLIN, listener.get());
    watchers_[listener->number()] = listener.get();
    listeners_[id] = std::move(listener);
  }
  void Close(LightServer::Id id) {
    const auto found = listeners_.find(id);
    if (found == listeners_.end()) return;
    for (const auto& [session, owned] : found->second->sessions) Forget(*session);
    watchers_.erase(found->second->number());
    listeners_.erase(found);
  }

 private:
  class WakeupWatcher final : public Watcher {
   public:
    explicit WakeupWatcher(Lane& lane) : lane_(lane) {}
    void Ready() override { lane_.ReadMail(); }

   private:
    Lane& lane_;
  };

  class Listener final : public Watcher {
   public:
    Listener(Lane& its_lane, LightServer::Door door)
        : lane(its_lane),
          host(std::move(door.host)),
          bind(MakeBind(door.key)),
          socket(door.socket) {}
    void Ready() override { lane.Accept(*this); }

    Lane& lane;
    std::shared_ptr<Host> host;
    BindPointer bind;
    Descriptor socket;
    std::unordered_map<Session*, std::unique_ptr<Session>> sessions;
  };

  static int OpenReserve() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

  void Run() {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    std::array<epoll_event, kEventsAtOnce> events;
    while (!stopping_) {
      const int count =
          ::epoll_wait(epoll_.get(), events.data(), kEventsAtOnce, dirty_.empty() ? kLookEvery : 0);
      for (int i = 0; i < count; ++i) {
        const auto found = watchers_.find(events[static_cast<std::size_t>(i)].data.u64);
        if (found != watchers_.end()) found->second->Ready();
      }
      TurnDirty();
      Deliver();
      DropOverdue();
    }
    listeners_.clear();
  }

  void ReadMail() {
    std::uint64_t count = 0;
    static_cast<void>(::read(bell_.get(), &count, sizeof count) == sizeof count);
  }
  void Deliver() {
    std::vector<std::function<void()>> posted;
    {
      const std::lock_guard lock(mutex_);
      posted.swap(posted_);
    }
    for (const auto& work : posted) work();
  }

  void MarkDirty(Listener& listener, Session& session) { dirty_[&session] = &listener; }
  // Before it goes.
  void Forget(Session& session) {
    dirty_.erase(&session);
    watchers_.erase(session.number());
  }

  void TurnDirty() {
    std::unordered_map<Session*, Listener*> now;
    now.swap(dirty_);
    for (const auto& [session, listener] : now) {
      if (session->Turn()) continue;
      Forget(*session);
      listener->sessions.erase(session);
    }
  }

  void Accept(Listener& listener) {
    for (int i = 0; i < kAcceptsPerTurn; ++i) {
      const int socket = ::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (socket >= 0) {
        Admit(listener, socket);
      } else if (errno == EMFILE || errno == ENFILE) {
        TurnAway(listener);
      } else if (errno != EINTR && errno != ECONNABORTED) {
        return;
      }
    }
  }

  void Admit(Listener& listener, int socket) {
    if (listener.bind == nullptr) {
      ::close(socket);
      return;
    }
    auto session =
        Session::Accept(listener.bind.get(), socket, listener.host, spawner_, epoll_.get(),
                        [this, where = &listener](Session& ready) { MarkDirty(*where, ready); });
    if (session == nullptr) return;
    Session* const key = session.get();
    watchers_[key->number()] = key;
    listener.sessions.emplace(key, std::move(session));
  }

  // Out of descriptors: the client is sent off, or epoll would call for it for ever.
  void TurnAway(Listener& listener) {
    if (reserve_ >= 0) ::close(reserve_);
    const int socket = ::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (socket >= 0) ::close(socket);
    reserve_ = OpenReserve();
  }

  void DropOverdue() {
    const auto now = Session::Clock::now();
    if (now - looked_ < std::chrono::milliseconds(kLookEvery)) return;
    looked_ = now;
    for (const auto& [id, listener] : listeners_) {
      for (auto it = listener->sessions.begin(); it != listener->sessions.end();) {
        const bool over = it->first->Overdue(now);
        if (over) Forget(*it->first);
        it = over ? listener->sessions.erase(it) : std::next(it);
      }
    }
  }

  ProcessSpawner& spawner_;
  Descriptor epoll_;
  WakeupWatcher wakeup_watcher_{*this};
  Descriptor bell_;
  int reserve_;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
  // The thread's own.
  std::unordered_map<LightServer::Id, std::unique_ptr<Listener>> listeners_;
  std::unordered_map<std::uint64_t, Watcher*> watchers_;  // by number
  std::unordered_map<Session*, Listener*> dirty_;
  Session::Clock::time_point looked_ = Session::Clock::now();
  bool stopping_ = false;
  std::thread thread_;
};

class Server final : public LightServer {
 public:
  explicit Server(ProcessSpawner& spawner) : spawner_(spawner) {}

  Result<void> AddLanes(int threads) {
    for (int i = 0; i < threads; ++i) {
      Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
      Descriptor bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
      if (!epoll.open() || !bell.open()) {
        return MakeError(ErrorCode::kUnavailable,
                         fmt::format("the SSH server has no descriptors: {}",
                                     std::generic_category().message(errno)));
      }
      lanes_.push_back(std::make_unique<Lane>(epoll.Release(), bell.Release(), spawner_));
    }
    return {};
  }

  std::vector<Id> Open(std::vector<Door> doors) override {
    std::vector<Id> ids;
    for (Door& door : doors) {
      const Id id = next_.fetch_add(1);
      ids.push_back(id);
      Lane& lane = LaneOf(id);
      lane.Post([&lane, id, door = std::move(door)] { lane.Open(id, door); });
    }
    return ids;
  }

  void Close(const std::vector<Id>& ids) override {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = *lanes_[i];
      std::promise<void> done;
      lane.Post([&] {
        for (const Id id : ids) {
          if (&LaneOf(id) == &lane) lane.Close(id);
        }
        done.set_value();
      });
      done.get_future().wait();
    }
  }

 private:
  Lane& LaneOf(Id id) { return *lanes_[static_cast<std::size_t>(id) % lanes_.size()]; }

  ProcessSpawner& spawner_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::atomic<Id> next_{0};
};

}  // namespace

Result<std::unique_ptr<LightServer>> LightServer::Start(int threads, ProcessSpawner& spawner) {
  auto server = std::make_unique<Server>(spawner);
  if (Result<void> done = server->AddLanes(threads); !done) return done.error();
  return std::unique_ptr<LightServer>(std::move(server));
}

Result<int> ListenOn(const std::string& address, int port, int backlog) {
  Result<int> bound = BindSocket(address, port);
  if (!bound) return bound;
  if (::listen(*bound, backlog) == 0 && ::fcntl(*bound, F_SETFL, O_NONBLOCK) == 0) return bound;
  const int problem = errno;
  ::close(*bound);
  return MakeError(problem == EADDRINUSE ? ErrorCode::kUnavailable : ErrorCode::kIo,
                   fmt::format("it cannot listen on {}:{}: {}", address, port,
                               std::generic_category().message(problem)));
}

}  // namespace podctl::emulator

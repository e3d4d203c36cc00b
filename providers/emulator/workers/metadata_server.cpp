#include "providers/emulator/workers/metadata_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "providers/emulator/workers/metadata.h"

namespace podctl::emulator {
namespace {

using std::chrono::seconds;

constexpr int kGuestsOfOne = 64;  // connections of one worker; more are closed at once
constexpr seconds kIdle{60};      // a connection without a question ends
constexpr seconds kLongestWait{3600};
constexpr int kMetadataBacklog = 64;

std::int64_t Now() {
  return std::chrono::duration_cast<seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Result<std::unique_ptr<MetadataServer>> MetadataServer::Start() {
  Descriptor alarm(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (alarm.open()) return std::unique_ptr<MetadataServer>(new MetadataServer(std::move(alarm)));
  return MakeError(ErrorCode::kIo, fmt::format("cannot serve metadata: {}",
                                               std::generic_category().message(errno)));
}

MetadataServer::MetadataServer(Descriptor alarm) : alarm_(std::move(alarm)) {
  thread_ = std::thread([this] { Run(); });
}

MetadataServer::~MetadataServer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  Wake();
  thread_.join();
}

void MetadataServer::Wake() {
  // It fails only where it has been rung more often than anybody can count.
  static_cast<void>(::eventfd_write(alarm_.get(), 1));
}

void MetadataServer::Tell(const MachineSet& machines) {
  {
    const std::lock_guard lock(mutex_);
    sets_[machines.uid] = machines;
  }
  Wake();
}

void MetadataServer::Open(const std::string& uid, std::size_t worker, Descriptor socket) {
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  ::listen(socket.get(), kMetadataBacklog);
  {
    const std::lock_guard lock(mutex_);
    doors_[{uid, worker}] = std::move(socket);
  }
  Wake();
}

void MetadataServer::Close(const std::string& uid, std::size_t worker) {
  const std::lock_guard lock(mutex_);
  doors_.erase({uid, worker});
  clients_.remove_if([&](const Client& client) { return client.worker == Worker(uid, worker); });
  Wake();
}

void MetadataServer::Forget(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  sets_.erase(uid);
  std::erase_if(doors_, [&](const auto& door) { return door.first.first == uid; });
  clients_.remove_if([&](const Client& client) { return client.worker.first == uid; });
  Wake();
}

void MetadataServer::Run() {
  std::unique_lock lock(mutex_);
  std::vector<pollfd> files;
  while (!stopping_) {
    files.assign(1, {.fd = alarm_.get(), .events = POLLIN, .revents = 0});
    for (const auto& [worker, door] : doors_) {
      files.push_back({.fd = door.get(), .events = POLLIN, .revents = 0});
    }
    Clock::time_point next = Clock::now() + kLongestWait;
    for (const Client& client : clients_) {
      // One that waits is listened to as long as it has said nothing more.
      const bool listens = client.received.empty() || !client.waiting;
      const int events = (listens ? POLLIN : 0) | (client.to_send.empty() ? 0 : POLLOUT);
      files.push_back(
          {.fd = client.socket.get(), .events = static_cast<short>(events), .revents = 0});
      next = std::min(next, client.deadline);
    }
    lock.unlock();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    ::poll(files.data(), files.size(), static_cast<int>(std::max<std::int64_t>(left, 0)));
    lock.lock();
    eventfd_t rung = 0;
    ::eventfd_read(alarm_.get(), &rung);
    // What was closed meanwhile is not looked for, and a number that was given away again does no
    // harm: nothing here waits.
    std::map<int, int> ready;
    for (const pollfd& file : files) {
      if (file.revents != 0) ready[file.fd] = file.revents;
    }
    clients_.remove_if([&](Client& client) {
      const auto found = ready.find(client.socket.get());
      return !Attend(&client,
                     found != ready.end() && (found->second & (POLLIN | POLLHUP | POLLERR)) != 0);
    });
    for (const auto& [worker, door] : doors_) {
      if (ready.count(door.get()) != 0) Admit(worker, door);
    }
  }
}

void MetadataServer::Admit(const Worker& worker, const Descriptor& door) {
  while (true) {
    Descriptor socket(::accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.open()) return;
    const auto present = std::count_if(clients_.begin(), clients_.end(), [&](const Client& client) {
      return client.worker == worker;
    });
    if (present >= kGuestsOfOne) continue;
    Client client;
    client.worker = worker;
    client.socket = std::move(socket);
    client.deadline = Clock::now() + kIdle;
    clients_.push_back(std::move(client));
  }
}

bool MetadataServer::Attend(Client* client, bool readable) {
  if (readable && !Receive(client)) return false;
  const bool late = Clock::now() >= client->deadline;
  if (client->waiting) {
    const MetadataRequest request = *std::exchange(client->waiting, std::nullopt);
    Answer(client, request, !late);
  } else if (late) {
    return false;
  }
  return AnswerAll(client) && Send(client);
}

bool MetadataServer::Receive(Client* client) {
  std::array<char, 4096> buffer{};
  const ssize_t size = ::recv(client->socket.get(), buffer.data(), buffer.size(), 0);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  if (size == 0) return false;
  client->received.append(buffer.data(), static_cast<std::size_t>(size));
  return true;
}

bool MetadataServer::AnswerAll(Client* client) {
  while (!client->waiting && !client->last && client->to_send.empty()) {
    auto request = ReadMetadataRequest(client->received);
    if (!request) return false;
    if (!*request) return true;
    client->received.erase(0, (*request)->size);
    // A body is not read, so nothing can come behind it.
    const auto connection = (*request)->headers.find("connection");
    client->last = (*request)->headers.count("content-length") != 0 ||
                   (*request)->headers.count("transfer-encoding") != 0 ||
                   (connection != (*request)->headers.end() && connection->second == "close");
    Answer(client, **request, true);
  }
  return true;
}

void MetadataServer::Answer(Client* client, const MetadataRequest& request, bool patient) {
  const auto set = sets_.find(client->worker.first);
  const Value tree = set == sets_.end() || client->worker.second >= set->second.addresses.size()
                         ? Value::EmptyMap()
                         : MetadataTree(set->second, client->worker.second);
  const MetadataReply reply = AnswerMetadata(request, tree, Now());
  const Clock::time_point now = Clock::now();
  if (patient && reply.wait_for_other_than == reply.etag && !reply.etag.empty()) {
    // Asked with "other than now": that of the first look counts from here on.
    client->waiting = request;
    client->waiting->query["last_etag"] = reply.etag;
    const seconds wait =
        reply.wait_s > 0 ? std::min(seconds(reply.wait_s), kLongestWait) : kLongestWait;
    if (!request.began) client->deadline = now + wait;
    client->waiting->began = true;
    return;
  }
  client->deadline = now + kIdle;
  client->to_send += Written(request, reply);
}

bool MetadataServer::Send(Client* client) {
  while (!client->to_send.empty()) {
    const ssize_t size =
        ::send(client->socket.get(), client->to_send.data(), client->to_send.size(), MSG_NOSIGNAL);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    client->to_send.erase(0, static_cast<std::size_t>(size));
  }
  return !client->last || client->waiting.has_value();
}

}  // namespace podctl::emulator

#include "providers/ssh/libssh2/session_pool.h"

#include <fmt/format.h>
#include <libssh2.h>
#include <poll.h>

#include <chrono>
#include <utility>

#include "providers/base/text.h"
#include "providers/ssh/keys/host_key.h"

namespace podctl::ssh {
namespace {

constexpr std::chrono::seconds kIdle{60};
constexpr std::chrono::seconds kReleasing{5};  // for the channel to be gone

}  // namespace

std::string SessionPool::PlaceOf(const WorkerAccess& worker) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", worker.host, worker.port, worker.user,
                     worker.identity_file, Join(worker.through, "\n"));
}

// True when it goes on: the channel is freed, or its last packet waits for the socket.
bool SessionPool::Release(Kept& kept) {
  if (kept.channel == nullptr) return true;
  const int code = libssh2_channel_free(kept.channel);
  if (code == LIBSSH2_ERROR_EAGAIN) return true;
  kept.channel = nullptr;
  return code == 0;
}

int SessionPool::Put(std::unique_ptr<Session> session, _LIBSSH2_CHANNEL* channel, Time now) {
  Kept kept{std::move(session), channel, now + kIdle, {}};
  if (!Release(kept)) return -1;
  kept.session->io().EndRound();  // the step that ended the command was within one
  if (kept.session->io().HasUnsent()) return -1;
  if (kept.channel != nullptr) kept.until = now + kReleasing;
  kept.place = PlaceOf(kept.session->worker());
  const int fd = kept.session->fd();
  kept_.push_back(std::move(kept));
  const Place place = std::prev(kept_.end());
  by_socket_.emplace(fd, place);
  by_place_.emplace(place->place, place);
  return fd;
}

void SessionPool::Drop(Place place) {
  by_socket_.erase(place->session->fd());
  const auto [begin, end] = by_place_.equal_range(place->place);
  for (auto it = begin; it != end; ++it) {
    if (it->second == place) {
      by_place_.erase(it);
      break;
    }
  }
  kept_.erase(place);
}

std::unique_ptr<Session> SessionPool::Take(const WorkerAccess& worker) {
  if (kept_.empty()) return nullptr;
  const auto found = by_place_.find(PlaceOf(worker));
  if (found == by_place_.end()) return nullptr;
  const Place place = found->second;
  // Who wants another key, or none, makes a connection of his own, and hears what is wrong there.
  const HostKeyVerdict verdict =
      JudgeHostKey(worker, PinsOf(worker), place->session->shown_host_key());
  if (verdict != HostKeyVerdict::kPinned && verdict != HostKeyVerdict::kLearned) return nullptr;
  std::unique_ptr<Session> session;
  if (Release(*place) && place->channel == nullptr && !place->session->HungUp()) {
    by_socket_.erase(place->session->fd());
    by_place_.erase(found);
    session = std::move(place->session);
    kept_.erase(place);
  } else {
    Drop(place);
  }
  return session;
}

void SessionPool::OnEvent(int fd) {
  const auto found = by_socket_.find(fd);
  if (found == by_socket_.end()) return;
  const Place place = found->second;
  const bool releasing = place->channel != nullptr;
  if (!releasing || !Release(*place)) Drop(place);
}

short SessionPool::Events(int fd) const {
  const auto found = by_socket_.find(fd);
  if (found == by_socket_.end()) return 0;
  return found->second->channel != nullptr ? found->second->session->WaitsFor() : POLLIN;
}

void SessionPool::DropOldest() {
  if (!kept_.empty()) Drop(kept_.begin());
}

void SessionPool::Expire(Time now) {
  for (Place place = kept_.begin(); place != kept_.end();) {
    const Place next = std::next(place);
    if (place->until <= now) {
      Drop(place);
    } else if (place->channel == nullptr) {
      break;  // they were put in order
    }
    place = next;
  }
}

SessionPool::Time SessionPool::next_expiry() const {
  return kept_.empty() ? Time::max() : kept_.front().until;
}

}  // namespace podctl::ssh

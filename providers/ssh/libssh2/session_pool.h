// Sessions that are logged in and wait for the next command: kept for a while, so that the steps of
// an apply or the batches of an exec pay one key exchange. What a worker decides when somebody logs
// in (his groups, say) stays as it was while a session is kept, as with OpenSSH's ControlMaster.
//
// All calls on the poller thread. Knows no epoll: its owner says when a socket has something.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "providers/os/clock.h"
#include "providers/ssh/libssh2/session.h"

namespace podctl::ssh {

class SessionPool {
 public:
  using Time = Clock::SteadyTime;

  // `channel` is the one that the last command used; it is freed here. Returns the socket to be
  // polled for Events(), -1: the session was of no more use.
  int Put(std::unique_ptr<Session> session, _LIBSSH2_CHANNEL* channel, Time now);
  // One that leads to this worker as this user with this identity, and whose host key `worker`
  // accepts; null: none.
  std::unique_ptr<Session> Take(const WorkerAccess& worker);
  bool Has(const WorkerAccess& worker) const {
    return !kept_.empty() && by_place_.count(PlaceOf(worker)) > 0;
  }

  // Its socket has something. An idle session has nothing to hear but its end, so it is dropped.
  void OnEvent(int fd);
  short Events(int fd) const;

  void DropOldest();
  void Expire(Time now);
  Time next_expiry() const;
  std::size_t size() const { return kept_.size(); }

 private:
  struct Kept {
    std::unique_ptr<Session> session;
    _LIBSSH2_CHANNEL* channel;  // null once it is freed
    Time until;
    std::string place;
  };
  using Place = std::list<Kept>::iterator;

  static std::string PlaceOf(const WorkerAccess& worker);
  static bool Release(Kept& kept);
  void Drop(Place place);

  std::list<Kept> kept_;  // oldest first
  std::unordered_map<int, Place> by_socket_;
  std::unordered_multimap<std::string, Place> by_place_;
};

}  // namespace podctl::ssh

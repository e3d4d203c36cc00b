// The traffic of a tunnel while its SSH session lives: local connections and their channels, both
// ways, until the session drops or stop is requested. One thread, nothing shared.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "providers/ssh/libssh2_names.h"
#include "providers/ssh/session.h"
#include "providers/ssh/tunnel.h"
#include "providers/ssh/wakeup.h"

namespace podctl::ssh {

// A local port that is listened on.
struct TunnelListener {
  int fd = -1;  // not owned
  Forward forward;
};

class TunnelSession {
 public:
  // Clients beyond this many wait to be accepted. Each may hold up to about 1 MiB of replies.
  static constexpr std::size_t kMaxConnections = 128;

  // Everything is lent. `session` is ready.
  TunnelSession(Session& session, const std::vector<TunnelListener>& listeners,
                TunnelObserver& observer, const Wakeup& wakeup);
  ~TunnelSession();
  TunnelSession(const TunnelSession&) = delete;
  TunnelSession& operator=(const TunnelSession&) = delete;

  // Returns when stop is requested (empty) or with why the session dropped.
  std::string Run(const std::stop_token& stop);

 private:
  enum class Call { kNone, kOpen, kRead, kWrite, kEof, kClose };
  struct Local;

  bool Pump();
  bool OpenAnchor();
  void ReadAnchor();
  void Advance(Local& local);
  void Do(Local& local, Call call);
  void DoOpen(Local& local);
  void DoRead(Local& local);
  void Waits(Local* local, Call call);
  void ReadLocal(Local& local);
  void WriteLocal(Local& local);
  void CheckEnd(Local& local);
  void Close(Local& local);
  void Accept(const TunnelListener& listener);
  void Wait(bool look_only);
  bool Interrupted() const { return dropped_ || half_ != Call::kNone; }

  Session& session_;
  const std::vector<TunnelListener>& listeners_;
  TunnelObserver& observer_;
  const Wakeup& wakeup_;
  std::vector<std::unique_ptr<Local>> locals_;
  // A channel that nothing is run on. Reading from it is what makes libssh2 take in packets, also
  // while there are no connections, so that the worker's keep-alive questions are answered.
  _LIBSSH2_CHANNEL* anchor_ = nullptr;
  Local* opening_ = nullptr;  // libssh2 opens one channel at a time
  // The call that left a packet half sent; it must be repeated before any other.
  Call half_ = Call::kNone;
  Local* half_local_ = nullptr;  // null: the anchor
  bool progress_ = false;
  bool dropped_ = false;
  bool out_of_files_ = false;
};

}  // namespace podctl::ssh

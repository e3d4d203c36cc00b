// The traffic of a tunnel while its SSH session lives: local connections and their channels, both
// ways, until the session drops or stop is requested. One thread, nothing shared.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "providers/ssh/libssh2_names.h"
#include "providers/ssh/session.h"
#include "providers/ssh/tunnel.h"
#include "providers/ssh/tunnel_clients.h"
#include "providers/ssh/wakeup.h"

namespace podctl::ssh {

class TunnelSession {
 public:
  // All is lent but the clients' descriptors. `session` is ready. Clients are served in their
  // order, and those that come to the listeners after them, kMaxTunnelClients at a time. A client
  // that does not read may hold up to about 1.25 MiB of replies.
  TunnelSession(Session& session, const TunnelListeners& listeners,
                const std::vector<TunnelClient>& clients, TunnelObserver& observer,
                const Wakeup& wakeup);
  ~TunnelSession();
  TunnelSession(const TunnelSession&) = delete;
  TunnelSession& operator=(const TunnelSession&) = delete;

  // Returns when stop is requested (empty) or with why the session dropped.
  std::string Run(const std::stop_token& stop);

  // After Run: clients for whom nothing was carried yet, so that another session may. Their
  // descriptors are the caller's from now on; the others' connections end with this object.
  std::vector<TunnelClient> TakeUnserved();

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
  // What the client takes of it at once; -1 when it is gone.
  ssize_t SendLocal(Local& local, std::string_view bytes);
  bool HasReply(const Local& local) const;
  void CheckEnd(Local& local);
  void Close(Local& local);
  void Add(const TunnelClient& client);
  void Wait(bool look_only);
  bool Interrupted() const { return dropped_ || half_ != Call::kNone; }

  Session& session_;
  const TunnelListeners& listeners_;
  TunnelObserver& observer_;
  const Wakeup& wakeup_;
  std::vector<char> reply_;  // what is read from a channel at a time
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

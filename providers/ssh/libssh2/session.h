// One SSH connection to one worker, up to the point where channels can be opened: TCP, key
// exchange, host key, authentication. A small state machine that never waits; whoever owns it polls
// the socket and calls Advance. Knows no deadlines, no retries and no commands.
//
// All calls on one session from one thread; different sessions may live in different threads.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "providers/os/clock.h"
#include "providers/ssh/keys/host_key.h"
#include "providers/ssh/keys/identities.h"
#include "providers/ssh/keys/key.h"
#include "providers/ssh/libssh2/session_hooks.h"
#include "providers/ssh/transport.h"
#include "providers/worker.h"

namespace podctl::ssh {

// Where a worker listens: its address as the kernel takes it.
struct Endpoint {
  sockaddr_storage address{};
  socklen_t size = 0;  // 0: none
};

// An IP address as it is written; nullopt: `host` is a name. Never blocks.
std::optional<Endpoint> ParseAddress(const std::string& host, int port);

// An IP address is taken as it is; a name is asked for, which may block for as long as the system's
// resolver does. (The API gives addresses, so names are rare.) kUnavailable: no such name.
Result<Endpoint> Resolve(const std::string& host, int port);

// A signature that is made elsewhere. Whoever makes it calls Make once, on any thread.
class SlowSignature {
 public:
  SlowSignature(std::shared_ptr<const Key> key, std::string algorithm, std::string data)
      : key_(std::move(key)), algorithm_(std::move(algorithm)), data_(std::move(data)) {}

  void Make() {
    made_.emplace(key_->Sign(algorithm_, data_));
    done_.store(true, std::memory_order_release);
  }
  bool done() const { return done_.load(std::memory_order_acquire); }
  const Result<std::string>& made() const { return *made_; }  // once done
  const std::string& data() const { return data_; }

 private:
  const std::shared_ptr<const Key> key_;
  const std::string algorithm_;
  const std::string data_;
  std::optional<Result<std::string>> made_;
  std::atomic<bool> done_{false};
};

class Session {
 public:
  // Takes a signature to make, and calls Advance once it is made.
  using SignElsewhere = std::function<void(std::shared_ptr<SlowSignature>)>;
  enum class Trouble {
    kConnection,      // no TCP connection, or it broke, or no key exchange
    kAuth,            // none of the keys was accepted
    kHostKey,         // the pinned key is not the one shown
    kUnknownHost,     // nothing is pinned, and trust on first use is off
    kOutOfResources,  // this machine has no socket or no memory left
    kNoRoute,  // the program that leads there cannot, none is known, or no key fits the server
  };

  // Without `sign_elsewhere` every signature is made in Advance.
  Session(WorkerAccess worker, const Endpoint& endpoint,
          std::shared_ptr<const Identities> identities, SignElsewhere sign_elsewhere = nullptr);
  ~Session();  // closes at once; never waits for the other side
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Goes on as far as it can without waiting.
  Stage Advance();
  Stage stage() const { return stage_; }
  // The key exchange costs both sides most of what a connection costs, so its owner says when.
  void AllowHandshake() { handshake_allowed_ = true; }

  int fd() const { return fd_; }  // -1 before the first Advance and when there is no socket
  // What to poll for (POLLIN, POLLOUT) after a call said that it would wait.
  short WaitsFor() const;
  // A packet is half sent: until it is out, only the call that began it may be repeated.
  bool HasHalfSentPacket() const;

  // After kFailed.
  Trouble trouble() const { return trouble_; }
  Verdict verdict() const;

  // Set once the host key was trusted without being pinned.
  const std::optional<HostKeyText>& learned_host_key() const { return learned_; }
  const WorkerAccess& worker() const { return worker_; }
  std::string_view shown_host_key() const;  // wire format; once authenticating
  // The other side has closed, or nothing can be read any more.
  bool HungUp() const;

  // What the owner's epoll was told of fd(): kept here because it goes with the socket.
  short polled_events = 0;

  _LIBSSH2_SESSION* handle() { return session_; }
  std::string LastError();  // libssh2's words for the call that failed last

  SessionHooks& hooks() { return hooks_; }
  SocketIo& io() { return hooks_.io; }  // for owners that work in rounds

  // libssh2's way to a signature: 0, or one of its errors.
  int Sign(std::string_view data, std::string& signature);

 private:
  void Fail(Trouble trouble, Cause cause);
  bool Connect();                // true: go on with the next stage
  bool ConnectThroughProgram();  // likewise
  bool Handshake();              // likewise
  bool CheckHostKey();           // likewise
  bool Authenticate();           // likewise
  bool Prepare();
  void FailAuthentication(int code);
  std::string OfferedBlob(const Key& key);

  const WorkerAccess worker_;
  const Endpoint endpoint_;
  const std::shared_ptr<const Identities> identities_;
  const SignElsewhere sign_elsewhere_;
  std::vector<HostKey> pins_;
  bool handshake_allowed_ = false;
  Stage stage_ = Stage::kConnecting;
  Trouble trouble_ = Trouble::kConnection;
  Cause cause_;
  std::optional<HostKeyText> learned_;
  int fd_ = -1;
  SessionHooks hooks_;
  _LIBSSH2_SESSION* session_ = nullptr;
  std::size_t next_key_ = 0;
  std::string offered_blob_;   // must stay the same while one key is being tried
  std::string signing_error_;  // why the last signature was not made
  std::shared_ptr<SlowSignature> slow_signature_;
};

// ---- One session for a caller that has time: the shell and the tunnel begin with it; the fan-out
// does all of this without waiting.

// Blocks until the session is ready, at most for Limits::retry (once keys were refused: for
// Limits::auth_retry from then on) and the attempt under way then. Null: `why` says why.
// `on_trouble` hears why an attempt failed that is not the last one.
std::unique_ptr<Session> Dial(const WorkerAccess& worker,
                              const std::shared_ptr<const Identities>& identities,
                              const Limits& limits, Clock& clock, Random& random,
                              const std::function<void(const Cause&)>& on_trouble,
                              const std::stop_token& stop, Verdict& why);

}  // namespace podctl::ssh

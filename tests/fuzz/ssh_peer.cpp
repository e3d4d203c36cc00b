// Whoever answers at a worker's address, before it has proved to be one: any bytes as banner and
// key exchange, in pieces of any size, with the line dropped anywhere.
//
// The first byte of an input: bits 0-1 what is known of the host key (nothing, nothing and strict,
// a pin), bits 2-4 the size of the pieces, bit 5 whether the peer hangs up at the end or says
// nothing more. The rest is what the peer sends. libssh2's own key exchange is random, so the
// peer's signature is never right: whatever it sends, no command may count as run.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>

#include "providers/ssh/keys/key.h"
#include "providers/ssh/libssh2/connection.h"
#include "tests/fuzz/fuzz_target.h"

namespace podctl::fuzz {
namespace {

using ssh::Connection;

// What a connection tells, judged at once.
class Judge final : public ssh::ConnectionSink {
 public:
  void OnData(std::size_t, ssh::Stream, std::string_view) override {
    Expect(false, "nobody is listened to before he has logged us in");
  }
  void OnPhase(std::size_t, ssh::Phase phase) override {
    Expect(phase != ssh::Phase::kRunning, "no command is sent to a stranger");
    Expect(!done_, "nothing comes after the end");
    done_ = phase == ssh::Phase::kDone;
  }
  void OnResult(std::size_t, const ssh::WorkerResult& result) override {
    ++results_;
    Expect(result.outcome == ssh::Outcome::kUnreachable ||
               result.outcome == ssh::Outcome::kHostKeyChanged,
           "a stranger is unreachable");
    Expect(!result.message.empty(), "it is said why");
    Expect(!result.learned_host_key.has_value(), "no key is learned without its signature");
    ExpectShowable(result.message);
  }
  bool Full(std::size_t) override { return false; }

  bool done() const { return done_ && results_ == 1; }

 private:
  bool done_ = false;
  int results_ = 0;
};

// A peer on an abstract socket of Linux (unix(7)): no port is taken, and nothing is left behind.
class Peer {
 public:
  Peer() {
    auto* address = reinterpret_cast<sockaddr_un*>(&endpoint_.address);
    address->sun_family = AF_UNIX;
    const std::string name = "podctl-fuzz-peer-" + std::to_string(getpid());
    std::memcpy(address->sun_path + 1, name.data(), name.size());
    endpoint_.size = sizeof(sockaddr_un);
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto* raw = reinterpret_cast<const sockaddr*>(&endpoint_.address);
    Expect(bind(listener_, raw, endpoint_.size) == 0 && listen(listener_, 1) == 0,
           "there are sockets");
  }
  ~Peer() {
    HangUp();
    close(listener_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  const ssh::Endpoint& endpoint() const { return endpoint_; }
  void Accept() { line_ = accept(listener_, nullptr, nullptr); }
  void Send(std::string_view bytes) {
    char heard[4096];
    while (recv(line_, heard, sizeof(heard), MSG_DONTWAIT) > 0) {
    }
    (void)!send(line_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  void HangUp() {
    if (line_ >= 0) close(line_);
    line_ = -1;
  }

 private:
  ssh::Endpoint endpoint_;
  int listener_ = -1;
  int line_ = -1;
};

std::shared_ptr<const ssh::Identities> OneKey() {
  const auto made = ssh::MakeEd25519Key("fuzz");
  auto file = ssh::ParseKeyFile(made->private_text, "fuzz");
  return std::make_shared<ssh::Identities>(std::vector<std::shared_ptr<const ssh::Key>>{file->key});
}

ssh::Job JobFor(unsigned kind) {
  ssh::Job job;
  job.worker.pod = "research";
  job.worker.host = "peer";
  job.worker.user = "alice";
  job.command = "true";
  job.worker.trust_first_use = (kind & 1) == 0;
  if ((kind & 2) != 0) {
    job.worker.host_keys = {
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"};
  }
  return job;
}

void Talk(unsigned flags, std::string_view bytes) {
  static const auto identities = OneKey();
  constexpr std::size_t kPieces[] = {1, 2, 7, 64, 500, 4096, 32768, 65536};
  const std::size_t piece =
      std::max(kPieces[flags >> 2 & 7], bytes.size() / 200 + 1);  // at most 200 steps
  const ssh::Job job = JobFor(flags & 3);
  ssh::Limits limits;
  limits.retry = std::chrono::milliseconds(0);
  Judge judge;
  Peer peer;
  Connection::Time now{std::chrono::seconds(1)};
  Connection connection(0, job, limits, peer.endpoint(), identities, now, judge);
  connection.Begin(now);
  peer.Accept();
  while (!bytes.empty() && connection.state() != Connection::State::kDone) {
    peer.Send(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    connection.Step(now);
  }
  if ((flags & 32) == 0) peer.HangUp();
  // Silence, or the end of the line: then its own time limit has to end it.
  for (int i = 0; i < 4 && connection.state() != Connection::State::kDone; ++i) {
    Expect(connection.timer() != Connection::kNever, "an open connection has a time limit");
    now = std::max(now, connection.timer());
    connection.Step(now);
  }
  Expect(connection.state() == Connection::State::kDone && judge.done(), "every connection ends");
}

}  // namespace
}  // namespace podctl::fuzz

// libssh2 forgets its half of the key exchange when that is broken off (a few hundred bytes). Keys
// of ours that leak are found by ssh_keys. The names are LeakSanitizer's.
extern "C" const char* __lsan_default_suppressions();   // NOLINT: its name
extern "C" const char* __lsan_default_suppressions() {  // NOLINT: its name
  return "leak:CRYPTO_zalloc\nleak:CRYPTO_malloc\nleak:libssh2\n";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  podctl::fuzz::Talk(data[0], podctl::fuzz::TextOf(data + 1, size - 1));
  return 0;
}

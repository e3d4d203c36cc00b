// The door to the data plane: running one command on many workers at once over SSH.
//
// Implementations: FanOut (libssh2/: one poller thread), OpenSshTransport (openssh/: the program
// ssh), and TransportSelector, which asks each worker's settings which of the two it is. What they
// promise is in tests/conformance/ssh_transport_suite.h. Knows nothing of pods' specs, plans or the
// API.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/base/ending_text.h"
#include "providers/base/error.h"
#include "providers/ssh/cause.h"
#include "providers/worker.h"

namespace podctl::ssh {

// Standard input that comes while the commands run, the same for all of them; each reads at its own
// pace and place. Thread safe.
class InputFeed {
 public:
  virtual ~InputFeed() = default;
  // At most `size` bytes from `offset` on; 0: nothing yet, or the end.
  virtual std::size_t Read(std::uint64_t offset, char* bytes, std::size_t size) = 0;
  virtual bool EndsAt(std::uint64_t offset) = 0;
  // `more` is called, on any thread, when there is more to read, or the end; empty: no more calls
  // once this returns. One listener at a time; it must not wait.
  virtual void Listen(std::function<void()> more) = 0;
};

struct Job {
  WorkerAccess worker;
  std::string command;  // one string for the remote login shell (RFC 4254 6.5)
  // Standard input: this first, then the feed's; where they end, end of file. Null: none. The feed
  // is lent; at most one for all jobs of a Run.
  std::shared_ptr<const std::string> input;
  InputFeed* feed = nullptr;
  // How it is ended on the worker: a command that is run beside it, and exits with kEndedWhole or
  // kEndedInPart (ending_text.h). Empty: EndSiblingsCommand.
  std::string ending = {};
  // Where that depends on why: asked for it when it is due, in place of `ending`, which then is one
  // of its texts. On the thread of Run, or one of its own; may be empty.
  std::function<std::string()> ending_now = {};

  std::string EndingNow() const { return ending_now ? ending_now() : ending; }
};

// Each stage of reaching a worker has a time limit of its own; each ends with its own message.
struct Limits {
  std::chrono::milliseconds connect{10'000};
  std::chrono::milliseconds first_byte{10'000};  // from the connection to the server's first byte
  std::chrono::milliseconds handshake{20'000};   // from there to the end of the key exchange
  std::chrono::milliseconds auth{20'000};        // from there to being logged in
  std::chrono::milliseconds command{0};          // from the start of the command; 0: no limit
  // Bytes of output, of both streams together: a worker that sends more has its connection closed,
  // and is kLost. 0: no limit.
  std::uint64_t output = 0;
  // How long trouble that may pass is retried, from the first try on, with jittered backoff:
  // refused, reset, unreachable, no banner, closed before the login. A node that is READY may not
  // answer SSH yet.
  std::chrono::milliseconds retry{60'000};
  // How long refused keys are offered again, from the first refusal on (and at most `retry`): a key
  // just published may not have reached the guest.
  std::chrono::milliseconds auth_retry{30'000};
  // When more jobs than this have ended not ok, nothing new is started; what runs goes on to its
  // end. 0: stop at the first failure. nullopt: no budget.
  std::optional<int> max_failures;
  int max_open = 1024;       // connections at once
  int max_handshakes = 256;  // of them in key exchange at once, which is what costs both sides
  // What is to end is asked to; who does not listen is killed after `grace`, by the worker itself.
  // For `termination` podctl waits to hear what came of it.
  std::chrono::seconds grace = kEndingGrace;
  std::chrono::milliseconds termination{4'000};
  // After the `stop` of Run: nothing more is waited for, connections are closed as they are.
  std::stop_token abandon;
};

// The stages, of both transports. kConnected: it waits for its turn in the key exchange. kGreeting:
// we have spoken, and not a byte came yet.
enum class Stage {
  kConnecting,
  kConnected,
  kGreeting,
  kHandshaking,
  kAuthenticating,
  kReady,
  kFailed
};
// How long one may take; zero for those that wait for nothing of the worker's.
std::chrono::milliseconds StageLimit(Stage stage, const WorkerAccess& worker, const Limits& limits);
// Why one is given up that took longer: "10.0.0.7:22 took the connection but said nothing within
// 10s".
Cause StageComplaint(Stage stage, const WorkerAccess& worker, const Limits& limits);

enum class Outcome {
  kExited,          // the command ended; see exit_code (255 is a code like any other)
  kSignaled,        // the command was killed by `signal`
  kLost,            // the connection broke after the command was sent: it may or may not have run
  kTimedOut,        // the command ran longer than Limits::command, and was asked to end
  kUnreachable,     // no connection, or no SSH handshake, within Limits::retry
  kAuthRefused,     // the worker accepted none of our keys within Limits::auth_retry
  kHostKeyChanged,  // the worker showed a key that is not the pinned one: never retried
  kCancelled,       // stop was requested
  kSkipped,         // not started, because more than Limits::max_failures failed before
};
std::string_view OutcomeName(Outcome outcome);  // "exited", "host key changed", …

// How an attempt to be let in by a worker failed.
struct Verdict {
  Outcome outcome = Outcome::kUnreachable;
  Cause cause;
  bool may_pass = true;  // it is worth another try

  // kCancelled, kUnauthenticated (keys refused), kUnavailable (it may pass), else
  // kFailedPrecondition.
  Error ToError() const;
};

struct WorkerResult {
  Outcome outcome = Outcome::kUnreachable;
  int exit_code = 0;
  std::string signal;  // without "SIG": "KILL"
  // When not kExited and not kSignaled, where it is known; of kExited what the command said of its
  // failure, where somebody who knows it put that here.
  Cause cause;
  std::string message;  // when not kExited: the cause as a sentence, and how often it was tried
  // kCancelled, kTimedOut: the command was asked to end; the worker found nothing of it left.
  bool asked = false;
  bool ended = false;
  int attempts = 0;                     // connections tried
  std::chrono::milliseconds waited{0};  // from Run until the command was sent, or until it ended
  std::chrono::milliseconds ran{0};     // from there to its end
  std::uint64_t bytes_out = 0;          // received on the command's standard output
  std::uint64_t bytes_err = 0;          // and standard error
  // Set when the key was trusted on first use: what to remember.
  std::optional<HostKeyText> learned_host_key;

  bool ok() const { return outcome == Outcome::kExited && exit_code == 0; }
  void End(Outcome how, Cause why);  // with the message
  void CountTries();                 // said in the message, where there were several
};

// Why a result is not ok, the same for all workers it happened to: without the worker's address and
// its number of tries. Empty for one that is.
std::string CauseOf(const WorkerResult& result);

// What a command that was asked to end has reported: nothing yet, or whether it is over.
Termination TerminationOf(std::optional<bool> reported);

bool IsTooMuch(const WorkerResult& result, const Limits& limits);
Cause TooMuchOutput(const Limits& limits);  // of such a result

enum class Stream { kOut, kErr };
enum class Phase { kWaiting, kConnecting, kAuthenticating, kRunning, kRetrying, kDone };

// Called on the thread that called Run. `job` is the index into the jobs given.
class Observer {
 public:
  virtual ~Observer() = default;
  // One line without its newline; a line longer than 64 KiB comes in pieces. A last line without a
  // newline is delivered too.
  virtual void OnLine(std::size_t job, Stream stream, std::string_view line) = 0;
  // The next one of that job and stream is such a piece, but not the last one of its line, or a
  // last line without a newline.
  virtual void OnOpenLine(std::size_t, Stream) {}
  // Whether the output is wanted as it comes, in pieces of any length, in place of lines.
  virtual bool TakesBytes() const { return false; }
  virtual void OnBytes(std::size_t, Stream, std::string_view) {}
  virtual void OnPhase(std::size_t job, Phase phase) = 0;
  // A try came to nothing, and another follows: why. Of several in quick succession perhaps only
  // the last.
  virtual void OnTryAgain(std::size_t, const Cause&) {}
  // Once for each job, just before its Phase::kDone: what Run will return for it.
  virtual void OnResult(std::size_t job, const WorkerResult& result);
};

// Thread safe: several threads may be in Run at once, each with an observer of its own.
class Transport {
 public:
  virtual ~Transport() = default;
  // Runs every job, blocks until each has a result, and returns them in the order of the jobs. One
  // worker's trouble never delays or fails another. On `stop`: starts nothing new, asks the remote
  // commands to end, and returns after Limits::termination at the latest.
  virtual std::vector<WorkerResult> Run(const std::vector<Job>& jobs, const Limits& limits,
                                        Observer& observer, std::stop_token stop) = 0;
  // How many of these workers a Run can have open at the same moment, whatever its limits say: what
  // runs on more of them must not wait for one another. As long as no other Run is under way.
  virtual std::size_t MostAtOnce(const std::vector<WorkerAccess>& workers) const;
};

// Whether a program leads to any of them: such a run has at most kMostPrograms open.
bool AnyThroughProgram(const std::vector<WorkerAccess>& workers);
bool AnyThroughProgram(const std::vector<Job>& jobs);

// The transport that podctl uses: gathers what the user's known_hosts files say of each worker, and
// leaves the work to libssh2 or, where the worker says so, to the program ssh.
class TransportSelector final : public Transport {
 public:
  // Fills in what is known of a worker's host keys (KnownHostsFiles::Consult).
  using Consult = std::function<void(WorkerAccess& worker)>;
  // The transports are lent and must outlive it. Thread safe, as far as they are.
  TransportSelector(Transport& own, Transport& openssh, Consult consult)
      : own_(own), openssh_(openssh), consult_(std::move(consult)) {}

  // One run goes through one transport: its jobs are those of one pod, which says which.
  std::vector<WorkerResult> Run(const std::vector<Job>& jobs, const Limits& limits,
                                Observer& observer, std::stop_token stop) override;
  std::size_t MostAtOnce(const std::vector<WorkerAccess>& workers) const override;

 private:
  Transport& own_;
  Transport& openssh_;
  const Consult consult_;
};

}  // namespace podctl::ssh

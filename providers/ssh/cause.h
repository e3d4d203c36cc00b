// Why a worker was not reached, or how its command came to an end that was not its own, as data;
// and the only place that makes sentences of it. Whoever has to tell one cause from another asks
// for the code, never for words.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "providers/worker.h"

namespace podctl::ssh {

// What came of asking a command to end, or when it was given up.
enum class Termination {
  kNone,
  kBeforeSent,  // nothing was sent yet
  kWhileSent,   // the request to run it was under way
  kEnded,       // the worker found nothing of it left
  kNotEnded,    // the worker could not end it
  kStillAtIt,   // the worker has not told yet
  kBroke,       // the connection broke meanwhile
  kNotWaited,   // nobody waited for its end
};
// "asked to end, still at it"; "" for kNone.
std::string_view TerminationWords(Termination termination);

struct Cause {
  enum class Code {
    kNone,
    kOther,  // `words` say it all, and name no worker
    // On the way there.
    kNoRoute,       // none is known
    kNoProgram,     // the program that leads there did not start
    kNotConnected,  // `error`, or what the program that leads there said
    kNoAnswer,      // within `limit`
    // From the connection to being logged in.
    kSilent,        // not a byte within `limit`
    kSilentBehind,  // likewise, through a program that leads there
    kNoHandshake,
    kNoKeyExchange,  // within `limit`
    kBrokeOff,       // while logging in
    kNotLetIn,       // within `limit`
    kKeysRefused,
    kNoFittingKey,
    kHostKeyChanged,
    kHostKeyRevoked,
    kHostKeyUnknown,    // and none may be trusted for the first time
    kHostKeyUnchecked,  // likewise, for the reason in `words`
    // From there to the end of the command.
    kNoChannel,
    kChannelLate,  // within `limit`
    kNoCommand,    // it took none
    kNoCommands,   // it runs none for us
    kNoReply,      // within `limit`, to the request to run it
    kBroke,        // the connection, after the command was sent
    kNoEnd,        // it closed the channel, and told no exit code
    kTooLong,      // the command ran longer than `limit`
    kTooMuch,      // it sent more than `words`
    kCancelled,
  };

  Code code = Code::kNone;
  Termination termination = Termination::kNone;  // kTooLong, kCancelled
  // errno, also where it was another program that told of it; EKEYREJECTED: its key was not taken.
  int error = 0;
  int port = 0;
  std::chrono::milliseconds limit{0};
  std::string host;
  std::string worker;  // "research/3"
  std::string route;   // the program that led there: "`gcloud`"; "": a connection, or no matter
  std::string words;  // of the system, a library or the other side; of host keys, what was expected
  std::string shown;  // the host key in words: "ssh-ed25519 SHA256:…"

  explicit operator bool() const { return code != Code::kNone; }
};

// Of a worker.
Cause CauseAt(const WorkerAccess& worker, Cause::Code code, std::string words = {});
// The same with the program that leads there, if one does.
Cause CauseThrough(const WorkerAccess& worker, Cause::Code code, std::string words = {});
Cause LateAt(const WorkerAccess& worker, Cause::Code code, std::chrono::milliseconds limit);
Cause OtherCause(std::string words);
Cause CancelledCause(Termination termination);

// A sentence without its end, with the worker's name and address: "cannot connect to 10.0.0.7:22:
// Connection refused".
std::string FullWords(const Cause& cause);
// The same without what differs from worker to worker, so that one cause of many reads the same:
// "cannot connect to port 22: Connection refused".
std::string SharedWords(const Cause& cause);
// What SharedWords leave out and somebody has to compare: "research/3 (10.0.0.7): expected …, but
// it shows …". "" for most causes.
std::string OwnWords(const Cause& cause);
// In a few words, the same for all that are alike, without port and address, for a line that tells
// more than that: "connection refused". Of what another program said, its own words.
std::string BriefWords(const Cause& cause);

// ---- A program that leads to a worker (`ssh -W`, gcloud's tunnel), and what is made of its own
// last words.

// At once, of all connections that are open or kept: each costs a process, and gcloud is a big one.
inline constexpr int kMostPrograms = 64;

// Who leads there, for messages: "the jump host alice@bastion", "`gcloud`".
std::string RouteName(const WorkerAccess& worker);

// Whether what the program said before it ended means that another try ends alike: it was not let
// in, or took the jump host for another one. What a machine that boots says is not among it.
bool WillNotPass(std::string_view last_words);

// The errno that such a program or ssh itself tells of, as strerror words it; EKEYREJECTED: it was
// let in with none of its keys; 0: none that is known here.
int ErrorInWords(std::string_view words);

// What to look at where a worker is not reached; empty where nothing is known to help.
std::string_view ReachAdvice(const Cause& cause);
// The same where others of its pod answer at the same port, which therefore is the right one.
std::string_view AloneAdvice(const Cause& cause);

}  // namespace podctl::ssh

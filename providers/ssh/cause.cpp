#include "providers/ssh/cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "providers/base/text.h"

namespace podctl::ssh {
namespace {

using Code = Cause::Code;

// What stands in brackets is said of one worker, and not of several. {at}: an address, or just the
// port, and the way there; {why}: ": words" where there are any.
std::string_view TextOf(Code code) {
  switch (code) {
    case Code::kNone:
      return "";
    case Code::kOther:
      return "{words}";
    case Code::kNoRoute:
      return "cannot reach {worker}: {words}";
    case Code::kNoProgram:
      return "cannot reach {at}: {words}";
    case Code::kNotConnected:
      return "cannot connect to {at}: {words}";
    case Code::kNoAnswer:
      return "cannot connect to {at}: no answer within {limit}";
    case Code::kSilent:
      return "[{at} ]took the connection but said nothing within {limit}";
    case Code::kSilentBehind:
      return "[{host}:{port} ]said nothing through {route} within {limit}";
    case Code::kNoHandshake:
      return "no SSH handshake with {at}: {words}";
    case Code::kNoKeyExchange:
      return "[{at} ]did not finish the key exchange within {limit}";
    case Code::kBrokeOff:
      return "[{at} ]broke off while logging in: {words}";
    case Code::kNotLetIn:
      return "[{at} ]did not let us in within {limit}";
    case Code::kKeysRefused:
      return "[{at} ]accepts none of our keys {words}";
    case Code::kNoFittingKey:
      return "no key to offer {at}: {words}; make another one: ssh-keygen -t ed25519";
    case Code::kHostKeyChanged:
      return "THE HOST KEY[ OF {worker} ({host})] HAS CHANGED[: expected {words}, but it shows "
             "{shown}]; either the machine was replaced, or somebody answers in its place, so "
             "podctl does not talk to it";
    case Code::kHostKeyRevoked:
      return "THE HOST KEY[ OF {worker} ({host})] IS REVOKED in known_hosts[: {shown}]; podctl "
             "does not talk to whoever shows it";
    case Code::kHostKeyUnknown:
      return "no host key is known[ for {worker} ({host})], and trusting the first one is switched "
             "off[; it shows {shown}]";
    case Code::kHostKeyUnchecked:
      return "the host key[ of {worker} ({host})] cannot be checked: {words}[; it shows {shown}]";
    case Code::kNoChannel:
      return "{worker} opens no channel: {words}";
    case Code::kChannelLate:
      return "{worker} did not open a channel within {limit}";
    case Code::kNoCommand:
      return "{worker} took no command: {words}";
    case Code::kNoCommands:
      return "{worker} refuses to run commands over SSH";
    case Code::kNoReply:
      return "{worker} did not answer the request to run the command within {limit}; it may have "
             "run";
    case Code::kBroke:
      return "the connection to {worker} broke after the command was sent, so it may or may not "
             "have run{why}";
    case Code::kNoEnd:
      return "{worker} closed the channel without telling how the command ended, so it may or may "
             "not have run to its end";
    case Code::kTooLong:
      return "the command ran longer than {limit}{termination}";
    case Code::kTooMuch:
      return "it sent more than the {words} that an answer may have";
    case Code::kCancelled:
      return "cancelled{termination}";
  }
  return "";
}

std::string_view DetailOf(Code code) {
  switch (code) {
    case Code::kHostKeyChanged:
      return "{worker} ({host}): expected {words}, but it shows {shown}";
    case Code::kHostKeyRevoked:
      return "{worker} ({host}): {shown}";
    case Code::kHostKeyUnknown:
    case Code::kHostKeyUnchecked:
      return "{worker} ({host}): it shows {shown}";
    default:
      return "";
  }
}

std::string Render(const Cause& cause, std::string_view text, bool of_one) {
  std::string pattern;
  bool own = false;
  for (const char c : text) {
    if (c == '[' || c == ']') {
      own = c == '[';
    } else if (of_one || !own) {
      pattern += c;
    }
  }
  std::string at =
      of_one ? fmt::format("{}:{}", cause.host, cause.port) : fmt::format("port {}", cause.port);
  if (!cause.route.empty()) at += " through " + cause.route;
  const bool when =
      cause.termination == Termination::kBeforeSent || cause.termination == Termination::kWhileSent;
  const std::string termination =
      cause.termination == Termination::kNone
          ? ""
          : fmt::format("{}{}", when ? " " : "; ", TerminationWords(cause.termination));
  return fmt::format(fmt::runtime(pattern), fmt::arg("at", at), fmt::arg("host", cause.host),
                     fmt::arg("port", cause.port), fmt::arg("route", cause.route),
                     fmt::arg("worker", of_one ? cause.worker : "the worker"),
                     fmt::arg("words", cause.words), fmt::arg("shown", cause.shown),
                     fmt::arg("why", cause.words.empty() ? "" : ": " + cause.words),
                     fmt::arg("limit", FormatDuration(cause.limit)),
                     fmt::arg("termination", termination));
}

// Of OpenSSH's ssh, then of gcloud. Other words cost time, since it is tried again; nothing else.
constexpr std::string_view kFinal[] = {
    "Host key verification failed",
    "Permission denied (",
    "Too many authentication failures",
    "administratively prohibited",
    "Bad configuration option",
    "Name or service not known",
    "not authorized",
    "do not currently have an active account",
    "problem refreshing your current auth tokens",
    "Reauthentication",
    "was not found",
    "SERVICE_DISABLED",
    "Invalid choice",
};

struct KnownError {
  std::string_view words;
  int error;
  std::string_view brief;
};
constexpr KnownError kErrors[] = {
    {"Connection refused", ECONNREFUSED, "connection refused"},
    {"Connection timed out", ETIMEDOUT, "connection timed out"},
    {"No route to host", EHOSTUNREACH, "no route to host"},
    {"Network is unreachable", ENETUNREACH, "network is unreachable"},
    {"Permission denied (publickey", EKEYREJECTED, "keys refused"},
};

// Of those that say enough; "" of others.
std::string_view BriefOf(Code code) {
  switch (code) {
    case Code::kNoRoute:
      return "no way there";
    case Code::kNoAnswer:
      return "no answer";
    case Code::kSilent:
    case Code::kSilentBehind:
      return "connected, but silent";
    case Code::kNoHandshake:
      return "no SSH handshake";
    case Code::kNoKeyExchange:
      return "key exchange not finished";
    case Code::kBrokeOff:
      return "broke off while logging in";
    case Code::kNotLetIn:
      return "not let in";
    case Code::kKeysRefused:
      return "keys refused";
    case Code::kNoFittingKey:
      return "no fitting key";
    case Code::kHostKeyChanged:
      return "host key changed";
    case Code::kHostKeyRevoked:
      return "host key revoked";
    case Code::kHostKeyUnknown:
    case Code::kHostKeyUnchecked:
      return "host key not known";
    case Code::kNoChannel:
    case Code::kChannelLate:
      return "no channel";
    case Code::kNoCommand:
    case Code::kNoCommands:
      return "command not taken";
    default:
      return "";
  }
}

constexpr std::string_view kOtherPort =
    "Nothing listens there, or not yet. Where SSH has another port: `ssh: {port: …}` in the spec, "
    "or PODCTL_SSH_PORT; then podctl apply.";
// The same on this machine, where an emulator serves.
constexpr std::string_view kNobodyHere =
    "Nothing listens there, or not yet. Where SSH has another port: `ssh: {port: …}` in the spec, "
    "or PODCTL_SSH_PORT; then podctl apply. For an emulator with `--workers none` nobody ever "
    "answers: `ssh: {check: false}`.";
constexpr std::string_view kOtherWay =
    "Is it still booting, or does a firewall keep this machine out? Other ways in: `ssh: {iap: "
    "true}`, `proxyJump`, `address: internal`.";
constexpr std::string_view kAlone =
    "The others answer on that port, so its machine or its sshd is down, or not up yet.";
constexpr std::string_view kNewKey =
    "A key that was published just now takes up to a minute to reach a worker.";

}  // namespace

std::string_view TerminationWords(Termination termination) {
  switch (termination) {
    case Termination::kNone:
      return "";
    case Termination::kBeforeSent:
      return "before the command was sent";
    case Termination::kWhileSent:
      return "while the command was being sent";
    case Termination::kEnded:
      return "ended";
    case Termination::kNotEnded:
      return "asked to end, and could not be ended";
    case Termination::kStillAtIt:
      return "asked to end, still at it";
    case Termination::kBroke:
      return "asked to end, and the connection broke";
    case Termination::kNotWaited:
      return "the command may go on running";
  }
  return "";
}

Cause CauseAt(const WorkerAccess& worker, Code code, std::string words) {
  Cause cause;
  cause.code = code;
  cause.port = worker.port;
  cause.host = worker.host;
  cause.worker = worker.Name();
  cause.words = std::move(words);
  return cause;
}

Cause CauseThrough(const WorkerAccess& worker, Code code, std::string words) {
  Cause cause = CauseAt(worker, code, std::move(words));
  if (worker.through.empty()) return cause;
  cause.route = RouteName(worker);
  cause.error = ErrorInWords(cause.words);
  return cause;
}

Cause LateAt(const WorkerAccess& worker, Code code, std::chrono::milliseconds limit) {
  Cause cause = CauseAt(worker, code);
  cause.limit = limit;
  return cause;
}

Cause OtherCause(std::string words) {
  Cause cause;
  cause.code = Code::kOther;
  cause.words = std::move(words);
  return cause;
}

Cause CancelledCause(Termination termination) {
  Cause cause;
  cause.code = Code::kCancelled;
  cause.termination = termination;
  return cause;
}

std::string FullWords(const Cause& cause) {
  return Render(cause, TextOf(cause.code), true);
}

std::string SharedWords(const Cause& cause) {
  return Render(cause, TextOf(cause.code), false);
}

std::string OwnWords(const Cause& cause) {
  return Render(cause, DetailOf(cause.code), true);
}

std::string BriefWords(const Cause& cause) {
  const auto* known = std::find_if(std::begin(kErrors), std::end(kErrors),
                                   [&](const auto& each) { return each.error == cause.error; });
  if (known != std::end(kErrors)) return std::string(known->brief);
  if (const std::string_view brief = BriefOf(cause.code); !brief.empty()) return std::string(brief);
  return cause.words.empty() ? SharedWords(cause) : cause.words;
}

std::string RouteName(const WorkerAccess& worker) {
  if (worker.through.front() == "ssh") return "the jump host " + worker.through.back();
  return fmt::format("`{}`", worker.through.front());
}

bool WillNotPass(std::string_view last_words) {
  return std::any_of(std::begin(kFinal), std::end(kFinal), [&](std::string_view words) {
    return last_words.find(words) != std::string_view::npos;
  });
}

int ErrorInWords(std::string_view words) {
  const auto* found = std::find_if(
      std::begin(kErrors), std::end(kErrors),
      [&](const KnownError& each) { return words.find(each.words) != std::string_view::npos; });
  return found == std::end(kErrors) ? 0 : found->error;
}

std::string_view ReachAdvice(const Cause& cause) {
  if (cause.code == Cause::Code::kNoAnswer) return kOtherWay;
  if (cause.code == Cause::Code::kKeysRefused) return kNewKey;
  switch (cause.error) {
    case ECONNREFUSED:
      return cause.host.starts_with("127.") ? kNobodyHere : kOtherPort;
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return kOtherWay;
    case EKEYREJECTED:
      return kNewKey;
    default:
      return {};
  }
}

std::string_view AloneAdvice(const Cause& cause) {
  const std::string_view advice = ReachAdvice(cause);
  return advice.empty() || advice == kNewKey ? advice : kAlone;
}

}  // namespace podctl::ssh

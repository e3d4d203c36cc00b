#include "providers/ssh/openssh/ssh_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/base/text.h"
#include "providers/ssh/keys/host_key.h"

namespace podctl::ssh {
namespace {

constexpr std::size_t kLongestLine = 4096;  // bytes; the rest is dropped
constexpr std::size_t kMostOffered = 6;     // as many as servers take

bool Has(std::string_view line, std::string_view words) {
  return line.find(words) != std::string_view::npos;
}

// What stands after `words`, if they are there.
std::string_view After(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  return at == std::string_view::npos ? std::string_view() : line.substr(at + words.size());
}

// What ssh itself says when the program that leads there has ended; what that program says stands
// on the same stream.
bool IsEndOfProxy(std::string_view line) {
  return line.starts_with("kex_exchange_identification: ") ||
         line.starts_with("ssh_exchange_identification: ") ||
         line.starts_with("banner exchange: ") || Has(line, " by UNKNOWN port ");
}

}  // namespace

void SshLog::Add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    partial_.append(
        bytes.substr(0, std::min(end, kLongestLine - std::min(kLongestLine, partial_.size()))));
    if (end < bytes.size()) Finish();
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
}

void SshLog::Finish() {
  const std::string line = VisibleControls(TrimBlanks(partial_));
  partial_.clear();
  if (!line.empty()) AddLine(line);
}

void SshLog::AddRouteLog(std::string_view text) {
  for (const std::string& line : SplitLines(text)) {
    const std::string visible = VisibleControls(TrimBlanks(line));
    if (!visible.empty()) AddRouteLine(visible);
  }
}

// As long as the worker has said nothing, complaints are not about it.
void SshLog::AddRouteLine(std::string_view line) {
  if (IsEndOfProxy(line) || line.starts_with('@')) return;
  route_lines_.first = std::exchange(route_lines_.second, std::string(line));
}

std::string SshLog::RouteWords() const {
  const auto& [before, last] = route_lines_;
  if (last.empty()) return "it closed the connection";
  return before.empty() ? last : fmt::format("{}; {}", before, last);
}

void SshLog::AddLine(std::string_view line) {
  if (proxied_ && stage_ == Stage::kGreeting && !line.starts_with("debug")) {
    AddRouteLine(line);
    return;
  }
  if (!line.starts_with("debug1: ")) {
    refused_ = refused_ || Has(line, "Permission denied (");
    distrusted_ = distrusted_ || Has(line, "Host key verification failed");
    changed_ = changed_ || Has(line, "HOST IDENTIFICATION HAS CHANGED");
    revoked_ = revoked_ || Has(line, "REVOKED HOST KEY");
    if (line.starts_with("Warning: ") || Has(line, "UNPROTECTED PRIVATE KEY FILE")) {
      if (warning_.empty() && !Has(line, "Permanently added")) warning_ = line;
    } else if (!line.starts_with('@') && !line.starts_with("Authenticated to ")) {
      complaint_ = line;
    }
    return;
  }
  if (stage_ == Stage::kConnecting && Has(line, "Connection established")) {
    stage_ = Stage::kGreeting;
  } else if (Has(line, "Executing proxy command: ")) {
    proxied_ = true;
    stage_ = Stage::kGreeting;
  } else if (Has(line, "Remote protocol version")) {
    stage_ = Stage::kHandshaking;
  } else if (Has(line, "SSH2_MSG_NEWKEYS received")) {
    stage_ = Stage::kAuthenticating;
  } else if (const auto key = After(line, "Server host key: "); !key.empty()) {
    shown_key_ = key;
  } else if (const auto offer = After(line, "Offering public key: ");
             !offer.empty() && offered_.size() < kMostOffered) {
    offered_.emplace_back(offer.substr(0, offer.find(" SHA256:")));
  }
}

Verdict SshLog::Judge(const WorkerAccess& worker) const {
  using Code = Cause::Code;
  const auto distrust = [&](Outcome outcome, HostKeyVerdict verdict) {
    return Verdict{outcome, HostKeyComplaint(verdict, worker, PinsOf(worker), shown_key_), false};
  };
  if (revoked_) return distrust(Outcome::kHostKeyChanged, HostKeyVerdict::kRevoked);
  if (changed_ || (distrusted_ && !worker.host_keys.empty())) {
    return distrust(Outcome::kHostKeyChanged, HostKeyVerdict::kChanged);
  }
  if (distrusted_) return distrust(Outcome::kUnreachable, HostKeyVerdict::kUnknown);
  const std::string more = warning_.empty() ? "" : "; " + warning_;
  if (refused_) {
    return {Outcome::kAuthRefused,
            CauseAt(worker, Code::kKeysRefused,
                    fmt::format("for the user `{}` (offered: {}){}", worker.user,
                                offered_.empty() ? "nothing" : Join(offered_, ", "), more)),
            true};
  }
  if (proxied_ && stage_ == Stage::kGreeting) {
    const std::string words = RouteWords();
    Cause cause = CauseThrough(worker, Code::kNotConnected, words);
    if (cause.route.empty()) cause.route = "its proxy command";
    cause.error = ErrorInWords(words);
    return {Outcome::kUnreachable, std::move(cause), !WillNotPass(words)};
  }
  if (Has(complaint_, "no matching host key type found") && Has(complaint_, "ssh-rsa")) {
    return {Outcome::kUnreachable, CauseAt(worker, Code::kNoHandshake, std::string(kWeakHostKeys)),
            false};
  }
  std::string_view why = complaint_;
  // "ssh: connect to host 10.0.0.1 port 22: Connection refused"
  if (why.starts_with("ssh: ")) why = why.substr(std::min(why.rfind(": ") + 2, why.size()));
  if (why.empty()) why = "the ssh program gives no reason";
  const Code code = stage_ == Stage::kConnecting       ? Code::kNotConnected
                    : stage_ == Stage::kAuthenticating ? Code::kBrokeOff
                                                       : Code::kNoHandshake;
  Cause cause = CauseAt(worker, code, fmt::format("{}{}", why, more));
  cause.error = ErrorInWords(cause.words);
  return {Outcome::kUnreachable, std::move(cause), true};
}

}  // namespace podctl::ssh

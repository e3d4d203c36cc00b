#include "providers/ssh/keys/host_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "providers/base/encoding.h"
#include "providers/base/text.h"
#include "providers/ssh/keys/wire.h"

namespace podctl::ssh {
namespace {

constexpr std::array<std::string_view, 5> kTypes = {
    "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa"};

// RFC 8332: one kind of RSA key, three signature algorithms. The one that is called as the kind
// signs with SHA-1, which can be forged: it is never asked for.
std::string Algorithms(std::string_view type) {
  return type == "ssh-rsa" ? "rsa-sha2-512,rsa-sha2-256" : std::string(type);
}

// RFC 4251 section 6: printable US-ASCII, at most 64 characters.
bool IsTypeName(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  return !text.empty() && text.size() <= kLongest &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

// Of a blob that may be any bytes: what a worker shows, or a pin from a damaged state.
std::string Describe(std::string_view type, std::string_view blob) {
  return fmt::format("{} {}", VisibleControls(type.substr(0, 64)), Fingerprint(blob));
}

}  // namespace

std::optional<HostKey> ParseHostKey(std::string_view text) {
  text = TrimBlanks(text);
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const std::string_view type = text.substr(0, blank);
  std::string_view rest = TrimBlanks(text.substr(blank));
  std::optional<std::string> blob = Base64Decode(rest.substr(0, rest.find(' ')));
  if (!blob.has_value() || !IsTypeName(type) || WireReader(*blob).String() != type) {
    return std::nullopt;
  }
  return HostKey{std::string(type), std::move(*blob)};
}

HostKeyText FormatHostKey(std::string_view blob) {
  const std::string_view type = WireReader(blob).String();
  if (!IsTypeName(type)) return {};
  return fmt::format("{} {}", type, Base64Encode(blob));
}

std::string HostKeyPreferences(const std::vector<HostKey>& pins) {
  std::vector<std::string> wanted;
  for (const bool pinned : {true, false}) {
    for (const std::string_view type : kTypes) {
      const bool is_pinned = std::any_of(pins.begin(), pins.end(),
                                         [&](const HostKey& pin) { return pin.type == type; });
      if (is_pinned == pinned) wanted.push_back(Algorithms(type));
    }
  }
  return Join(wanted, ",");
}

std::string_view RsaComplaint(std::string_view kex_init, bool knows_rsa_sha2) {
  constexpr std::uint8_t kKexInit = 20;
  constexpr std::size_t kCookie = 16;
  WireReader reader(kex_init);
  reader.Number();  // the packet's length, and of its padding
  reader.Byte();
  if (reader.Byte() != kKexInit) return {};
  reader.Bytes(kCookie);
  reader.String();  // key exchanges
  std::string_view offered = reader.String();
  if (!reader.ok()) return {};
  const std::string wanted = "," + HostKeyPreferences({}) + ",";
  std::string_view why;
  while (!offered.empty()) {
    const std::string_view name = offered.substr(0, offered.find(','));
    offered.remove_prefix(std::min(offered.size(), name.size() + 1));
    if (!knows_rsa_sha2 && name.starts_with("rsa-sha2-")) {
      why = kRsaBeyondUs;
    } else if (wanted.find(fmt::format(",{},", name)) != std::string::npos) {
      return {};
    } else if (name == "ssh-rsa" && why.empty()) {
      why = kWeakHostKeys;
    }
  }
  return why;
}

std::vector<HostKey> PinsOf(const WorkerAccess& worker) {
  std::vector<HostKey> pins;
  pins.reserve(worker.host_keys.size());
  for (const HostKeyText& text : worker.host_keys) {
    pins.push_back(ParseHostKey(text).value_or(HostKey{"unreadable", text}));
  }
  return pins;
}

HostKeyVerdict JudgeHostKey(const WorkerAccess& worker, const std::vector<HostKey>& pins,
                            std::string_view shown_blob) {
  const auto is_shown = [&](const HostKey& key) { return key.blob == shown_blob; };
  for (const HostKeyText& text : worker.revoked_keys) {
    if (const auto key = ParseHostKey(text); key && is_shown(*key)) return HostKeyVerdict::kRevoked;
  }
  if (pins.empty()) {
    const bool trust = worker.trust_first_use && worker.distrust.empty();
    return trust ? HostKeyVerdict::kLearned : HostKeyVerdict::kUnknown;
  }
  const bool known = std::any_of(pins.begin(), pins.end(), is_shown);
  return known ? HostKeyVerdict::kPinned : HostKeyVerdict::kChanged;
}

std::string DescribeHostKey(std::string_view blob) {
  return Describe(WireReader(blob).String(), blob);
}

Cause HostKeyComplaint(HostKeyVerdict verdict, const WorkerAccess& worker,
                       const std::vector<HostKey>& pins, std::string_view shown) {
  Cause cause = CauseAt(worker, Cause::Code::kHostKeyChanged);
  cause.shown = shown;
  if (verdict == HostKeyVerdict::kRevoked) {
    cause.code = Cause::Code::kHostKeyRevoked;
    return cause;
  }
  if (verdict == HostKeyVerdict::kUnknown) {
    cause.code =
        worker.distrust.empty() ? Cause::Code::kHostKeyUnknown : Cause::Code::kHostKeyUnchecked;
    cause.words = worker.distrust;
    return cause;
  }
  // Of several pins those of the shown kind say it all.
  const auto is_like = [&](const HostKey& pin) { return shown.starts_with(pin.type + " "); };
  const bool has_like = std::any_of(pins.begin(), pins.end(), is_like);
  std::vector<std::string> expected;
  for (const HostKey& pin : pins) {
    if (!has_like || is_like(pin)) expected.push_back(Describe(pin.type, pin.blob));
  }
  cause.words = Join(expected, " or ");
  if (!worker.host_keys_from.empty()) cause.words += fmt::format(" ({})", worker.host_keys_from);
  return cause;
}

}  // namespace podctl::ssh

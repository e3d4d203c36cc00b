// The keys that workers show: comparing with what was pinned, and telling people about it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/ssh/cause.h"
#include "providers/worker.h"

namespace podctl::ssh {

struct HostKey {
  std::string type;  // "ssh-ed25519"
  std::string blob;  // wire format, RFC 4253 section 6.6
};

// "ssh-ed25519 AAAA…", further words are ignored. nullopt: not a key, or the type inside the blob
// is another one.
std::optional<HostKey> ParseHostKey(std::string_view text);
HostKeyText FormatHostKey(std::string_view blob);  // "" when the blob names no type

// Host key algorithms to ask for, most wanted first, as libssh2 takes them. The types of `pins`
// come first, else a worker that has several keys would show one that nothing is known about; the
// others follow, so that a worker that lost its pinned key is seen as changed and not as broken.
// Host certificates are never asked for: nothing here could check one.
std::string HostKeyPreferences(const std::vector<HostKey>& pins);

// Why a server is left alone whose first packet (RFC 4253 section 7.1; perhaps cut, perhaps
// anything) offers RSA alone: it can sign with SHA-1 only, or we can check no better one
// (`knows_rsa_sha2`: libssh2 since 1.11). Empty: that is not what is wrong.
std::string_view RsaComplaint(std::string_view kex_init, bool knows_rsa_sha2);
inline constexpr std::string_view kWeakHostKeys =
    "its host key signs with SHA-1 only (ssh-rsa), which can be forged. Let its sshd sign with "
    "rsa-sha2-512, or give it an Ed25519 key (ssh-keygen -A)";
inline constexpr std::string_view kRsaBeyondUs =
    "its only host key is RSA, which this libssh2 (before 1.11) checks by SHA-1 alone, which can "
    "be "
    "forged. Give it an Ed25519 key (ssh-keygen -A), or write `ssh: {transport: openssh}`";

enum class HostKeyVerdict { kPinned, kLearned, kChanged, kUnknown, kRevoked };
// `pins` are the worker's host_keys, read. Trust on first use counts only when nothing is pinned.
HostKeyVerdict JudgeHostKey(const WorkerAccess& worker, const std::vector<HostKey>& pins,
                            std::string_view shown_blob);
// The host_keys of a worker. One that cannot be read still is a pin: nothing that is shown will
// match it.
std::vector<HostKey> PinsOf(const WorkerAccess& worker);

// What to tell when the verdict is kChanged, kUnknown or kRevoked. `shown` is the key in words:
// "ssh-ed25519 SHA256:…".
Cause HostKeyComplaint(HostKeyVerdict verdict, const WorkerAccess& worker,
                       const std::vector<HostKey>& pins, std::string_view shown);
std::string DescribeHostKey(std::string_view blob);  // any bytes

}  // namespace podctl::ssh

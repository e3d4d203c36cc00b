#include "providers/ssh/libssh2/session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <libssh2.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "providers/base/text.h"
#include "providers/ssh/keys/wire.h"

namespace podctl::ssh {
namespace {

// Both directions get the same list: some versions break when they differ. Counter mode with a
// plain MAC comes first because the newer modes' code had memory errors in released versions; GCM
// is there for servers that take nothing else. AES is the quickest where the processor has it, and
// the 128 bits cost 10 rounds in place of 14.
constexpr const char* kCiphers =
    "aes128-ctr,aes192-ctr,aes256-ctr,aes128-gcm@openssh.com,aes256-gcm@openssh.com";
constexpr int kErrorAlgorithmUnsupported = -51;  // a name that libssh2 1.10 does not have yet
// The quickest first of those that are safe; the last two are no exchanges but say what we
// understand: signatures of RSA keys with SHA-2 (RFC 8308), and OpenSSH's strict key exchange.
constexpr const char* kKeyExchanges =
    "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,"
    "ecdh-sha2-nistp521,diffie-hellman-group-exchange-sha256,diffie-hellman-group14-sha256,"
    "diffie-hellman-group16-sha512,diffie-hellman-group18-sha512,"
    "ext-info-c,kex-strict-c-v00@openssh.com";
constexpr const char* kMacs = "hmac-sha2-256,hmac-sha2-512";

// libssh2 before 1.11 names the algorithm after the key, "ssh-rsa", which means SHA-1 (RFC 8332).
bool OldRsaSigning() {
  return libssh2_version(0x010b00) == nullptr;
}

// With such a libssh2 an RSA key works with OpenSSH's servers only; see OfferedBlob.
bool CanUse(const Key& key, LIBSSH2_SESSION* session) {
  if (key.type() != "ssh-rsa" || !OldRsaSigning()) return true;
  const char* banner = libssh2_session_banner_get(session);
  return banner != nullptr && std::strstr(banner, "OpenSSH") != nullptr;
}

// What this libssh2 knows of one kind of method, asked for once.
const std::vector<std::string>& Known(LIBSSH2_SESSION* session, int method) {
  static std::mutex mutex;
  static std::map<int, std::vector<std::string>> all;
  const std::lock_guard lock(mutex);
  const auto [it, fresh] = all.try_emplace(method);
  if (!fresh) return it->second;
  const char** names = nullptr;
  const int count = libssh2_session_supported_algs(session, method, &names);
  if (count > 0) {
    it->second.assign(names, names + count);
    libssh2_free(session, names);
  }
  return it->second;
}

// Sets the methods of a comma-separated list that this libssh2 knows. (1.10 would cut the others
// off itself, but copies overlapping memory while it does.) A list without any is left at the
// default.
void Prefer(LIBSSH2_SESSION* session, int method, std::string_view wanted) {
  const std::vector<std::string>& known = Known(session, method);
  std::string list;
  while (!wanted.empty()) {
    const std::string_view name = wanted.substr(0, wanted.find(','));
    wanted.remove_prefix(std::min(wanted.size(), name.size() + 1));
    if (std::find(known.begin(), known.end(), name) == known.end()) continue;
    if (!list.empty()) list += ',';
    list += name;
  }
  if (!list.empty()) libssh2_session_method_pref(session, method, list.c_str());
}

// LIBSSH2_USERAUTH_PUBLICKEY_SIGN_FUNC; `abstract` is the session.
int SignCallback(LIBSSH2_SESSION*, unsigned char** signature, std::size_t* signature_size,
                 const unsigned char* data, std::size_t size, void** abstract) {
  std::string made;
  const int code = static_cast<Session*>(*abstract)->Sign(
      std::string_view(reinterpret_cast<const char*>(data), size), made);
  if (code != 0) return code;
  // libssh2 frees it with the allocator of the session, which is malloc's.
  auto* copy = static_cast<unsigned char*>(std::malloc(made.size()));
  if (copy == nullptr) return -1;
  std::copy(made.begin(), made.end(), copy);
  *signature = copy;
  *signature_size = made.size();
  return 0;
}

// A peer that vanishes is noticed within about half a minute, also while nothing is said.
void TuneSocket(int fd) {
  const int one = 1;
  const int idle_seconds = 15;
  const int interval_seconds = 5;
  const int probes = 3;
  const unsigned unacknowledged_ms = 30'000;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof(idle_seconds));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_seconds, sizeof(interval_seconds));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof(unacknowledged_ms));
}

}  // namespace

Session::Session(WorkerAccess worker, const Endpoint& endpoint,
                 std::shared_ptr<const Identities> identities, SignElsewhere sign_elsewhere)
    : worker_(std::move(worker)),
      endpoint_(endpoint),
      identities_(std::move(identities)),
      sign_elsewhere_(std::move(sign_elsewhere)),
      pins_(PinsOf(worker_)) {}

Session::~Session() {
  if (session_ != nullptr) {
    hooks_.io.EndRound();
    if (stage_ == Stage::kReady && !HasHalfSentPacket()) {
      libssh2_session_disconnect(session_, "done");
    }
    // With the socket shut, freeing has nothing left to wait for.
    if (fd_ >= 0) shutdown(fd_, SHUT_RDWR);
    for (int i = 0; i < 100 && libssh2_session_free(session_) == LIBSSH2_ERROR_EAGAIN; ++i) {
    }
  }
  if (fd_ >= 0) close(fd_);
}

Stage Session::Advance() {
  bool on = true;
  while (on) {
    switch (stage_) {
      case Stage::kConnecting:
        on = Connect();
        break;
      case Stage::kConnected:
        on = handshake_allowed_ && Prepare();
        break;
      case Stage::kGreeting:
      case Stage::kHandshaking:
        on = Handshake();
        break;
      case Stage::kAuthenticating:
        on = Authenticate();
        break;
      case Stage::kReady:
      case Stage::kFailed:
        on = false;
        break;
    }
  }
  return stage_;
}

short Session::WaitsFor() const {
  if (stage_ == Stage::kConnecting) return POLLOUT;
  if (session_ == nullptr || (slow_signature_ != nullptr && !slow_signature_->done())) return 0;
  const int directions = libssh2_session_block_directions(session_);
  // Neither is a known slip of libssh2 after a partial write: then it is either.
  if (directions == 0) return POLLIN | POLLOUT;
  short events = 0;
  if ((directions & LIBSSH2_SESSION_BLOCK_INBOUND) != 0) events |= POLLIN;
  if ((directions & LIBSSH2_SESSION_BLOCK_OUTBOUND) != 0) events |= POLLOUT;
  return events;
}

bool Session::HasHalfSentPacket() const {
  return session_ != nullptr &&
         (libssh2_session_block_directions(session_) & LIBSSH2_SESSION_BLOCK_OUTBOUND) != 0;
}

std::string Session::LastError() {
  if (session_ == nullptr) return {};
  if (hooks_.bridge != nullptr && HungUp()) {
    return fmt::format("{}: {}", RouteName(worker_), hooks_.bridge->LastWords());
  }
  char* text = nullptr;
  const int code = libssh2_session_last_error(session_, &text, nullptr, 0);
  // Nothing failed: there is nothing more to come.
  if (code == LIBSSH2_ERROR_EAGAIN || code == LIBSSH2_ERROR_NONE) return "the worker closed it";
  if (text == nullptr || *text == '\0') return fmt::format("libssh2 error {}", code);
  return VisibleControls(text);
}

void Session::Fail(Trouble trouble, Cause cause) {
  stage_ = Stage::kFailed;
  trouble_ = trouble;
  cause_ = std::move(cause);
}

Verdict Session::verdict() const {
  const bool refused = trouble_ == Trouble::kAuth;
  const Outcome outcome = refused                         ? Outcome::kAuthRefused
                          : trouble_ == Trouble::kHostKey ? Outcome::kHostKeyChanged
                                                          : Outcome::kUnreachable;
  // A key just published may not have reached the guest.
  const bool may_pass =
      refused || trouble_ == Trouble::kConnection || trouble_ == Trouble::kOutOfResources;
  return {outcome, cause_, may_pass};
}

bool Session::ConnectThroughProgram() {
  auto started = Bridge::Start(worker_.through);
  if (!started) {
    const bool none = started.error().code == ErrorCode::kNotFound;
    Fail(none ? Trouble::kNoRoute : Trouble::kOutOfResources,
         CauseAt(worker_, Cause::Code::kNoProgram, started.error().message));
    return false;
  }
  hooks_.bridge = *std::move(started);
  fd_ = hooks_.bridge->TakeSocket();
  stage_ = Stage::kConnected;
  return true;
}

bool Session::Connect() {
  int error = 0;
  if (!worker_.no_route.empty()) {
    Fail(Trouble::kNoRoute, CauseAt(worker_, Cause::Code::kNoRoute, worker_.no_route));
    return false;
  }
  if (!worker_.through.empty()) return ConnectThroughProgram();
  if (fd_ < 0) {
    fd_ = socket(endpoint_.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd_ < 0) {
      const int why = errno;
      rlimit limit{};
      std::string message = fmt::format("no socket: {}", std::strerror(why));
      if (why == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        message +=
            fmt::format(" (this process may have {}; `ulimit -n` raises that)", limit.rlim_cur);
      }
      Fail(Trouble::kOutOfResources, OtherCause(std::move(message)));
      return false;
    }
    TuneSocket(fd_);
    const auto* address = reinterpret_cast<const sockaddr*>(&endpoint_.address);
    if (connect(fd_, address, endpoint_.size) != 0) error = errno;
    if (error == EINPROGRESS) return false;
  } else {
    pollfd writable{fd_, POLLOUT, 0};
    if (poll(&writable, 1, 0) == 0) return false;
    socklen_t size = sizeof(error);
    if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  }
  if (error != 0) {
    Cause cause = CauseAt(worker_, Cause::Code::kNotConnected, std::strerror(error));
    cause.error = error;
    Fail(Trouble::kConnection, std::move(cause));
    return false;
  }
  stage_ = Stage::kConnected;
  return true;
}

bool Session::Prepare() {
  session_ = hooks_.Open(fd_);
  if (session_ == nullptr) {
    Fail(Trouble::kOutOfResources, OtherCause("libssh2 has no memory for a session"));
    return false;
  }
  Prefer(session_, LIBSSH2_METHOD_KEX, kKeyExchanges);
  Prefer(session_, LIBSSH2_METHOD_HOSTKEY, HostKeyPreferences(pins_));
  for (const int method : {LIBSSH2_METHOD_CRYPT_CS, LIBSSH2_METHOD_CRYPT_SC}) {
    Prefer(session_, method, kCiphers);
  }
  for (const int method : {LIBSSH2_METHOD_MAC_CS, LIBSSH2_METHOD_MAC_SC}) {
    Prefer(session_, method, kMacs);
  }
  stage_ = Stage::kGreeting;
  return true;
}

bool Session::Handshake() {
  const int code = libssh2_session_handshake(session_, fd_);
  if (hooks_.io.heard()) stage_ = Stage::kHandshaking;
  if (code == LIBSSH2_ERROR_EAGAIN) return false;
  if (code != 0) {
    const std::string why = hooks_.io.BannerIsTooLong()
                                ? "what it says does not begin with an SSH banner"
                                : LastError();
    if (hooks_.bridge != nullptr && HungUp()) {
      const std::string words = hooks_.bridge->LastWords();
      Fail(WillNotPass(words) ? Trouble::kNoRoute : Trouble::kConnection,
           CauseThrough(worker_, Cause::Code::kNotConnected, words));
    } else {
      const std::string_view rsa = RsaComplaint(hooks_.io.kex_init(), !OldRsaSigning());
      Fail(rsa.empty() ? Trouble::kConnection : Trouble::kNoRoute,
           CauseThrough(worker_, Cause::Code::kNoHandshake, rsa.empty() ? why : std::string(rsa)));
    }
    return false;
  }
  hooks_.io.ForgetKexInit();
  return CheckHostKey();
}

std::string_view Session::shown_host_key() const {
  std::size_t size = 0;
  int kind = 0;
  const char* shown = libssh2_session_hostkey(session_, &size, &kind);
  return {shown == nullptr ? "" : shown, shown == nullptr ? 0 : size};
}

bool Session::HungUp() const {
  char byte = 0;
  const ssize_t got = recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

bool Session::CheckHostKey() {
  const std::string_view blob = shown_host_key();
  const HostKeyVerdict verdict = JudgeHostKey(worker_, pins_, blob);
  if (verdict != HostKeyVerdict::kPinned && verdict != HostKeyVerdict::kLearned) {
    Fail(verdict == HostKeyVerdict::kUnknown ? Trouble::kUnknownHost : Trouble::kHostKey,
         HostKeyComplaint(verdict, worker_, pins_, DescribeHostKey(blob)));
    return false;
  }
  if (verdict == HostKeyVerdict::kLearned) learned_ = FormatHostKey(blob);
  stage_ = Stage::kAuthenticating;
  return true;
}

// For RSA on libssh2 before 1.11: the type inside the blob says rsa-sha2-512, because libssh2
// copies the algorithm's name from there, and OpenSSH's servers take both names for the same kind
// of key.
std::string Session::OfferedBlob(const Key& key) {
  if (key.type() != "ssh-rsa" || !OldRsaSigning()) return key.blob();
  WireReader reader(key.blob());
  reader.String();
  std::string blob;
  AppendString(blob, "rsa-sha2-512");
  blob.append(reader.rest());
  return blob;
}

// The algorithm to sign with stands in the data itself, whose fields are those of RFC 4252 section
// 7. libssh2 asks again with the same data after it was told to wait.
int Session::Sign(std::string_view data, std::string& signature) {
  WireReader reader(data);
  reader.String();  // session identifier
  reader.Byte();    // SSH_MSG_USERAUTH_REQUEST
  reader.String();  // user
  reader.String();  // service
  reader.String();  // "publickey"
  reader.Byte();    // TRUE
  const std::string_view algorithm = reader.String();
  if (!reader.ok()) return -1;
  const std::shared_ptr<const Key>& key = identities_->keys()[next_key_];
  if (sign_elsewhere_ == nullptr || !key->IsSlow()) {
    Result<std::string> made = key->Sign(algorithm, data);
    if (!made) signing_error_ = made.error().message;
    if (!made) return -1;
    signature = *std::move(made);
    return 0;
  }
  if (slow_signature_ == nullptr || slow_signature_->data() != data) {
    slow_signature_ =
        std::make_shared<SlowSignature>(key, std::string(algorithm), std::string(data));
    sign_elsewhere_(slow_signature_);
  }
  if (!slow_signature_->done()) return LIBSSH2_ERROR_EAGAIN;
  const std::shared_ptr<SlowSignature> slow = std::exchange(slow_signature_, nullptr);
  if (!slow->made()) signing_error_ = slow->made().error().message;
  if (!slow->made()) return -1;
  signature = *slow->made();
  return 0;
}

bool Session::Authenticate() {
  const auto& keys = identities_->keys();
  while (next_key_ < std::min(keys.size(), kMaxKeysOffered)) {
    const Key& key = *keys[next_key_];
    if (!CanUse(key, session_)) {
      ++next_key_;
      continue;
    }
    if (offered_blob_.empty()) offered_blob_ = OfferedBlob(key);
    void* abstract = this;
    const int code =
        libssh2_userauth_publickey(session_, worker_.user.c_str(),
                                   reinterpret_cast<const unsigned char*>(offered_blob_.data()),
                                   offered_blob_.size(), SignCallback, &abstract);
    if (code == LIBSSH2_ERROR_EAGAIN) return false;
    if (code == 0) {
      stage_ = Stage::kReady;
      return true;
    }
    // -18 the server refused, -19 no signature, -34 no common algorithm: try the next key. What is
    // left is trouble with the connection, which -19 can be as well.
    const bool refused =
        code == LIBSSH2_ERROR_AUTHENTICATION_FAILED || code == LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED ||
        code == LIBSSH2_ERROR_METHOD_NOT_SUPPORTED || code == kErrorAlgorithmUnsupported;
    if (!refused || (signing_error_.empty() && HungUp())) {
      FailAuthentication(code);
      return false;
    }
    ++next_key_;
    offered_blob_.clear();
  }
  FailAuthentication(LIBSSH2_ERROR_AUTHENTICATION_FAILED);
  return false;
}

void Session::FailAuthentication(int code) {
  // A server that hangs up after refused keys has refused them; before the first refusal it is just
  // a broken connection.
  if (code != LIBSSH2_ERROR_AUTHENTICATION_FAILED && next_key_ == 0) {
    Fail(Trouble::kConnection, CauseThrough(worker_, Cause::Code::kBrokeOff, LastError()));
    return;
  }
  std::vector<std::string> labels;
  std::vector<std::string> unfit;
  for (std::size_t i = 0; i < std::min(identities_->keys().size(), kMaxKeysOffered); ++i) {
    const Key& key = *identities_->keys()[i];
    (CanUse(key, session_) ? labels : unfit).push_back(key.label());
  }
  const std::string of_rsa = fmt::format(
      "with a server that is not OpenSSH's, libssh2 before 1.11 cannot use the RSA {} {}",
      unfit.size() == 1 ? "key" : "keys", VisibleControls(Join(unfit, ", ")));
  if (labels.empty()) {
    Fail(Trouble::kNoRoute, CauseAt(worker_, Cause::Code::kNoFittingKey, of_rsa));
    return;
  }
  std::string words = fmt::format("for the user `{}` (offered: {})", worker_.user,
                                  VisibleControls(Join(labels, ", ")));
  if (!unfit.empty()) words += "; " + of_rsa;
  if (!signing_error_.empty()) words += "; " + signing_error_;
  Fail(Trouble::kAuth, CauseAt(worker_, Cause::Code::kKeysRefused, std::move(words)));
}

}  // namespace podctl::ssh

#include "providers/ssh/keys/agent.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "providers/base/text.h"
#include "providers/ssh/keys/wire.h"

namespace podctl::ssh {
namespace {

// Numbers of draft-ietf-sshm-ssh-agent.
constexpr char kRequestIdentities = 11;
constexpr std::uint8_t kIdentitiesAnswer = 12;
constexpr char kSignRequest = 13;
constexpr std::uint8_t kSignResponse = 14;
constexpr std::uint32_t kFlagSha256 = 2;
constexpr std::uint32_t kFlagSha512 = 4;

constexpr std::size_t kMaxMessage = std::size_t{256} * 1024;  // OpenSSH's own limit
constexpr std::uint32_t kMaxKeys = 64;
constexpr int kTimeoutSeconds = 10;  // an agent may ask its user

class AgentKey final : public Key {
 public:
  AgentKey(std::string blob, std::string label, std::shared_ptr<Agent> agent)
      : Key(std::move(blob), std::move(label)), agent_(std::move(agent)) {}

  bool IsSlow() const override { return true; }

  Result<std::string> Sign(std::string_view algorithm, std::string_view data) const override {
    std::uint32_t flags = 0;
    if (algorithm == "rsa-sha2-512") flags = kFlagSha512;
    if (algorithm == "rsa-sha2-256") flags = kFlagSha256;
    std::string request(1, kSignRequest);
    AppendString(request, blob());
    AppendString(request, data);
    AppendNumber(request, flags);
    Result<std::string> answer = agent_->Ask(request);
    if (!answer) return answer;
    WireReader reader(*answer);
    const std::uint8_t kind = reader.Byte();
    WireReader signature(reader.String());
    signature.String();  // the algorithm's name; libssh2 writes it itself
    const std::string_view inner = signature.String();
    if (kind != kSignResponse || !reader.ok() || !signature.ok()) {
      return MakeError(ErrorCode::kPermissionDenied,
                       fmt::format("the SSH agent refused to sign with `{}`", label()));
    }
    return std::string(inner);
  }

 private:
  std::shared_ptr<Agent> agent_;
};

bool Usable(std::string_view type) {
  return type == "ssh-ed25519" || type == "ssh-rsa" || type == "ecdsa-sha2-nistp256" ||
         type == "ecdsa-sha2-nistp384" || type == "ecdsa-sha2-nistp521";
}

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool ReceiveAll(int fd, std::string& bytes) {
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = recv(fd, bytes.data() + have, bytes.size() - have, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    have += static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

Result<std::shared_ptr<Agent>> Agent::Connect(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof(address.sun_path)) {
    return MakeError(ErrorCode::kUnavailable, "the path in SSH_AUTH_SOCK is too long for a socket");
  }
  std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("no socket for the SSH agent: {}", std::strerror(errno)));
  }
  std::shared_ptr<Agent> agent(new Agent(fd));
  const timeval limit{kTimeoutSeconds, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("no SSH agent at SSH_AUTH_SOCK: {}", std::strerror(errno)));
  }
  return agent;
}

Agent::~Agent() {
  if (fd_ >= 0) close(fd_);
}

Result<std::string> Agent::Ask(std::string_view request) {
  const std::lock_guard lock(mutex_);
  if (fd_ < 0) return MakeError(ErrorCode::kUnavailable, "the SSH agent does not answer");
  Result<std::string> answer = Exchange(request);
  if (!answer) {
    close(fd_);
    fd_ = -1;
  }
  return answer;
}

Result<std::string> Agent::Exchange(std::string_view request) {
  const Error dead = MakeError(ErrorCode::kUnavailable, "the SSH agent does not answer");
  std::string message;
  AppendString(message, request);
  std::string head(4, '\0');
  if (request.size() > kMaxMessage || !SendAll(fd_, message) || !ReceiveAll(fd_, head)) return dead;
  const std::uint32_t size = WireReader(head).Number();
  if (size == 0 || size > kMaxMessage) return dead;
  std::string answer(size, '\0');
  if (!ReceiveAll(fd_, answer)) return dead;
  return answer;
}

Result<std::vector<std::shared_ptr<const Key>>> Agent::Keys() {
  const Result<std::string> answer = Ask(std::string_view(&kRequestIdentities, 1));
  if (!answer) return answer.error();
  WireReader reader(*answer);
  const std::uint8_t kind = reader.Byte();
  const std::uint32_t count = reader.Number();
  std::vector<std::shared_ptr<const Key>> keys;
  for (std::uint32_t i = 0; i < count && keys.size() < kMaxKeys && reader.ok(); ++i) {
    std::string blob(reader.String());
    const std::string_view comment = reader.String();
    if (!reader.ok() || !Usable(WireReader(blob).String())) continue;
    keys.push_back(std::make_shared<AgentKey>(
        std::move(blob), fmt::format("{} (agent)", VisibleControls(comment)), shared_from_this()));
  }
  if (kind != kIdentitiesAnswer || !reader.ok()) {
    return MakeError(ErrorCode::kUnavailable, "the SSH agent does not list its keys");
  }
  return keys;
}

}  // namespace podctl::ssh

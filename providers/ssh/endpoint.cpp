#include "providers/ssh/endpoint.h"

#include <fmt/format.h>
#include <netdb.h>

#include <cstring>
#include <memory>

#include "providers/base/text.h"

namespace podctl::ssh {

namespace {

Endpoint Take(addrinfo* found) {
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  Endpoint endpoint;
  std::memcpy(&endpoint.address, found->ai_addr, found->ai_addrlen);
  endpoint.size = found->ai_addrlen;
  return endpoint;
}

int LookUp(const std::string& host, int port, int flags, addrinfo** found) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  return getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, found);
}

}  // namespace

std::optional<Endpoint> ParseAddress(const std::string& host, int port) {
  addrinfo* found = nullptr;
  if (LookUp(host, port, AI_NUMERICHOST, &found) != 0) return std::nullopt;
  return Take(found);
}

Result<Endpoint> Resolve(const std::string& host, int port) {
  if (const auto address = ParseAddress(host, port)) return *address;
  addrinfo* found = nullptr;
  if (const int code = LookUp(host, port, 0, &found); code != 0) {
    return MakeError(
        ErrorCode::kUnavailable,
        fmt::format("`{}` has no address: {}", VisibleControls(host), gai_strerror(code)));
  }
  return Take(found);
}

}  // namespace podctl::ssh

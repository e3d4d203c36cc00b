#include "providers/ssh/endpoint.h"

#include <fmt/format.h>
#include <netdb.h>

#include <cstring>
#include <memory>

namespace podctl::ssh {

Result<Endpoint> Resolve(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  const std::string service = std::to_string(port);
  addrinfo* found = nullptr;
  int code = getaddrinfo(host.c_str(), service.c_str(), &hints, &found);
  if (code == EAI_NONAME) {
    hints.ai_flags = AI_NUMERICSERV;
    code = getaddrinfo(host.c_str(), service.c_str(), &hints, &found);
  }
  if (code != 0) {
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("`{}` has no address: {}", host, gai_strerror(code)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  Endpoint endpoint;
  std::memcpy(&endpoint.address, found->ai_addr, found->ai_addrlen);
  endpoint.size = found->ai_addrlen;
  return endpoint;
}

}  // namespace podctl::ssh

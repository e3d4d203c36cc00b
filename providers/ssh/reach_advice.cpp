#include "providers/ssh/reach_advice.h"

#include <cerrno>

namespace podctl::ssh {
namespace {

constexpr std::string_view kOtherPort =
    "Nothing listens there, or not yet. Where SSH has another port: `ssh: {port: …}` in the spec, "
    "or PODCTL_SSH_PORT; then podctl apply.";
constexpr std::string_view kOtherWay =
    "Is it still booting, or does a firewall keep this machine out? Other ways in: `ssh: {iap: "
    "true}`, `proxyJump`, `address: internal`.";
constexpr std::string_view kNewKey =
    "A key that was published just now takes up to a minute to reach a worker.";

}  // namespace

std::string_view ReachAdvice(const Cause& cause) {
  if (cause.code == Cause::Code::kNoAnswer) return kOtherWay;
  if (cause.code == Cause::Code::kKeysRefused) return kNewKey;
  switch (cause.error) {
    case ECONNREFUSED:
      return kOtherPort;
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

}  // namespace podctl::ssh

#include "providers/ssh/reach_advice.h"

#include <algorithm>
#include <iterator>

namespace podctl::ssh {
namespace {

struct Advice {
  std::string_view words;
  std::string_view advice;
};
constexpr std::string_view kOtherPort =
    "Nothing listens there, or not yet. Where SSH has another port: `ssh: {port: …}` in the spec, "
    "or PODCTL_SSH_PORT; then podctl apply.";
constexpr std::string_view kOtherWay =
    "Is it still booting, or does a firewall keep this machine out? Other ways in: `ssh: {iap: "
    "true}`, `proxyJump`, `address: internal`.";
constexpr std::string_view kNewKey =
    "A key that was published just now takes up to a minute to reach a worker.";
constexpr Advice kAdvice[] = {
    {"Connection refused", kOtherPort},        {"Connection timed out", kOtherWay},
    {"No route to host", kOtherWay},           {"Network is unreachable", kOtherWay},
    {"no answer within", kOtherWay},           {"accepts none of our keys", kNewKey},
    {"Permission denied (publickey", kNewKey},
};

}  // namespace

std::string_view ReachAdvice(std::string_view message) {
  const auto* found = std::find_if(std::begin(kAdvice), std::end(kAdvice), [&](const Advice& each) {
    return message.find(each.words) != std::string_view::npos;
  });
  return found == std::end(kAdvice) ? std::string_view() : found->advice;
}

}  // namespace podctl::ssh

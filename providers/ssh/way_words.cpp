#include "providers/ssh/way_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace podctl::ssh {
namespace {

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
};
constexpr KnownError kErrors[] = {
    {"Connection refused", ECONNREFUSED},
    {"Connection timed out", ETIMEDOUT},
    {"No route to host", EHOSTUNREACH},
    {"Network is unreachable", ENETUNREACH},
    {"Permission denied (publickey", EKEYREJECTED},
};

}  // namespace

std::string WayName(const WorkerAccess& worker) {
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

}  // namespace podctl::ssh

// Where a state lies behind Terraform's http protocol: what the URL says, what the known variables
// (TF_HTTP_*) complete, and what is known of GitLab's and Gitea's addresses, so that there the URL
// and a user with its password are enough.
//
// Pure: sends nothing. No error holds a password.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "providers/base/error.h"
#include "providers/os/environment.h"

namespace podctl {

enum class HttpServer {
  kOther,
  kGitLab,  // …/api/v4/projects/ID/terraform/state/NAME
  kGitea,   // …/api/packages/OWNER/terraform/state/NAME
};

struct HttpPlace {
  std::string url;  // without secrets: it stands in messages
  HttpServer server = HttpServer::kOther;
  std::string update_method = "POST";
  std::string lock_url;  // empty: the server has no lock that is known of
  std::string lock_method = "LOCK";
  std::string unlock_url;
  std::string unlock_method = "UNLOCK";
  std::string user;  // empty: no credentials are sent
  std::string password;
  std::string credentials_from;  // for messages: "CI_JOB_TOKEN"
  // How often one request is repeated; nullopt: nobody said so.
  std::optional<int> retries;
  std::chrono::milliseconds first_wait{1'000};
  std::chrono::milliseconds longest_wait{30'000};

  // GitLab refuses a serial that it has seen, and Gitea too: that is their compare-and-swap.
  bool keeps_serials() const { return server != HttpServer::kOther; }
};

inline bool IsHttpUrl(std::string_view place) {
  return place.starts_with("https://") || place.starts_with("http://");
}

// kInvalidArgument for a URL at which no state can be: one that holds a user, a password or a
// query, or whose http would leave this machine. The URL of GitLab's or Gitea's state comes back
// without a slash at its end.
Result<std::string> CheckHttpStateUrl(const std::string& url);

// kInvalidArgument too for a variable that contradicts the URL or is malformed; kUnimplemented for
// one that asks for what podctl cannot do.
Result<HttpPlace> FindHttpPlace(const std::string& url, const Environment& environment);

}  // namespace podctl

// What is to be done about an answer, by server and status: the other half of http_client.h.
#include <fmt/format.h>

#include "state/stores/http/http_client.h"

namespace podctl {
namespace {

constexpr const char* kLookAtTheServer =
    "Is that the address of a state? The server's log says more.";

std::string AboutCredentials(const HttpPlace& place, HttpDeed deed) {
  if (!place.credentials_from.empty()) {
    const bool several = place.credentials_from.find(" and ") != std::string::npos;
    // To a token without the scope Gitea says 401, too.
    const std::string scope =
        place.server == HttpServer::kGitea
            ? fmt::format(", or is without the scope `{}`",
                          deed == HttpDeed::kRead ? "read:package" : "write:package")
            : "";
    return fmt::format("It does not take what {} hold{}: perhaps it is wrong, or has run out{}.",
                       place.credentials_from, several ? "" : "s", scope);
  }
  switch (place.server) {
    case HttpServer::kGitLab:
      return "Set TF_HTTP_USERNAME and TF_HTTP_PASSWORD to your user and an access token with the "
             "scope `api`; in a job of the same GitLab the job's own token is used.";
    case HttpServer::kGitea:
      return "Set TF_HTTP_USERNAME and TF_HTTP_PASSWORD to your user and an access token with the "
             "scope `write:package` (to plan, `read:package`).";
    case HttpServer::kOther:
      break;
  }
  return "Set TF_HTTP_USERNAME and TF_HTTP_PASSWORD.";
}

std::string AboutRights(const HttpPlace& place, HttpDeed deed) {
  const bool reads = deed == HttpDeed::kRead;
  switch (place.server) {
    case HttpServer::kGitLab:
      if (place.credentials_from == "CI_JOB_TOKEN") {
        return fmt::format(
            "The job's user must be at least {} of the project; of another project's job, its "
            "token must be allowed {}_terraform_state.",
            reads ? "Developer" : "Maintainer", reads ? "read" : "admin");
      }
      return reads ? "To read a state one must be at least Developer of the project, and the "
                     "token's scope `api`."
                   : "To lock and save a state one must be at least Maintainer of the project, and "
                     "the token's scope `api`.";
    case HttpServer::kGitea:
      return reads
                 ? "The user must be able to read the owner's packages, and the token's scope be "
                   "`read:package`."
                 : "The user must be able to write the owner's packages, and the token's scope be "
                   "`write:package`; or the owner's quota of packages is used up.";
    case HttpServer::kOther:
      break;
  }
  return "Look at what this user may do there.";
}

std::string AboutAddress(const HttpPlace& place) {
  switch (place.server) {
    case HttpServer::kGitLab:
      return "Is the project there (by its number, or its path with %2F), may this user see it, "
             "and "
             "are Terraform states switched on for it?";
    case HttpServer::kGitea:
      return "Is the owner in the URL there, and are packages switched on? Gitea keeps Terraform "
             "states since 1.26.";
    case HttpServer::kOther:
      break;
  }
  return "Look at `state` in the spec, and at TF_HTTP_LOCK_ADDRESS.";
}

std::string AboutMethod(HttpDeed deed) {
  if (deed == HttpDeed::kSave) return "It may want another method: TF_HTTP_UPDATE_METHOD=PUT.";
  return "It may want other methods (TF_HTTP_LOCK_METHOD, TF_HTTP_UNLOCK_METHOD) or other "
         "addresses. If it has no locks, nothing keeps two runs apart: whoever sees to that "
         "otherwise runs podctl with --lock=false.";
}

}  // namespace

std::string HttpStateClient::HintFor(HttpDeed deed, int status) const {
  switch (status) {
    case 400:
      return place_.server == HttpServer::kGitea
                 ? "A name in Gitea has letters, digits and the signs - _ . + only."
                 : kLookAtTheServer;
    case 401:
      return AboutCredentials(place_, deed);
    case 403:
      return AboutRights(place_, deed);
    case 404:
      return AboutAddress(place_);
    case 405:
    case 501:
      return AboutMethod(deed);
    case 413:
      return place_.server == HttpServer::kGitLab
                 ? "The state is larger than GitLab takes: its administrator raises "
                   "max_terraform_state_size_bytes, or a proxy before it has a limit of its own."
                 : "The state is larger than the server, or a proxy before it, takes: raise that "
                   "limit (in nginx client_max_body_size).";
    case 409:
    case 422:
      if (deed == HttpDeed::kSave && place_.keeps_serials()) {
        return "It has had this serial before, though an older one is stored: the newest was "
               "removed there. GitLab refuses so, too, while it deletes a state.";
      }
      return kLookAtTheServer;
    case 429:
      return "The server limits how often one may ask: try again later.";
    case 500:
      return deed == HttpDeed::kSave && place_.server == HttpServer::kGitLab
                 ? "GitLab answers so too when the lock has been released by somebody else, and "
                   "when its own store is out of reach."
                 : kLookAtTheServer;
    case 502:
    case 503:
    case 504:
      return "The server is out of order, or being restarted: try again later.";
    default:
      return kLookAtTheServer;
  }
}

}  // namespace podctl

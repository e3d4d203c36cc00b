#include "providers/forges/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/value.h"
#include "providers/http/url.h"

namespace podctl {
namespace {

constexpr std::uint64_t kMostEventBytes = 16 << 20;
constexpr const char* kOwnToken = "PODCTL_FORGE_TOKEN";

std::string VariableOf(const Environment& environment, const char* name) {
  return environment.Get(name).value_or("");
}

std::string WithoutEndSlashes(std::string text) {
  while (text.ends_with('/')) text.pop_back();
  return text;
}

Error MissingVariable(const char* name) {
  return MakeError(ErrorCode::kFailedPrecondition,
                   fmt::format("{} is not set, and a pipeline has it", name),
                   "pass the pipeline's variables on to podctl");
}

// A number of a pull request.
std::optional<std::int64_t> PullNumber(std::string_view text) {
  const auto number = ParseNumber<std::int64_t>(text);
  return number && *number > 0 ? number : std::nullopt;
}

void TakeToken(const Environment& environment, std::initializer_list<const char*> names,
               ForgePlace* place) {
  for (const char* name : names) {
    std::string token(TrimBlanks(VariableOf(environment, name)));
    if (token.empty()) continue;
    place->token = std::move(token);
    place->token_from = name;
    return;
  }
}

// A token is for the server that the pipeline names, and travels to no other machine in the clear.
Result<void> CheckApi(const ForgePlace& place, const char* variable) {
  for (const std::string* address : {&place.api, &place.graphql}) {
    if (address->empty()) continue;
    const auto url = http::ParseUrl(*address);
    if (!url || url->has_user || url->has_query) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{} is no http or https URL without user and query", variable));
    }
    if (url->scheme == "https" || http::IsLoopback(*url) || place.token.empty()) continue;
    return MakeError(ErrorCode::kFailedPrecondition,
                     fmt::format("the token of {} does not travel unencrypted to {}",
                                 place.token_from, url->Server()),
                     fmt::format("let the forge be reached by https; {} names it", variable));
  }
  return {};
}

// "owner/name", both of what forges allow.
bool IsRepository(std::string_view text) {
  const auto slash = text.find('/');
  const auto is_plain = [](std::string_view part) {
    return !part.empty() && part != "." && part != ".." &&
           std::all_of(part.begin(), part.end(), [](char c) {
             return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' ||
                    c == '.';
           });
  };
  return slash != std::string_view::npos && is_plain(text.substr(0, slash)) &&
         is_plain(text.substr(slash + 1));
}

// "refs/pull/12/merge", and with Gitea "refs/pull/12/head".
std::optional<std::int64_t> PullOfRef(std::string_view ref) {
  constexpr std::string_view kHead = "refs/pull/";
  if (!ref.starts_with(kHead)) return std::nullopt;
  ref.remove_prefix(kHead.size());
  const auto slash = ref.find('/');
  return slash == std::string_view::npos ? std::nullopt : PullNumber(ref.substr(0, slash));
}

// The event says more than the variables: the head of a pull request, where GITHUB_SHA is a merge
// that nobody knows, and what a comment was written under.
void TakeEvent(const Environment& environment, FileSystem& files, ForgePlace* place) {
  const std::string path = VariableOf(environment, "GITHUB_EVENT_PATH");
  if (path.empty()) return;
  const auto text = files.Read(path, kMostEventBytes);
  const auto event = text ? ParseJson(*text) : Result<Value>(text.error());
  if (!event) return;  // the variables are there all the same
  const Value& pull = (*event)["pull_request"];
  const Value& issue = (*event)["issue"];
  for (const std::int64_t number :
       {pull["number"].AsInt(), issue["pull_request"].is_map() ? issue["number"].AsInt() : 0}) {
    if (number > 0 && !place->pull) place->pull = number;
  }
  const Value* head = pull.FindPath("head.sha");
  if (head != nullptr && !head->AsString().empty()) place->commit = head->AsString();
}

Result<ForgePlace> FindActions(const Environment& environment, FileSystem& files, bool gitea) {
  ForgePlace place;
  place.kind = gitea ? ForgeKind::kGitea : ForgeKind::kGitHub;
  place.api = WithoutEndSlashes(VariableOf(environment, "GITHUB_API_URL"));
  if (place.api.empty() && gitea) {
    const std::string server = WithoutEndSlashes(VariableOf(environment, "GITHUB_SERVER_URL"));
    if (!server.empty()) place.api = server + "/api/v1";
  }
  if (place.api.empty()) return MissingVariable("GITHUB_API_URL");
  if (!gitea) {
    place.graphql = WithoutEndSlashes(VariableOf(environment, "GITHUB_GRAPHQL_URL"));
    if (place.graphql.empty()) place.graphql = place.api + "/graphql";
  }
  place.repository = VariableOf(environment, "GITHUB_REPOSITORY");
  if (place.repository.empty()) return MissingVariable("GITHUB_REPOSITORY");
  if (!IsRepository(place.repository)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("GITHUB_REPOSITORY is no OWNER/NAME: {}",
                                 VisibleControls(place.repository.substr(0, 200))));
  }
  place.checkout = VariableOf(environment, "GITHUB_WORKSPACE");
  place.commit = VariableOf(environment, "GITHUB_SHA");
  const std::string ref = VariableOf(environment, "GITHUB_REF");
  place.pull = PullOfRef(ref);
  constexpr std::string_view kBranches = "refs/heads/";
  if (ref.starts_with(kBranches)) place.branch = ref.substr(kBranches.size());
  TakeEvent(environment, files, &place);
  if (gitea) {
    TakeToken(environment, {kOwnToken, "GITEA_TOKEN", "GITHUB_TOKEN"}, &place);
  } else {
    TakeToken(environment, {kOwnToken, "GITHUB_TOKEN", "GH_TOKEN"}, &place);
  }
  if (auto sound = CheckApi(place, "GITHUB_API_URL"); !sound) return sound.error();
  return place;
}

Result<ForgePlace> FindGitLab(const Environment& environment) {
  ForgePlace place;
  place.kind = ForgeKind::kGitLab;
  place.api = WithoutEndSlashes(VariableOf(environment, "CI_API_V4_URL"));
  if (place.api.empty()) return MissingVariable("CI_API_V4_URL");
  place.repository = VariableOf(environment, "CI_PROJECT_ID");
  if (place.repository.empty()) return MissingVariable("CI_PROJECT_ID");
  if (!PullNumber(place.repository)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("CI_PROJECT_ID is no number: {}",
                                 VisibleControls(place.repository.substr(0, 200))));
  }
  place.checkout = VariableOf(environment, "CI_PROJECT_DIR");
  place.commit = VariableOf(environment, "CI_COMMIT_SHA");
  place.branch = VariableOf(environment, "CI_COMMIT_BRANCH");
  // Of a pipeline for merged results the commit is one that nobody knows.
  const std::string head = VariableOf(environment, "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA");
  if (!head.empty()) place.commit = head;
  place.pull = PullNumber(VariableOf(environment, "CI_MERGE_REQUEST_IID"));
  // The job's own token may not write notes.
  TakeToken(environment, {kOwnToken, "GITLAB_TOKEN"}, &place);
  if (auto sound = CheckApi(place, "CI_API_V4_URL"); !sound) return sound.error();
  return place;
}

}  // namespace

std::optional<ForgeKind> FindForgeKind(const Environment& environment) {
  // Before GitHub: what Gitea runs finds GitHub's variables, too.
  if (VariableOf(environment, "GITEA_ACTIONS") == "true") return ForgeKind::kGitea;
  if (VariableOf(environment, "GITHUB_ACTIONS") == "true") return ForgeKind::kGitHub;
  if (VariableOf(environment, "GITLAB_CI") == "true") return ForgeKind::kGitLab;
  const bool atlantis = !VariableOf(environment, "ATLANTIS_TERRAFORM_VERSION").empty() ||
                        !VariableOf(environment, "PULL_NUM").empty();
  return atlantis ? std::optional(ForgeKind::kAtlantis) : std::nullopt;
}

Result<ForgePlace> FindForgePlace(const Environment& environment, FileSystem& files) {
  const auto kind = FindForgeKind(environment);
  if (!kind) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     "this is no run of GitHub Actions, GitLab CI, Gitea Actions or Atlantis",
                     "`podctl ci` knows its forge by the variables of such a run "
                     "(GITHUB_ACTIONS, GITLAB_CI, GITEA_ACTIONS, PULL_NUM); elsewhere use `podctl "
                     "plan`, `podctl plan --markdown` and `podctl apply`");
  }
  switch (*kind) {
    case ForgeKind::kGitHub:
    case ForgeKind::kGitea:
      return FindActions(environment, files, *kind == ForgeKind::kGitea);
    case ForgeKind::kGitLab:
      return FindGitLab(environment);
    case ForgeKind::kAtlantis:
      break;
  }
  ForgePlace place;
  place.kind = ForgeKind::kAtlantis;
  place.commit = VariableOf(environment, "HEAD_COMMIT");
  place.pull = PullNumber(VariableOf(environment, "PULL_NUM"));
  return place;
}

}  // namespace podctl

#include "providers/os/ci_run.h"

#include <algorithm>
#include <array>

#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr std::size_t kLongest = 500;  // of what is written into a lock that others read

}  // namespace

CiRun FindCiRun(const Environment& environment) {
  const auto said = [&](const char* name) {
    return VisibleControls(environment.Get(name).value_or("").substr(0, kLongest));
  };
  // Before GitHub: what Gitea runs finds GitHub's variables, too.
  const bool gitea = said("GITEA_ACTIONS") == "true";
  if (gitea || said("GITHUB_ACTIONS") == "true") {
    CiRun run{gitea ? "gitea" : "github", "", said("GITHUB_RUN_ID"), said("GITHUB_RUN_ATTEMPT"),
              said("GITHUB_SHA")};
    const std::string server = said("GITHUB_SERVER_URL");
    const std::string repository = said("GITHUB_REPOSITORY");
    // Gitea's pages went by the number that a repository counts. Since 1.26 a number is an id
    // first, of another run often, unless the address says which is meant; older ones do not look
    // at that.
    const std::string page = gitea ? said("GITHUB_RUN_NUMBER") : run.id;
    if (!server.empty() && !repository.empty() && !page.empty()) {
      run.url = server + "/" + repository + "/actions/runs/" + page + (gitea ? "?by_index=1" : "");
    }
    return run;
  }
  if (said("GITLAB_CI") == "true") {
    return {"gitlab", said("CI_JOB_URL"), said("CI_JOB_ID"), "", said("CI_COMMIT_SHA")};
  }
  if (!said("ATLANTIS_TERRAFORM_VERSION").empty() || !said("PULL_NUM").empty()) {
    return {"atlantis", said("PULL_URL"), said("PULL_NUM"), "", said("HEAD_COMMIT")};
  }
  return {};
}

bool IsPipeline(const Environment& environment) {
  const std::string ci = LowerCase(environment.Get("CI").value_or(""));
  if (!ci.empty() && ci != "false" && ci != "0") return true;
  const auto is_set = [&](const char* name) { return !environment.Get(name).value_or("").empty(); };
  constexpr std::array<const char*, 8> kOthers = {
      "TF_BUILD",  "JENKINS_URL",      "CODEBUILD_BUILD_ID",
      "BUILDKITE", "TEAMCITY_VERSION", "BITBUCKET_BUILD_NUMBER",
      "DRONE",     "BUILD_ID"};
  return std::any_of(kOthers.begin(), kOthers.end(), is_set) || !FindCiRun(environment).ci.empty();
}

}  // namespace podctl

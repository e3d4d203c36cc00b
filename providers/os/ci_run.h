// Which run of a pipeline this process is part of, as the pipeline's variables say it.
#pragma once

#include <string>

#include "providers/os/environment.h"

namespace podctl {

// Each member is empty where the pipeline does not say it; `ci` is where there is none.
struct CiRun {
  std::string ci;       // "github", "gitlab", "gitea", "atlantis"
  std::string url;      // of the run, for people; of the pull request with Atlantis
  std::string id;       // of the run; of the pull request with Atlantis
  std::string attempt;  // "2": it was run again
  std::string commit;   // that is checked out, as far as the pipeline knows
};

// GitHub: "Variables reference" (GITHUB_RUN_ID, ...); Gitea sets the same, and GITEA_ACTIONS.
// GitLab: "Predefined CI/CD variables". Atlantis: the environment of custom `run` steps.
CiRun FindCiRun(const Environment& environment);

// Whether a pipeline runs this, one of those or another: where CI is set to anything but "false" or
// "0" (Woodpecker's is "woodpecker"), or what Azure, Jenkins, CodeBuild and the like set. It may be
// at work on another person's spec, such as a pull request.
bool IsPipeline(const Environment& environment);

}  // namespace podctl

// Which forge this run of a pipeline belongs to, and what it is about there, as the pipeline's
// variables say it.
//
// GitHub: "Variables reference" (GITHUB_API_URL, GITHUB_REPOSITORY, ...) and the event's JSON in
// GITHUB_EVENT_PATH. Gitea sets the same, and GITEA_ACTIONS. GitLab: "Predefined CI/CD variables".
// Atlantis: the environment of custom `run` steps; it posts itself what such a step prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "providers/base/error.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"

namespace podctl {

enum class ForgeKind { kGitHub, kGitea, kGitLab, kAtlantis };

struct ForgePlace {
  ForgeKind kind = ForgeKind::kGitHub;
  std::string api;         // base URL, without a slash at its end
  std::string graphql;     // GitHub's alone
  std::string repository;  // "owner/name"; GitLab: the project's number
  std::string token;       // never shown
  std::string token_from;  // the variable that held it; empty: there is none
  std::string checkout;    // where the repository lies on this machine; may be empty
  std::string commit;      // that this run is about: of a pull request its head
  std::string branch;      // that this run is of; empty: of a tag, or of a pull request
  // The pull request that this run is about; nullopt: none.
  std::optional<std::int64_t> pull;
};

// Whether any of them runs this.
std::optional<ForgeKind> FindForgeKind(const Environment& environment);

// kFailedPrecondition: no such pipeline runs this, or a variable is missing, which is named;
// kInvalidArgument: one is none; also where the token would travel unencrypted to another machine.
Result<ForgePlace> FindForgePlace(const Environment& environment, FileSystem& files);

}  // namespace podctl

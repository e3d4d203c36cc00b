#include "providers/forges/rest_forge.h"

#include "providers/forges/rooms.h"

namespace podctl {

Result<std::unique_ptr<Forge>> MakeForge(const ForgePlace& place, const ForgeDoors& doors) {
  if (place.kind == ForgeKind::kAtlantis) {
    return MakeError(ErrorCode::kUnimplemented,
                     "Atlantis writes comments itself, of what a step of its workflow prints, and "
                     "podctl cannot ask it what was reviewed",
                     "in its workflow: `podctl ci plan --out \"$PLANFILE\"`, and `podctl ci apply "
                     "\"$PLANFILE\"`");
  }
  if (place.token.empty()) {
    const char* const hint =
        place.kind == ForgeKind::kGitHub
            ? "in the workflow's step: `env: {GITHUB_TOKEN: \"${{ github.token }}\"}`, with "
              "`permissions: {pull-requests: write}` for its job"
        : place.kind == ForgeKind::kGitea
            ? "in the workflow's step: `env: {GITHUB_TOKEN: \"${{ github.token }}\"}`"
            : "set GITLAB_TOKEN to a project access token with the scope `api`: the job's own "
              "token may not write notes";
    return MakeError(ErrorCode::kFailedPrecondition, "there is no token to write a comment with",
                     hint);
  }
  return place.kind == ForgeKind::kGitLab ? MakeGitLab(place, doors) : MakeGitHub(place, doors);
}

}  // namespace podctl

// Reads spec files into a Spec. Contacts nothing; all problems of all files are reported at once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plans/engine/kind.h"
#include "plans/spec/other_states.h"
#include "plans/spec/spec.h"
#include "providers/base/diagnostic.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"
#include "providers/os/withheld_files.h"

namespace podctl {

struct LoadOptions {
  std::vector<std::string> paths;           // -f; empty: podctl.yaml in the current folder
  std::map<std::string, std::string> vars;  // --var, over PODCTL_VAR_x, over --var-file
  std::vector<std::string> var_files;       // YAML maps of name: value
  std::optional<std::string> project;       // --project, PODCTL_PROJECT, …: below the spec's own
  std::optional<std::string> zone;          // --zone, PODCTL_ZONE, …: likewise
  std::string zone_from = "--zone";         // who says `zone`, for what is wrong with it
  // Files whose text is given here instead of on the disk, by path: a spec that is not written yet.
  std::map<std::string, std::string> texts = {};
  bool recursive = false;      // folders of `paths` with all that is below them
  bool may_lack_pods = false;  // for who is about to add one
  KnownKinds kinds = {};       // whose sections there are
  // From what a spec names; its own state and keys are added to it. Null: none that is known.
  std::shared_ptr<WithheldFiles> withheld = {};
  // How a state's URL is written in one way; an error: no state can be there. Empty: every URL can
  // be one.
  std::function<Result<std::string>(const std::string& url)> state_url = {};
  // What the other states say that the spec names; null: nobody asked them yet, and references to
  // their outputs stay as they are written.
  std::shared_ptr<const OtherOutputs> other_outputs = {};
  // The last day of which prices can be, "2026-11-01"; empty: of any.
  std::string last_day = {};
};

// The Spec is usable only when `diagnostics` has no errors afterwards.
Spec LoadSpec(const LoadOptions& options, FileSystem& files, const Environment& environment,
              Diagnostics& diagnostics);

}  // namespace podctl

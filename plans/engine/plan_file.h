// A plan that was saved to be applied later: the plan itself, and what it was made from, so that an
// apply can tell whether the world is still the one that was reviewed.
//
// One JSON document with a checksum, readable by its owner only. Nothing sensitive is in it: a
// keyed digest stands for each such value (plan_file/secrets.h), and apply takes the values from
// the spec and its variables again. It travels through places where others can write, such as the
// artifacts of a pipeline: what it shows has to agree with what it does (plan_file/staleness.h),
// and where there is a state its key seals all of it (plan_file/secrets.h). Knows no API and no
// terminal. Pure but for the two functions that take a FileSystem.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/kind.h"
#include "providers/base/error.h"
#include "providers/os/file_system.h"
#include "state/state.h"

namespace podctl {

inline constexpr int kPlanFormatVersion = 4;
inline constexpr std::uint64_t kMaxPlanBytes = std::uint64_t{256} << 20;

struct SavedPlan {
  std::string podctl_version;
  std::string created_at;               // RFC 3339
  std::string folder;                   // absolute: where relative paths started when it was made
  std::string state_path;               // of the state
  std::string endpoint;                 // base URL of the API that was asked
  std::vector<std::string> spec_paths;  // as given with -f; empty: podctl.yaml
  std::string spec_digest;              // Spec::digest
  std::map<std::string, std::string> variables;  // Spec::variables that are not sensitive
  std::vector<std::string> sensitive_variables;  // the names of the others
  // The state as settled when the plan was made, without its digest_key; nullopt: there was none.
  std::optional<State> prior;
  std::vector<Precondition> preconditions;  // what it relies on, by kind
  // What the plan means for the jobs of the spec, a clause each (plans/session/due_jobs.h):
  // for who looks at it, since the spec may be another one by then.
  std::vector<std::string> jobs;
  // Keys the digests while there is no state that could (secrets.h); else empty.
  std::string check_key;
  Plan plan;  // sensitive texts are digests
  // By the state that it was made from (plan_file/secrets.h); empty: by none.
  std::string seal;
  std::string content;  // the digest of all else, as it was read; not in the file
};

// JSON, a line for each member of the document. kInvalidArgument when the plan holds what JSON
// cannot (text that is not UTF-8).
Result<std::string> PlanToJson(const SavedPlan& saved);

// The digest of all that such a document says, its checksum and its seal left out.
Result<std::string> PlanContent(const SavedPlan& saved);

// kDataLoss for an empty or cut text, or one that is no plan in its parts; kInvalidArgument for a
// foreign one; kUnimplemented for a newer format version, naming it; kStalePlan for a plan that can
// be read and is not as it was written: its checksum does not fit, or it says what no podctl says,
// or shows something other than it does. The message names `origin` (a path). What is returned is
// safe to show and to carry out: worker numbers, counts and durations are within their limits, and
// what it shows is what it does.
Result<SavedPlan> PlanFromJson(std::string_view text, const std::string& origin,
                               const KnownKinds& kinds);

// Replaces the file `path` by a temporary file, a sync and a rename; mode 0600.
Result<void> WritePlanFile(const SavedPlan& saved, const std::string& path,
                           const std::string& temporary, FileSystem& files);
Result<SavedPlan> ReadPlanFile(const std::string& path, FileSystem& files, const KnownKinds& kinds);

}  // namespace podctl

// Commands of other tools as podctl specs: `gcloud compute tpus … create` becomes a pod,
// `python -m torch_xla.distributed.xla_dist` a job, `caliban cloud` a training job.
//
// Makes text and runs nothing. A flag whose meaning would be lost is an error that names it. One
// that says nothing about the pod is told as a remark, which stands in the text as a comment; the
// line itself is not repeated, as it may hold a secret.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plans/from_command/flag_words.h"
#include "plans/from_command/shell_words.h"
#include "plans/kinds/training_job/spec.h"
#include "providers/base/error.h"

namespace podctl {

struct Remark {
  std::string subject;  // "--async"
  std::string reason;   // a clause: "apply waits"
};

struct FromCommand {
  std::string tool;  // "gcloud compute tpus tpu-vm create"
  std::string text;  // of a podctl.yaml
  std::vector<Remark> remarks;
  std::optional<TrainingJobSpec> training;  // of a caliban line that is one job
};

// What a line may lean on.
struct LineWorld {
  // The text of a file that the line names; empty: no file can be read.
  std::function<Result<std::string>(const std::string& path)> read;
  std::string now;  // RFC 3339; empty: not known
  // For a line that names none; empty: a placeholder is put in.
  std::string project = {};
  std::string zone = {};
};

// kInvalidArgument: no line of a tool that is known, one without what it needs most, or one that
// says what cannot be carried over.
Result<FromCommand> SpecFromCommand(std::string_view line, const LineWorld& world = {});

// One parser a tool. `words` is the command without what stands before it (variables, `sudo`).
Result<FromCommand> FromGcloud(const std::vector<std::string>& words, const LineWorld& world);
// Of gcloud's commands that create TPUs, as of gcloud 528.
std::span<const FlagRule> GcloudFlags();
Result<FromCommand> FromXlaDist(const std::vector<std::string>& words, const LineWorld& world);
Result<FromCommand> FromCaliban(const std::vector<std::string>& words, const LineWorld& world);

// Where a line does not say it: a spec must have one.
inline constexpr const char* kPlaceholderProject = "my-project";
inline constexpr const char* kNoProject =
    "was not given: put in yours, or take the line out to have gcloud's own setting";

// `text` as a pod's name: what does not fit becomes `-`; "research" when nothing is left.
std::string NameFrom(std::string_view text);
// Whether a shell would put something in.
bool HasExpansion(std::string_view text);

// ---- What the readers of all tools' lines share: what they make, and what is told of a flag
// before anybody looks at what it means.

class ToolLine {
 protected:
  // `subject` is not carried over as it was, and why: a clause.
  void Left(const std::string& subject, std::string_view reason);
  // It cannot be carried over, and would be lost.
  void Refuse(const std::string& subject, std::string_view reason);
  // What was refused, all of it, a line each; nullopt: nothing was.
  std::optional<Error> Refused() const;
  // "--zone"; of an unknown short one "-z".
  static std::string Shown(const GivenFlag& flag);
  // False for what has been dealt with: refused is a flag that nobody knows, and one that lacks its
  // value; and one that says nothing about the pod or job is left aside.
  bool CanBeTaken(const GivenFlag& flag);

  FromCommand made_;

 private:
  std::vector<Remark> refused_;
};

}  // namespace podctl

// The spec that an import writes pods into: read, tried with the pods in memory, and only then
// written. A text that is printed is tried in the same way.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plans/session/plan.h"
#include "plans/spec/loader.h"
#include "plans/spec/spec_writer.h"
#include "providers/base/diagnostic.h"
#include "providers/provider.h"

namespace podctl {

inline constexpr std::size_t kMostSpecBytes = std::size_t{4} << 20;  // as whoever reads one takes

class SpecTarget {
 public:
  // `entry` is lent. `file`: --write-spec; empty: the text is printed.
  SpecTarget(const AccessDoors& entry, LoadOptions load, const std::string& file);

  // The spec that is there, if any. `podctl import … > podctl.yaml` finds the file that the shell
  // has just emptied, which counts as none. False where it is wrong, of which the listener has
  // heard, or where error() says why.
  bool Read(PlanListener& listener);
  const std::optional<Error>& error() const { return error_; }

  const Spec& spec() const { return spec_; }  // where there is none: what the flags say
  const std::string& file() const { return file_; }

  // Has each of `drafts`, of the node of the same index, say its project and zone where the text
  // around it does not.
  void Place(const std::vector<NodeName>& names, std::vector<PodDraft>* drafts);
  // The whole file, or what is to be printed. Of drafts that were placed.
  Result<std::string> TextOf(const std::vector<PodDraft>& drafts) const;
  // The spec as it is with that text. Usable only without errors.
  Spec Try(const std::string& text, Diagnostics& diagnostics) const;
  // Whether the file may be written: the state, what podctl keeps beside it, and a saved plan are
  // no place for a spec. kInvalidArgument.
  Result<void> CheckFree(const std::string& state) const;
  // Written beside its place, and then put there: it is whole at any moment, and keeps its mode and
  // its owner. kAborted where somebody else has changed the file since it was read. Nothing where
  // the text is to be printed.
  Result<void> Write(const std::string& text) const;

 private:
  bool ReadFile();
  bool IsMissing(const std::string& path) const;
  Result<void> Replace(const std::string& text, const std::string& path) const;

  const AccessDoors& entry_;
  LoadOptions load_;  // its paths empty: there is no spec yet
  const std::string file_;
  std::optional<std::string> before_;  // the file as it was, if it was there
  Spec spec_;
  std::string head_project_;  // what a text of its own says above its pods
  std::string head_zone_;
  std::optional<Error> error_;
};

}  // namespace podctl

#include "plans/engine/plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "plans/engine/graph.h"
#include "plans/engine/plan_file/archive.h"
#include "plans/engine/plan_file/staleness.h"
#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "state/state_json.h"

namespace podctl {

// The rest of the document is not for everybody to read back.
template <typename A, plan_file::Of<SavedPlan> S>
static void Members(A& archive, S& saved) {
  auto& [podctl_version, created_at, folder, state_path, endpoint, spec_paths, spec_digest,
         variables, sensitive_variables, prior, stakes, jobs, check_key, plan, seal, content] =
      saved;
  PODCTL_SAVE(archive, podctl_version, created_at, folder, state_path, endpoint, spec_paths,
              spec_digest, variables, sensitive_variables, stakes, jobs, check_key, plan);
  static_cast<void>(prior);    // without its key, see PriorToValue
  static_cast<void>(seal);     // may be missing
  static_cast<void>(content);  // of the document
}
namespace {

constexpr std::string_view kKind = "podctl plan";

// In the order in which they are written.
constexpr std::string_view kKeys =
    "kind format_version podctl_version created_at checksum seal folder state_path endpoint "
    "spec_paths spec_digest variables sensitive_variables check_key prior_state stakes jobs plan";

std::string ChecksumOf(Value document) {
  document.Set("checksum", "");
  return "sha256:" + Sha256Hex(ToJson(document));
}

// The digest key stays where it is: with it and a digest, guesses could be tried out.
Result<Value> PriorToValue(const std::optional<State>& prior) {
  if (!prior) return Value();
  State state = *prior;
  state.digest_key.clear();
  return ParseJson(StateToJson(state));
}

std::string ContentOf(Value document) {
  document.Set("seal", "");
  return ChecksumOf(std::move(document));
}

Result<Value> DocumentOf(const SavedPlan& saved) {
  auto prior = PriorToValue(saved.prior);
  if (!prior) return prior.error();
  Value document = plan_file::Writer::ToValue(saved);
  document.Set("kind", kKind);
  document.Set("format_version", kPlanFormatVersion);
  document.Set("prior_state", std::move(*prior));
  document.Set("seal", saved.seal);
  return document;
}

// Names from a file are data, of any length.
std::string Shown(const std::string& text) {
  constexpr std::size_t kMostBytes = 500;
  return VisibleControls(text.size() <= kMostBytes ? text : text.substr(0, kMostBytes) + "…");
}

Error Damaged(const std::string& origin, const std::string& what) {
  return MakeError(ErrorCode::kDataLoss,
                   fmt::format("the plan {} is damaged: {}", origin, Shown(what)),
                   "Make a new one with `podctl plan --out FILE`.");
}

// It can be read, and is not what a podctl wrote: nobody has reviewed this one.
Error Altered(const std::string& origin, const std::string& what) {
  return MakeError(ErrorCode::kStalePlan,
                   fmt::format("the plan {} was altered: {}", origin, Shown(what)),
                   "Somebody has changed what it says since it was made, or a disk or a transfer "
                   "has. Make a new one with `podctl plan --out FILE`.");
}

Error Foreign(const std::string& origin) {
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("{} is not a saved plan", origin),
                   "A saved plan is made by `podctl plan --out FILE`; a spec is given with `-f`.");
}

Error TooNew(const std::string& origin, const Value& document) {
  const std::string& writer = document["podctl_version"].AsString();
  return MakeError(
      ErrorCode::kUnimplemented,
      fmt::format("the plan {} has format version {}, and this podctl ({}) reads version {}",
                  origin, document["format_version"].AsInt(), PODCTL_VERSION, kPlanFormatVersion),
      writer.empty()
          ? "Use the podctl that made it."
          : fmt::format("Use podctl {}, which made it, or make a new plan.", Shown(writer)));
}

// What the planner made sure of, and the executor relies on.
std::string CheckWaits(const Plan& plan, Kinds kinds) {
  if (const Change* change = FindCircle(plan)) {
    return fmt::format("{} waits for itself", change->address);
  }
  std::set<Address> acting;
  for (const Change& change : plan.changes) {
    if (!IsKeep(change)) acting.insert(change.address);
  }
  for (const Change& change : plan.changes) {
    const Address whole = WholeOf(kinds, change.address);
    if (whole == change.address || !acting.contains(whole)) continue;
    const auto& waits = change.waits_for;
    if (std::find(waits.begin(), waits.end(), whole) == waits.end()) {
      return fmt::format("{} does not wait for {}, which it is a part of", change.address, whole);
    }
  }
  return "";
}

std::string CheckPlan(const Plan& plan, Kinds kinds) {
  if (plan.cost) {
    if (std::string problem = WhatCannotBe(*plan.cost); !problem.empty()) return problem;
  }
  std::set<Address> addresses;
  for (const Change& change : plan.changes) {
    if (!addresses.insert(change.address).second) {
      return fmt::format("{} stands in it twice", change.address);
    }
    const Kind* kind = change.payload.kind();
    if (kind == nullptr) return fmt::format("`{}` is no address of a change", change.address);
    if (!change.address.deposed.empty() && change.verb != Verb::kDelete) {
      return fmt::format("{} cannot be changed so", change.address);
    }
    if (const std::string problem = kind->WhatCannotBe(change); !problem.empty()) {
      return fmt::format("{} {}", change.address, problem);
    }
  }
  return CheckWaits(plan, kinds);
}

// Without its preconditions a plan would be applied whatever has become of what it acts on.
std::string CheckPreconditions(const SavedPlan& saved, Kinds kinds) {
  for (const Precondition& precondition : saved.preconditions) {
    if (FindKind(kinds, precondition.address.kind) == nullptr) {
      return fmt::format("`{}` is no address of a stake", precondition.address);
    }
  }
  if (!saved.plan.refreshed) return {};
  for (const Kind* kind : kinds) {
    const std::string lacks = kind->WhatLacksPrecondition(saved.plan, saved.preconditions);
    if (!lacks.empty()) return fmt::format("it does not say how {} was", lacks);
  }
  return {};
}

// Those that were read as plain values; of a kind that is not known they are nobody's.
void OpenPayloads(Kinds kinds, Plan* plan, std::string* problem) {
  for (std::size_t i = 0; i < plan->changes.size() && problem->empty(); ++i) {
    Change& change = plan->changes[i];
    const Value* value = change.payload.As<Value>();
    if (value == nullptr) continue;
    const Kind* kind = FindKind(kinds, change.address.kind);
    change.payload =
        kind == nullptr ? Payload()
                        : kind->ReadPayload(
                              *value, fmt::format("plan.changes[{}].{}", i, kind->name()), problem);
  }
}

// Fills everything but the prior state.
std::string ReadDocument(const Value& document, Kinds kinds, SavedPlan* saved) {
  std::string problem;
  plan_file::Reader in(document, "", problem);
  for (const char* known : {"kind", "format_version", "checksum", "prior_state"}) in.Know(known);
  Members(in, *saved);
  if (document.Find("seal") != nullptr) in("seal", saved->seal);  // older podctls set none
  in.RefuseUnknown();
  if (problem.empty()) OpenPayloads(kinds, &saved->plan, &problem);
  return problem;
}

// Whether it says what a planner could have said, and shows what it does. Empty: it does.
std::string WhyNobodyMadeIt(const SavedPlan& saved, Kinds kinds) {
  if (std::string problem = CheckPlan(saved.plan, kinds); !problem.empty()) return problem;
  if (std::string problem = CheckPreconditions(saved, kinds); !problem.empty()) return problem;
  return WhyShownOtherwise(saved, kinds);
}

}  // namespace

Result<std::string> PlanToJson(const SavedPlan& saved) {
  auto document = DocumentOf(saved);
  if (!document) return document.error();
  document->Set("checksum", ChecksumOf(*document));
  // What a person looks for stands first, a line each; the rest is for programs.
  std::string text = "{";
  std::string_view separator = "\n";
  for (const std::string& key : SplitWords(kKeys)) {
    text += fmt::format("{}  \"{}\": {}", separator, key, ToJson((*document)[key]));
    separator = ",\n";
  }
  text += "\n}\n";
  // JSON holds only UTF-8; an apply must send what was reviewed, not something like it.
  auto read = ParseJson(text);
  if (!read || !(*read == *document)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "the plan holds text that is not UTF-8, which a file of JSON cannot keep",
                     "Apply it without saving it: `podctl apply`.");
  }
  if (text.size() > kMaxPlanBytes) {
    return MakeError(ErrorCode::kResourceExhausted,
                     fmt::format("the plan is larger than {} MiB", kMaxPlanBytes >> 20));
  }
  return text;
}

Result<SavedPlan> PlanFromJson(std::string_view text, const std::string& origin,
                               const KnownKinds& kinds) {
  if (text.empty()) return Damaged(origin, "it is empty");
  if (text.size() > kMaxPlanBytes) {
    return Damaged(origin, fmt::format("it is larger than {} MiB", kMaxPlanBytes >> 20));
  }
  const bool begins_as_plan = text.substr(0, 64).find(kKind) != std::string_view::npos;
  auto document = ParseJson(text);
  if (!document) {
    return begins_as_plan ? Damaged(origin, document.error().message) : Foreign(origin);
  }
  if ((*document)["kind"] != Value(kKind)) return Foreign(origin);
  const Value& version = (*document)["format_version"];
  // Before anything else: what a newer podctl means by the other keys is not known here.
  if (version.is_int() && version.AsInt() > kPlanFormatVersion) return TooNew(origin, *document);
  if (version.is_int() && version.AsInt() > 0 && version.AsInt() < kPlanFormatVersion) {
    return MakeError(ErrorCode::kUnimplemented,
                     fmt::format("the plan {} was made by an older podctl (format version {}; this "
                                 "one reads {})",
                                 origin, version.AsInt(), kPlanFormatVersion),
                     "Make a new one with `podctl plan --out FILE`.");
  }
  if (version != Value(kPlanFormatVersion)) {
    return Damaged(origin, "it has no format version that ever was");
  }
  if ((*document)["checksum"].AsString() != ChecksumOf(*document)) {
    return Altered(origin, "its content does not match its checksum");
  }
  SavedPlan saved;
  if (const std::string problem = ReadDocument(*document, kinds.all, &saved); !problem.empty()) {
    return Damaged(origin, problem);
  }
  if (const Value& prior = (*document)["prior_state"]; !prior.is_null()) {
    auto state = StateFromJson(ToJson(prior), "in " + origin, kinds.remembered);
    if (!state) return state.error();
    saved.prior = std::move(*state);
  }
  if (const std::string problem = WhyNobodyMadeIt(saved, kinds.all); !problem.empty()) {
    return Altered(origin, problem);
  }
  saved.content = ContentOf(*std::move(document));
  return saved;
}

Result<std::string> PlanContent(const SavedPlan& saved) {
  auto document = DocumentOf(saved);
  if (!document) return document.error();
  return ContentOf(*std::move(document));
}

namespace {

// Who commits a link of a plan's usual name could have any file of the user's replaced; and a
// device, such as /dev/null, is not to become a file.
Result<void> CheckReplaceable(const std::string& path, FileSystem& files) {
  const auto end = files.FollowLinks(path);
  if (!end) return end.error();
  if (*end != path) {
    return MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("the plan is not written to {}: it is a symbolic link to {}", path, *end),
        "Name the file itself, or remove the link.");
  }
  const auto there = files.Stat(path);
  if (!there && there.error().code != ErrorCode::kNotFound) return there.error();
  if (!there || there->kind == FileInfo::Kind::kFile) return {};
  return MakeError(
      ErrorCode::kInvalidArgument,
      fmt::format(
          "the plan is not written to {}: it is {}, not a file", path,
          there->kind == FileInfo::Kind::kFolder ? "a folder" : "a device, pipe or socket"));
}

}  // namespace

Result<void> WritePlanFile(const SavedPlan& saved, const std::string& path,
                           const std::string& temporary, FileSystem& files) {
  auto text = PlanToJson(saved);
  if (!text) return text.error();
  if (auto own = CheckReplaceable(path, files); !own) return own;
  if (auto written = files.WriteNew(temporary, *text, 0600); !written) {
    static_cast<void>(files.Remove(temporary));  // the first error is the one to tell
    return written;
  }
  if (auto renamed = files.Rename(temporary, path); !renamed) {
    static_cast<void>(files.Remove(temporary));
    return renamed;
  }
  return files.SyncFolder(FolderOf(path));
}

Result<SavedPlan> ReadPlanFile(const std::string& path, FileSystem& files,
                               const KnownKinds& kinds) {
  auto text = files.Read(path, kMaxPlanBytes);
  if (!text) return text.error();
  return PlanFromJson(*text, path, kinds);
}

}  // namespace podctl

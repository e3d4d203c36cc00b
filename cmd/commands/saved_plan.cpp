#include "cmd/commands/saved_plan.h"

#include <fmt/format.h>

#include <vector>

#include "cmd/commands/plan_run.h"
#include "cmd/reporter.h"
#include "cmd/views/markdown.h"
#include "cmd/views/plan_view.h"
#include "cmd/views/terraform_json.h"
#include "plans/kinds/pod/change.h"
#include "plans/session/saved_plan.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// Which state an apply writes, where it is not the usual one, and whether the plan bears its seal;
// of one that bears none, who comes between podctl and the workers. Fails where the seal is wrong.
Result<std::vector<std::string>> NotesOnState(Wiring& wiring, const SavedPlan& saved) {
  std::vector<std::string> notes;
  const std::string path =
      StateOf(wiring.files(), {wiring.LikelyStatePath(), !wiring.options().state.empty()}, saved);
  if (path != wiring.LikelyStatePath()) {
    notes.push_back(fmt::format("State: `podctl apply` writes {}.", VisibleControls(path)));
  }
  const auto seal = CheckSeal(saved, *wiring.OpenStore(path));
  if (!seal) return seal.error();
  if (*seal == Seal::kNone) {
    for (const Change& change : saved.plan.changes) {
      const PodChange* pod = change.verb == Verb::kCreate ? AsPod(change) : nullptr;
      if (pod == nullptr || !pod->wanted.ssh.proxy_jump) continue;
      notes.push_back(fmt::format("Jump host: {} is entered through {}.", change.address,
                                  VisibleControls(*pod->wanted.ssh.proxy_jump)));
    }
  }
  if (*seal == Seal::kNotLookedAt) {
    notes.emplace_back(
        "Seal: not looked at, since its state is not here. `podctl apply` refuses a plan that was "
        "altered.");
  }
  return notes;
}

// A saved plan was decided upon; nothing on the command line may change what it says.
std::string ForeignFlag(const ApplyOptions& options) {
  if (!options.targets.empty()) return "--target";
  if (!options.replace.empty()) return "--replace";
  if (!options.refresh) return "--refresh=false";
  if (options.refresh_only) return "--refresh-only";
  return options.destroy ? "--destroy" : "";
}

}  // namespace

bool SaveThePlan(Wiring& wiring, const PlanRun& run, const std::string& path) {
  const PlanWishes wishes = WishesFor(wiring, {});
  const auto saved =
      SavePlan(run, path, {wishes.load, wishes.state, wiring.endpoint(), std::string(kVersion)},
               wiring.files(), wiring.clock(), wiring.random());
  if (!saved) wiring.reporter().ShowError("the plan could not be saved", saved.error());
  return saved.has_value();
}

int RunShowPlan(Wiring& wiring, const std::string& path, bool markdown) {
  const auto saved = ReadPlanFile(path, wiring.files(), wiring.kinds());
  if (!saved) return wiring.reporter().ShowFailure(saved.error());
  auto notes = NotesOnState(wiring, *saved);
  if (!notes) return wiring.reporter().ShowFailure(notes.error());
  const std::string jobs = JobsText(saved->jobs);
  const auto text = [&](Streams& streams) {
    if (markdown) {
      if (!jobs.empty()) notes->push_back(jobs);
      streams.out << MarkdownOf(&saved->plan, {}, *notes);
      return;
    }
    PlanViewOptions view;
    view.color = streams.color && streams.out_is_terminal;
    view.whole = true;  // who reviews a file that came through other hands sees all of it
    streams.out << ShowPlan(saved->plan, view) << (jobs.empty() ? "" : "\n" + jobs + "\n");
    for (const std::string& note : *notes) streams.out << "\n" << note << "\n";
  };
  wiring.reporter().Document([&] { return TerraformPlan(*saved); }, text, JsonStyle::kCompact);
  return 0;
}

std::variant<PlanRun, NoPlan> PrepareSavedPlan(Wiring& wiring, const ApplyOptions& options) {
  const SavedWishes wishes{options.plan_file, ForeignFlag(options), wiring.endpoint(),
                           WishesFor(wiring, {}, "apply")};
  PlanTeller teller(wiring.reporter());
  return PrepareSavedPlan(wiring.plan_doors(), wishes, teller);
}

}  // namespace podctl

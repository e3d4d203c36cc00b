#include "cmd/commands/saved_plan.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "cmd/reporter.h"
#include "cmd/views/markdown.h"
#include "cmd/views/plan_view.h"
#include "cmd/views/terraform_json.h"
#include "cmd/wiring.h"
#include "plans/kinds/pod/change.h"
#include "plans/session/saved_plan.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// Which state an apply writes, where it is not the usual one, and whether the plan bears its seal;
// of one that bears none, who comes between podctl and the workers.
std::vector<std::string> NotesOn(const SavedPlan& saved, Seal seal,
                                 const std::string& other_state) {
  std::vector<std::string> notes;
  if (!other_state.empty()) {
    notes.push_back(fmt::format("State: `podctl apply` writes {}.", VisibleControls(other_state)));
  }
  if (seal == Seal::kNone) {
    for (const Change& change : saved.plan.changes) {
      const PodChange* pod = change.verb == Verb::kCreate ? AsPod(change) : nullptr;
      if (pod == nullptr || !pod->wanted.ssh.proxy_jump) continue;
      notes.push_back(fmt::format("Jump host: {} is entered through {}.", change.address,
                                  VisibleControls(*pod->wanted.ssh.proxy_jump)));
    }
  }
  if (seal == Seal::kNotLookedAt) {
    notes.emplace_back(
        "Seal: not looked at, since its state is not here. `podctl apply` refuses a plan that was "
        "altered.");
  }
  return notes;
}

}  // namespace

int RunShowPlan(Wiring& wiring, const ApplyOptions& options) {
  Reporter& reporter = wiring.reporter();
  const auto saved = ReadPlanFile(options.plan_file, wiring.files(), wiring.kinds());
  if (!saved) return reporter.ShowFailure(saved.error());
  const StateChoice choice = wiring.state_choice();
  const std::string state = StateOf(wiring.files(), choice, *saved);
  const auto seal = CheckSeal(*saved, *wiring.OpenStore(state));
  if (!seal) return reporter.ShowFailure(seal.error());
  auto notes = NotesOn(*saved, *seal, state == choice.likely ? "" : state);
  const std::string jobs = JobsText(saved->jobs);
  const auto text = [&](Streams& streams) {
    if (options.markdown) {
      if (!jobs.empty()) notes.push_back(jobs);
      streams.out << MarkdownOf(&saved->plan, {}, notes);
      return;
    }
    PlanViewOptions view;
    view.color = streams.color && streams.out_is_terminal;
    view.whole = true;  // who reviews a file that came through other hands sees all of it
    streams.out << ShowPlan(saved->plan, view) << (jobs.empty() ? "" : "\n" + jobs + "\n");
    for (const std::string& note : notes) streams.out << "\n" << note << "\n";
  };
  reporter.Document([&] { return TerraformPlan(*saved); }, text, JsonStyle::kCompact);
  return 0;
}

}  // namespace podctl

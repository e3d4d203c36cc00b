// `podctl show FILE`: a saved plan, for who reviews it.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cmd/commands/apply.h"
#include "cmd/reporter.h"
#include "cmd/views/markdown.h"
#include "cmd/views/plan_view.h"
#include "cmd/views/terraform_json.h"
#include "cmd/wiring.h"
#include "plans/engine/plan_digest.h"
#include "plans/session/saved_plan.h"
#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// Whether somebody vouches for the plan; empty: the key of its state does.
std::string NoteOnSeal(const SavedPlan& saved, Seal seal) {
  switch (seal) {
    case Seal::kSound:
      break;
    case Seal::kNone:
      return "Seal: none. The plan says that it was made before there was a state; nobody vouches "
             "for what it says.";
    case Seal::kNotLookedAt:
      if (saved.seal.empty()) {
        return "Seal: none, and nobody vouches for what it says. `podctl apply` refuses such a "
               "plan.";
      }
      return "Seal: not looked at, since its state is not here. `podctl apply` refuses a plan that "
             "was altered.";
  }
  return {};
}

// What an apply reads and writes, where it is not the usual.
std::vector<std::string> NotesOnPlaces(FileSystem& files, const SavedPlan& saved,
                                       const std::string& other_state) {
  std::vector<std::string> notes;
  if (!other_state.empty()) {
    notes.push_back(fmt::format("State: `podctl apply` writes {}.", VisibleControls(other_state)));
  }
  if (const std::string folder = StartOf(files, saved); !folder.empty()) {
    notes.push_back(fmt::format("Folder: relative paths start in {}.", VisibleControls(folder)));
  }
  if (!saved.spec_paths.empty()) {
    notes.push_back(fmt::format("Spec: sensitive values and jobs are read from {}.",
                                VisibleControls(Join(saved.spec_paths, ", "))));
  }
  // What jobs and sensitive values are made of, too, and no seal says that they are the spec's.
  if (!saved.prior && !saved.variables.empty()) {
    std::vector<std::string> variables;
    for (const auto& [name, text] : saved.variables) {
      variables.push_back(VisibleControls(fmt::format("{} = {}", name, ToJson(Value(text)))));
    }
    notes.push_back(fmt::format("Variables: {}.", Join(variables, ", ")));
  }
  if (!saved.plan.refreshed) {
    notes.emplace_back("World: nobody asked how it was, so a change since then is not noticed.");
  }
  return notes;
}

struct Besides {
  std::vector<std::string> addresses;
  std::vector<Particular> particulars;
};

// In which order a plan that nobody has sealed is carried out, where that is more than that a part
// waits for its whole.
std::string WaitsOf(const SavedPlan& saved, const Change& change, Kinds kinds) {
  std::vector<std::string> others;
  for (const Address& address : change.waits_for) {
    if (address != WholeOf(kinds, change.address)) others.push_back(address.Text());
  }
  return saved.prior ? std::string() : Join(others, ", ");
}

// What its apply goes by besides what a plan shows.
std::vector<Besides> BesidesOf(const SavedPlan& saved, Kinds kinds) {
  std::vector<Besides> all;
  for (const Change& change : saved.plan.changes) {
    const AnyRecord* prior = nullptr;
    for (const Address& address : {change.previous_address, change.address}) {
      if (!saved.prior || !saved.prior->records.contains(address)) continue;
      prior = &saved.prior->records.at(address);
    }
    auto particulars = change.payload.kind()->ParticularsOf(change, prior);
    if (std::string waits = WaitsOf(saved, change, kinds); !waits.empty()) {
      particulars.push_back({"waits for", std::move(waits)});
    }
    if (particulars.empty()) continue;
    const auto same = std::find_if(all.begin(), all.end(), [&](const Besides& each) {
      return std::equal(each.particulars.begin(), each.particulars.end(), particulars.begin(),
                        particulars.end(), [](const Particular& a, const Particular& b) {
                          return a.path == b.path && a.text == b.text;
                        });
    });
    if (same != all.end()) {
      same->addresses.push_back(change.address.Text());
    } else {
      all.push_back({{change.address.Text()}, std::move(particulars)});
    }
  }
  return all;
}

std::string WhoOf(const Besides& besides) {
  return fmt::format("{} {} by these, too", VisibleControls(Join(besides.addresses, ", ")),
                     besides.addresses.size() == 1 ? "goes" : "go");
}

std::string TextOf(const Besides& besides) {
  std::string text = fmt::format("\n{}:\n", WhoOf(besides));
  for (const auto& [path, value] : besides.particulars) {
    text += fmt::format("    {} = ", VisibleControls(path));
    if (value.find('\n') == std::string::npos) {
      text += ShortJson(Value(value)) + "\n";
      continue;
    }
    const auto lines = SplitLines(value);
    text += fmt::format("({})\n", Plural(lines.size(), "line"));
    for (const std::string& line : lines)
      text += fmt::format("      | {}\n", VisibleControls(line));
  }
  return text;
}

// In one line, for a list.
std::string NoteOf(const Besides& besides) {
  std::vector<std::string> words;
  for (const auto& [path, value] : besides.particulars) {
    words.push_back(fmt::format("{} = {}", path, ToJson(Value(value))));
  }
  return fmt::format("{}: {}", WhoOf(besides), Join(words, "; "));
}

// Whoever names an address means what the state says of it.
Error WithWayToState(Error error, const std::string& path, Kinds kinds) {
  const auto address = ParseAddress(path);
  const bool known = address && FindKind(kinds, address->kind) != nullptr;
  if (known && error.code == ErrorCode::kNotFound) {
    error.hint = fmt::format(
        "`podctl show` takes a saved plan; what is remembered of {} is shown by "
        "`podctl state show {}`.",
        path, ShellQuote(path));
  }
  return error;
}

}  // namespace

int RunShowPlan(Wiring& wiring, const ApplyOptions& options) {
  Reporter& reporter = wiring.reporter();
  const KnownKinds kinds = wiring.kinds();
  const auto saved = ReadPlanFile(options.plan_file, wiring.files(), kinds);
  if (!saved) {
    return reporter.ShowFailure(WithWayToState(saved.error(), options.plan_file, kinds.all));
  }
  const StateChoice choice = wiring.state_choice();
  const std::string state = StateOf(wiring.files(), choice, *saved);
  const auto checked = CheckSeal(*saved, *wiring.OpenStore(state));
  if (!checked) return reporter.ShowFailure(checked.error());
  const std::string seal = NoteOnSeal(*saved, *checked);
  std::vector<std::string> notes =
      NotesOnPlaces(wiring.files(), *saved, state == choice.likely ? "" : state);
  const std::vector<Besides> besides = BesidesOf(*saved, kinds.all);
  const std::string jobs = JobsText(saved->jobs);
  const auto text = [&](Streams& streams) {
    if (options.markdown) {
      if (!seal.empty()) notes.insert(notes.begin(), seal);
      for (const Besides& one : besides) notes.push_back(NoteOf(one));
      for (std::string& note : JobNotes(saved->jobs)) notes.push_back(std::move(note));
      streams.out << MarkdownOf(&saved->plan, {}, notes);
      return;
    }
    PlanViewOptions view;
    view.color = streams.color && streams.out_is_terminal;
    view.whole = true;  // who reviews a file that came through other hands sees all of it
    if (!seal.empty()) streams.out << seal << "\n\n";
    streams.out << ShowPlan(saved->plan, view);
    for (const Besides& one : besides) streams.out << TextOf(one);
    if (!jobs.empty()) streams.out << "\n" << jobs << "\n";
    streams.out << fmt::format("\nDigest: {}\n", DigestOfPlan(*saved));
    for (const std::string& note : notes) streams.out << "\n" << note << "\n";
  };
  reporter.Document([&] { return TerraformPlan(*saved); }, text, JsonStyle::kCompact);
  return 0;
}

}  // namespace podctl

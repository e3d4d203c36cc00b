// `podctl import ADDRESS ID`: takes over a node that somebody else made, and shows the spec that
// matches it; `podctl import --all` does so with all nodes of a project.
#include "plans/session/import.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cmd/command.h"
#include "cmd/commands/apply.h"
#include "cmd/commands/state_edit.h"
#include "cmd/reporter.h"
#include "cmd/views/documents.h"
#include "cmd/wiring.h"
#include "plans/kinds/pod/import.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/published_keys.h"
#include "plans/session/import_all.h"
#include "providers/base/text.h"
#include "providers/gcp/os_login.h"

namespace podctl {
namespace {

std::vector<std::string> NotesOn(const Imported& done) {
  std::vector<std::string> notes;
  const std::string state = NodeState(done.node);
  if (!done.blind.empty()) {
    notes.push_back(fmt::format(
        "It was read in v2 only, which does not show its boot disk and the like: {}", done.blind));
  }
  if (done.waits) {
    notes.push_back(
        "There is no node yet: the next apply waits for it, as for one that podctl "
        "asked for.");
  }
  if (const auto strange = StrangeMetadata(done.node); !strange.empty()) {
    std::vector<std::string> names;
    for (const std::string& key : strange) names.push_back(VisibleControls(key));
    notes.push_back(fmt::format(
        "The API shows no text for the metadata {}: podctl leaves that alone, and the spec lacks "
        "it.",
        Join(names, ", ")));
  }
  if (IsTerminalState(state)) {
    notes.push_back(fmt::format("The node is {}: the next plan replaces it.", state));
  }
  if (done.restarts_runtime) {
    notes.push_back(fmt::format(
        "The API does not tell what tpu-runtime was started with: podctl takes it that it runs "
        "with the present tensorflow-env-vars. To be sure: podctl exec {} -- sudo systemctl "
        "restart tpu-runtime",
        done.address.name));
  }
  std::vector<std::string> differs = done.differs;
  const auto keys =
      done.waits ? std::vector<AttributeChange>() : DiffKeys(done.pod, nullptr, done.node);
  const bool lacks_keys =
      !keys.empty() && !gcp::TurnsOsLoginOn(done.node["metadata"][gcp::kOsLoginKey].AsString());
  if (lacks_keys) {  // which is told below
    std::erase_if(differs, [](const std::string& path) {
      return path.starts_with("metadata.") && path.find("ssh-keys") != std::string::npos;
    });
  }
  if (!differs.empty()) {
    notes.push_back(fmt::format("The spec wants it otherwise in {}: `podctl plan` shows how.",
                                Join(differs, ", ")));
  }
  if (lacks_keys) {
    notes.push_back(fmt::format(
        "Its `ssh-keys` lack {}: the next apply adds what is missing, and `ssh: {{publishKey: "
        "false}}` keeps yours out.",
        keys.size() == 1 ? "a key" : Plural(keys.size(), "key")));
  }
  if (done.no_key) notes.push_back(*done.no_key);
  if (!done.pod.bootstrap.empty()) {
    notes.push_back(fmt::format("Its {} will run with the next apply.",
                                Plural(done.pod.bootstrap.size(), "bootstrap step")));
  }
  return notes;
}

Value DocumentOf(const Imported& done, const std::string& address) {
  Value document =
      Value::Map{{"address", address},
                 {"node", done.name.Resource()},
                 {"state", NodeState(done.node)},
                 {"spec", done.text.empty() ? Value() : Value(done.text)},
                 {"spec_file", done.target.empty() ? Value() : Value(done.target)},
                 {"differs_in", Value::List(done.differs.begin(), done.differs.end())}};
  const auto notes = NotesOn(done);
  document.Set("notes", Value::List(notes.begin(), notes.end()));
  document.Set("made_with_lineage", done.made_with.empty() ? Value() : Value(done.made_with));
  return document;
}

// That of another state may plan for the same node.
void WarnOfOtherState(Reporter& reporter, const Imported& done) {
  if (done.known || done.made_with.empty()) return;
  reporter.ShowWarning(
      fmt::format("podctl made `{}` with another state, which may still manage it", done.name.node),
      fmt::format("Its label podctl-lineage says {}. As long as two states know one node, each "
                  "plans for it by a spec of its own: what one has applied the other undoes, and a "
                  "destroy with either deletes it. Have the other one forget it, with its spec or "
                  "--state:\n    podctl state rm ADDRESS\nThe label stays as it is.",
                  VisibleControls(done.made_with)));
}

// "projects/p/locations/z/nodes/n (v3-32, READY, 4 workers)".
std::string NodeWords(const NodeName& name, const Value& node,
                      const std::optional<QueuedRecord>& queued, bool waits) {
  const std::string type = VisibleControls(node["acceleratorType"].AsString());
  return fmt::format("{} ({}{}{}, {})", name.Resource(), type, type.empty() ? "" : ", ",
                     waits ? queued->state : NodeState(node), Plural(WorkerCount(node), "worker"));
}

void ShowWhereSpecIs(Streams& streams, const std::string& text, const std::string& target,
                     bool implied, const char* what) {
  if (!target.empty()) {
    const bool is_usual = target == "podctl.yaml" && implied;
    streams.err << fmt::format("Wrote the {} to {}{}.\n", what, target,
                               is_usual ? "" : ", which the next plan must read (-f)");
  } else if (!text.empty()) {
    streams.err << "Put this into the spec before the next apply, which destroys what is in the "
                   "state but not in the spec:\n"
                << std::flush;
    streams.out << text;
  }
}

// `implied`: no -f was given.
void ShowAsText(Streams& streams, const Imported& done, const std::string& address, bool implied) {
  streams.err << fmt::format(
      "{}: {}.\n", done.known ? address + " is in the state already" : "Imported " + address,
      NodeWords(done.name, done.node, done.queued, done.waits));
  for (const std::string& note : NotesOn(done)) streams.err << note << "\n";
  ShowWhereSpecIs(streams, done.text, done.target, implied, "pod");
}

// What both forms of the command are run with. All is lent but the request.
struct ImportTools {
  Reporter& reporter;
  Streams& streams;
  Clock& clock;
  Random& random;
  const PlanDoors& doors;
  const GlobalOptions& global;
  PlanRequest common;
};

int ShowNoImport(Reporter& reporter, const NoImport& none) {
  ShowStoreWarnings(reporter, none.warnings);
  return none.error ? reporter.ShowFailure(*none.error, none.summary) : 1;
}

int ImportOne(ImportTools tools, const ImportOptions& options) {
  Reporter& reporter = tools.reporter;
  PlanPrinter printer(reporter);
  const ImportRequest request{options, std::move(tools.common.load), std::move(tools.common.state),
                              *std::move(tools.common.lock)};
  const auto made = Import(tools.doors, tools.clock, tools.random, request, printer);
  if (const auto* none = std::get_if<NoImport>(&made)) return ShowNoImport(reporter, *none);
  const Imported& done = std::get<Imported>(made);
  ShowStoreWarnings(reporter, done.warnings);
  WarnOfOtherState(reporter, done);
  reporter.Document([&] { return DocumentOf(done, options.address); },
                    [&](Streams& streams) {
                      ShowAsText(streams, done, options.address, tools.global.files.empty());
                    });
  return 0;
}

// ---- All nodes of a project.

// What the question is about, before it is asked.
std::string SurveyText(const ImportSurvey& survey) {
  std::string text;
  for (const Candidate& each : survey.candidates) {
    const Found& found = each.found;
    text += fmt::format("  {}: {}{}\n", each.address.Text(),
                        NodeWords(found.name, found.node, found.queued, found.waits),
                        each.in_state  ? ", which the state has already, and no spec"
                        : each.in_spec ? ", which the spec has already"
                                       : "");
  }
  return text;
}

std::string LeftText(const ImportSurvey& survey) {
  std::string text;
  bool others = false;  // another state's
  for (const NotImported& each : survey.left) {
    text += fmt::format("Left alone: {}: {}.\n", VisibleControls(each.resource), each.why);
    if (!each.way.empty()) text += fmt::format("  To take it over: {}\n", each.way);
    others = others || !each.way.empty();
  }
  if (others) {
    text += fmt::format("Look for the state that made them first: `--state` names another.{}\n",
                        survey.kept.empty() ? "" : " There is no state here; " + survey.kept + ".");
  }
  if (survey.known > 0) {
    text += fmt::format("{} {} in the state already.\n", Plural(survey.known, "pod"),
                        survey.known == 1 ? "is" : "are");
  }
  return text;
}

// Whom the session asks, and whom it tells.
class Adopting final : public ImportListener {
 public:
  // `ask`: else it was approved beforehand. `input`: --input.
  Adopting(Reporter& reporter, Streams& streams, bool ask, bool input)
      : printer_(reporter), reporter_(reporter), streams_(streams), ask_(ask), input_(input) {}

  void OnSpec(const Diagnostics& warnings) override { printer_.OnSpec(warnings); }
  void OnTakeover(const std::string& note) override { printer_.OnTakeover(note); }
  bool Approve(const ImportSurvey& survey) override {
    if (!streams_.json) {
      streams_.err << LeftText(survey) << "To take over:\n" << SurveyText(survey) << std::flush;
    }
    if (ask_) code_ = Ask(survey);
    return code_ == 0;
  }
  void OnTaken(const Imported& done) override {
    if (streams_.json) return;
    streams_.err << fmt::format("{} {}.\n", done.known ? "Wrote only the spec of" : "Imported",
                                done.address.Text())
                 << std::flush;
  }
  int code() const { return code_; }  // where it was not approved

 private:
  int Ask(const ImportSurvey& survey) {
    return podctl::Approve(
        {"taking over pods needs to be approved, and there is nobody to ask",
         "Add `--auto-approve` to approve it in advance.",
         fmt::format("\nDo you want podctl to manage {}?\n"
                     "  They are not touched now. From then on the spec says what they are.\n"
                     "  Only 'yes' will be accepted to approve.\n\n"
                     "  Enter a value: ",
                     Plural(survey.candidates.size(), "pod")),
         "Import cancelled.", "Interrupted. Nothing was imported."},
        input_, reporter_, streams_);
  }

  PlanPrinter printer_;
  Reporter& reporter_;
  Streams& streams_;
  const bool ask_;
  const bool input_;
  int code_ = 0;
};

Value AllDocument(const ImportedAll& all) {
  return Value::Map{
      {"imported", ListOf(all.done,
                          [](const Imported& done) {
                            Value document = DocumentOf(done, done.address.Text());
                            document.Erase("spec");
                            document.Erase("spec_file");
                            document.Erase("made_with_lineage");
                            return document;
                          })},
      {"left_alone", ListOf(all.survey.left,
                            [](const NotImported& each) {
                              return Value(Value::Map{{"name", each.resource}, {"why", each.why}});
                            })},
      {"spec", OrNull(all.text)},
      {"spec_file", OrNull(all.target)}};
}

void ShowAllAsText(Streams& streams, const ImportedAll& all, bool implied) {
  if (all.survey.candidates.empty()) {
    streams.err << LeftText(all.survey)
                << fmt::format("Nothing to import from {} of {}.\n",
                               all.survey.zone == "-" ? "any zone" : all.survey.zone,
                               all.survey.project);
    return;
  }
  if (!all.survey.blind.empty()) {
    streams.err << fmt::format(
        "They were read in v2 only, which does not show their boot disks and the like: {}\n",
        all.survey.blind);
  }
  // What holds for many is said once.
  std::map<std::string, std::vector<std::string>> pods_by_note;
  for (const Imported& done : all.done) {
    for (std::string& note : NotesOn(done)) {
      pods_by_note[std::move(note)].push_back(done.address.Text());
    }
  }
  for (const auto& [note, pods] : pods_by_note) {
    streams.err << fmt::format("{}: {}\n", Join(pods, ", "), note);
  }
  ShowWhereSpecIs(streams, all.text, all.target, implied, "pods");
}

// What was taken stays taken.
int ShowCutShort(Reporter& reporter, const ImportedAll& all) {
  const std::string so_far =
      fmt::format("{} of {} were imported. Run it again to go on.", all.done.size(),
                  Plural(all.survey.candidates.size(), "pod"));
  if (reporter.interrupted() && all.error->code == ErrorCode::kCancelled) {
    reporter.TellInterrupted("Interrupted. " + so_far);
  } else {
    reporter.ShowError(all.summary, *all.error);
    reporter.Note(so_far);
  }
  return reporter.FailedExitCode();
}

int ImportEverything(ImportTools tools, const ImportCommand& options) {
  Reporter& reporter = tools.reporter;
  Adopting listener(reporter, tools.streams, !options.auto_approve, tools.global.input);
  // Of the spec no zone is called so.
  if (tools.common.load.zone == "-") tools.common.load.zone.reset();
  const ImportAllRequest request{tools.global.zone.value_or(""), options.write_spec,
                                 std::move(tools.common.load),   std::move(tools.common.state),
                                 *std::move(tools.common.lock),  tools.common.flags};
  const auto made = ImportAll(tools.doors, tools.clock, tools.random, request, listener);
  if (const auto* none = std::get_if<NoImport>(&made)) return ShowNoImport(reporter, *none);
  const ImportedAll& all = std::get<ImportedAll>(made);
  ShowStoreWarnings(reporter, all.warnings);
  if (all.declined) return listener.code();
  if (all.error) return ShowCutShort(reporter, all);
  reporter.Document(
      [&] { return AllDocument(all); },
      [&](Streams& streams) { ShowAllAsText(streams, all, tools.global.files.empty()); });
  return 0;
}

int RunImport(Wiring& wiring, const ImportCommand& options) {
  const PlanDoors doors = wiring.plan_doors();
  const ImportTools tools{wiring.reporter(),
                          wiring.streams(),
                          wiring.clock(),
                          wiring.random(),
                          doors,
                          wiring.options(),
                          wiring.plan_request({}, "import")};
  return options.all ? ImportEverything(tools, options) : ImportOne(tools, options);
}

std::string ImportConflict(const ImportCommand& options, const GlobalOptions&) {
  if (options.all && !options.address.empty()) {
    return "`--all` imports all that there is: leave out ADDRESS and ID";
  }
  if (options.all) return {};
  if (options.auto_approve) {
    return "`--auto-approve` goes with `--all`: podctl does not ask before it imports one pod";
  }
  if (options.id.empty()) {
    return "`podctl import` needs more: podctl import ADDRESS ID, or podctl import --all";
  }
  return {};
}

constexpr Flag kImportFlags[] = {
    OneValue<&ImportCommand::address, ImportCommand>("ADDRESS", "", "e.g. pod.research"),
    OneValue<&ImportCommand::id, ImportCommand>("ID", "",
                                                "NODE, ZONE/NODE or the node's full name"),
    Switch<&ImportCommand::all>(
        "--all", "all nodes of the zone instead; with `--zone -` all of the project"),
    Switch<&ImportCommand::auto_approve>("--auto-approve", "with --all: do not ask"),
    OneValue<&ImportCommand::write_spec, ImportCommand>(
        "--write-spec", "FILE", "write the pods to this file: a new one, or below its pods"),
};

}  // namespace

const Command commands::kImport("import", "take over pods that exist, and print their spec",
                                kImportFlags, WithWorld<RunImport>, ImportConflict);

}  // namespace podctl

// `podctl import ADDRESS ID`: takes over a node that somebody else made, and shows the spec that
// matches it.
#include "plans/session/import.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cmd/command.h"
#include "cmd/commands/apply.h"
#include "cmd/commands/state_edit.h"
#include "cmd/reporter.h"
#include "cmd/wiring.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/published_keys.h"
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
  if (!done.differs.empty()) {
    notes.push_back(fmt::format("The spec wants it otherwise in {}: `podctl plan` shows how.",
                                Join(done.differs, ", ")));
  }
  const auto keys =
      done.waits ? std::vector<AttributeChange>() : DiffKeys(done.pod, nullptr, done.node);
  if (!keys.empty() && !gcp::TurnsOsLoginOn(done.node["metadata"][gcp::kOsLoginKey].AsString())) {
    notes.push_back(fmt::format(
        "Its `ssh-keys` lack {}: the next apply adds what is missing, and `ssh: {{publishKey: "
        "false}}` keeps yours out.",
        keys.size() == 1 ? "a key" : Plural(keys.size(), "key")));
  }
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

// `implied`: no -f was given.
void ShowAsText(Streams& streams, const Imported& done, const std::string& address, bool implied) {
  const std::string type = VisibleControls(done.node["acceleratorType"].AsString());
  streams.err << fmt::format(
      "{}: {} ({}{}{}, {}).\n",
      done.known ? address + " is in the state already" : "Imported " + address,
      done.name.Resource(), type, type.empty() ? "" : ", ",
      done.waits ? done.queued->state : NodeState(done.node),
      Plural(WorkerCount(done.node), "worker"));
  for (const std::string& note : NotesOn(done)) streams.err << note << "\n";
  if (!done.target.empty()) {
    const bool is_usual = done.target == "podctl.yaml" && implied;
    streams.err << fmt::format("Wrote the pod to {}{}.\n", done.target,
                               is_usual ? "" : ", which the next plan must read (-f)");
  } else if (!done.text.empty()) {
    streams.err << "Put this into the spec before the next apply, which destroys what is in the "
                   "state but not in the spec:\n"
                << std::flush;
    streams.out << done.text;
  }
}

int RunImport(Wiring& wiring, const ImportOptions& options) {
  Reporter& reporter = wiring.reporter();
  PlanTeller teller(reporter);
  PlanWishes common = wiring.plan_wishes({}, "import");
  const ImportWishes wishes{options, std::move(common.load), std::move(common.state),
                            *std::move(common.lock)};
  const auto made = Import(wiring.plan_doors(), wiring.clock(), wiring.random(), wishes, teller);
  if (const auto* none = std::get_if<NoImport>(&made)) {
    ShowStoreWarnings(reporter, none->warnings);
    return none->error ? reporter.ShowFailure(*none->error, none->summary) : 1;
  }
  const Imported& done = std::get<Imported>(made);
  ShowStoreWarnings(reporter, done.warnings);
  WarnOfOtherState(reporter, done);
  reporter.Document([&] { return DocumentOf(done, options.address); },
                    [&](Streams& streams) {
                      ShowAsText(streams, done, options.address, wiring.options().files.empty());
                    });
  return 0;
}

constexpr Flag kImportFlags[] = {
    Required(OneValue<&ImportOptions::address>("ADDRESS", "", "e.g. pod.research")),
    Required(OneValue<&ImportOptions::id>("ID", "", "NODE, ZONE/NODE or the node's full name")),
    OneValue<&ImportOptions::write_spec>(
        "--write-spec", "FILE", "write the pod to this file: a new one, or below its pods"),
};

}  // namespace

const Command commands::kImport("import", "take over a pod that exists, and print its spec",
                                kImportFlags, WithWorld<RunImport>);

}  // namespace podctl

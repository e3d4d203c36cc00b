#include "plans/session/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/import.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/reader/pod_reader.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/step/record.h"
#include "plans/session/state_edit.h"
#include "plans/spec/names.h"
#include "plans/spec/spec_editor.h"
#include "providers/base/text.h"
#include "providers/gcp/queued_resource.h"
#include "providers/os/this_process.h"
#include "state/transitions.h"

namespace podctl {
namespace {

constexpr std::uint64_t kMostSpecBytes = 4 << 20;
constexpr const char* kPrintedSpec = "the printed spec";  // its name in messages

// How many nodes a spec of a queued resource stands for; null for one.
const Value& Slices(const Value& spec) {
  const Value& several = spec["multiNodeParams"];
  return several.is_map() ? several : spec["multisliceParams"];
}

std::string WithoutDotSlash(std::string path) {
  while (path.starts_with("./") && path.size() > 2) path = path.substr(2);
  return path;
}

// What may be meant by a name that no node has: a node of a near name, those of the zone, or the
// same name elsewhere.
std::string NodesLike(Provider& provider, const NodeName& name, const std::stop_token& stop) {
  constexpr std::size_t kMostNames = 8;
  const auto nodes = provider.ListNodes(name.project, name.zone, stop);
  std::vector<std::string> ids;
  if (nodes) {
    for (const Value& node : *nodes) ids.push_back(NodeId(node));
  }
  const std::string near = NearestWord(name.node, ids);
  if (!near.empty()) return fmt::format("did you mean `{}`?", near);
  // All zones of the project at once (AIP-159).
  if (const auto everywhere = provider.ListNodes(name.project, "-", stop)) {
    for (const Value& node : *everywhere) {
      if (NodeId(node) != name.node) continue;
      return fmt::format("did you mean {}?", node["name"].AsString());
    }
  }
  if (ids.empty()) return "there is no node at all in that zone";
  std::sort(ids.begin(), ids.end());
  const bool more = ids.size() > kMostNames;
  if (more) ids.resize(kMostNames);
  return fmt::format("there are: {}{}", Join(ids, ", "), more ? ", …" : "");
}

// One import, step by step. Each step returns false where it failed, and why stands in `none_`.
class Importer {
 public:
  Importer(const PlanDoors& doors, Clock& clock, Random& random, const ImportWishes& wishes,
           PlanListener& listener)
      : doors_(doors),
        files_(doors.entry.files),
        clock_(clock),
        random_(random),
        wishes_(wishes),
        listener_(listener),
        target_(WithoutDotSlash(wishes.write_spec)) {}

  std::variant<Imported, NoImport> Run() {
    const bool done = ReadAddress() && ReadSpec() && OpenState() && FindNode() && CheckNode() &&
                      WriteDraft() && WriteFile() && Take();
    if (!done) return std::move(none_);
    const Address runtime = StepAddress(address_.name, kRuntimeStepName);
    std::string made_with = MadeWith();
    return Imported{address_,
                    name_,
                    std::move(node_),
                    std::move(blind_),
                    std::move(queued_),
                    waits_,
                    std::move(text_),
                    target_,
                    std::move(differs_),
                    *std::move(pod_),
                    Steps(edit_->state()).contains(runtime),
                    known_,
                    std::move(made_with),
                    edit_->TakeWarnings()};
  }

 private:
  std::string MadeWith() const {
    const std::string& lineage = LineageOf(node_);
    return lineage == edit_->state().lineage ? "" : lineage;
  }

  bool Fail(const Error& error, const std::string& summary = {}) {
    none_.error = error;
    none_.summary = summary;
    return false;
  }

  bool ReadAddress() {
    const std::string& text = wishes_.address;
    if (auto address = ReadPodAddress(text)) {
      address_ = *std::move(address);
      return true;
    }
    std::string hint = "the address of a pod, such as `pod.research`";
    if (IsThingName(text)) hint = fmt::format("did you mean `pod.{}`?", text);
    const auto second = ParseAddress(wishes_.id);
    if (second && second->kind == kPodKind) hint = "the address comes first, then the node's id";
    return Fail(MakeError(ErrorCode::kInvalidArgument,
                          fmt::format("`{}` is no address of a pod", text), hint));
  }

  // The spec that is there, if any. `podctl import … > podctl.yaml` finds the file that the shell
  // has just emptied, which counts as none.
  bool ReadSpec() {
    load_ = wishes_.load;
    load_.may_lack_pods = true;
    spec_.project = load_.project.value_or("");
    spec_.zone = load_.zone.value_or("");
    if (!target_.empty() && !ReadTarget()) return false;
    const bool implied = load_.paths.empty();
    if (implied) load_.paths = {target_.empty() ? "podctl.yaml" : target_};
    std::erase_if(load_.paths, [&](const std::string& path) {
      const bool may_lack = implied || WithoutDotSlash(path) == target_;
      return may_lack && IsMissing(path);
    });
    if (load_.paths.empty()) {
      if (!target_.empty()) spec_.files = {target_};
      return true;
    }
    Diagnostics diagnostics;
    spec_ = LoadSpec(load_, files_, doors_.entry.environment, diagnostics);
    listener_.OnSpec(diagnostics);
    if (diagnostics.has_errors()) return false;
    const PodSpec* known = FindDeclaredPod(spec_, address_.name);
    if (known == nullptr) return true;
    pod_ = *known;
    if (target_.empty()) return true;
    return Fail(MakeError(ErrorCode::kAlreadyExists,
                          fmt::format("{} is in the spec already, in {}:{}", wishes_.address,
                                      known->place.file, known->place.line),
                          "leave out --write-spec"));
  }

  bool IsMissing(const std::string& path) {
    const auto info = files_.Stat(path);
    if (!info) return info.error().code == ErrorCode::kNotFound;
    return info->kind == FileInfo::Kind::kFile && info->size == 0;
  }

  bool ReadTarget() {
    auto text = files_.Read(target_, kMostSpecBytes);
    if (text) {
      target_text_ = std::move(*text);
    } else if (text.error().code != ErrorCode::kNotFound) {
      return Fail(text.error());
    }
    return true;
  }

  bool OpenState() {
    edit_.emplace(doors_.open_store(wishes_.state.For(spec_)), random_);
    const auto note = edit_->Lock(wishes_.lock, doors_.stop);
    if (!note) return Fail(note.error());
    if (!note->empty()) listener_.OnTakeover(*note);
    if (auto loaded = edit_->Load(); !loaded) return Fail(loaded.error());
    known_ = Pods(edit_->state()).contains(address_);
    // Who printed its spec the first time may want it in a file after all.
    if (!known_ || !target_.empty()) return true;
    return Fail(MakeError(ErrorCode::kAlreadyExists,
                          fmt::format("{} is in the state already", wishes_.address),
                          fmt::format("add `--write-spec FILE` to write its spec, import under "
                                      "another address, or `podctl state rm {}` first",
                                      ShellQuote(wishes_.address))));
  }

  bool FindNode() {
    if (!doors_.provider) return Fail(doors_.provider.error());
    provider_ = *doors_.provider;
    NodeName otherwise{spec_.project, spec_.zone, ""};
    if (pod_) otherwise = NameOf(*pod_);
    auto name = NodeNameFromId(wishes_.id, otherwise);
    if (!name) return Fail(name.error());
    name_ = *name;
    auto node = ReadNode();
    if (node) {
      node_ = std::move(*node);
      return FindQueued();
    }
    Error error = node.error();
    if (error.code == ErrorCode::kNotFound && FindWaiting(&error)) return true;
    if (error.code == ErrorCode::kNotFound) {
      error.message =
          fmt::format("there is no node `{}` in {} of {}", name_.node, name_.zone, name_.project);
      error.hint = NodesLike(*provider_, name_, doors_.stop);
    }
    return Fail(error);
  }

  Provider& Cloud() const { return provider_->Speaking(version_); }

  // In the version that shows all there is. Not everybody may speak it.
  Result<Value> ReadNode() {
    version_ = ApiVersion::kV2Alpha1;
    auto node = Cloud().GetNode(name_, doors_.stop);
    if (node || node.error().code == ErrorCode::kCancelled) return node;
    if (node.error().code != ErrorCode::kNotFound) blind_ = node.error().message;
    version_ = ApiVersion::kV2;
    return provider_->GetNode(name_, doors_.stop);
  }

  void TakeQueued(const std::string& id, const Value& found) {
    const Value::List& specs = found["tpu"]["nodeSpec"].AsList();
    auto slices = static_cast<std::int64_t>(specs.size());
    for (const Value& spec : specs) slices = std::max(slices, Slices(spec)["nodeCount"].AsInt());
    queued_ = QueuedRecord{id, gcp::TermsOf(found), std::max(static_cast<int>(slices), 1),
                           gcp::QueuedState(found)};
    // v2alpha1 shows what goes without saying.
    if (queued_->terms["provisioningModel"] == Value("STANDARD")) {
      queued_->terms.Erase("provisioningModel");
    }
  }

  // A request that waits has no node yet: it is named by its own id, or by that of the node to be.
  // False leaves in `error` what is to be said instead.
  bool FindWaiting(Error* error) {
    version_ = blind_.empty() ? ApiVersion::kV2Alpha1 : ApiVersion::kV2;
    if (Cloud().queued() == nullptr) return false;
    const auto all = Cloud().queued()->List(name_.project, name_.zone, doors_.stop);
    if (!all) return false;
    for (const Value& queued : *all) {
      const Value::List& specs = queued["tpu"]["nodeSpec"].AsList();
      if (specs.empty()) continue;
      std::string node = specs.front()["nodeId"].AsString();
      if (node.empty()) node = Slices(specs.front())["nodeIdPrefix"].AsString();
      const std::string id = gcp::QueuedId(queued);
      if (node.empty() || (id != name_.node && node != name_.node)) continue;
      const auto phase = gcp::PhaseOf(gcp::QueuedState(queued));
      if (phase == gcp::QueuedPhase::kOver || phase == gcp::QueuedPhase::kGoing) {
        *error =
            MakeError(ErrorCode::kFailedPrecondition,
                      fmt::format("the queued resource `{}` {}", id, gcp::QueuedSentence(queued)),
                      "delete it, and let podctl ask anew");
        return false;
      }
      TakeQueued(id, queued);
      name_.node = node;
      name_.slices = queued_->slices;
      // It may have become a node meanwhile, or be named by its own id.
      if (auto there = Cloud().GetNode(name_, doors_.stop)) {
        node_ = *std::move(there);
      } else {
        waits_ = true;
        node_ = specs.front()["node"];
      }
      return true;
    }
    return false;
  }

  // The queued resource that the node came from comes with it, and of a multislice all slices.
  bool FindQueued() {
    const std::string& full = node_["queuedResource"].AsString();
    QueuedResources* queue = Cloud().queued();
    if (full.empty() || queue == nullptr) return true;
    const std::string id = full.substr(full.rfind('/') + 1);
    auto found = queue->Get({name_.project, name_.zone, id}, doors_.stop);
    if (!found) return Fail(found.error(), "the queued resource that made the node");
    TakeQueued(id, *found);
    const int slices = queued_->slices;
    const auto dash = name_.node.rfind('-');
    if (slices < 2 || dash == std::string::npos) return true;
    name_.node.resize(dash);
    name_.slices = slices;
    auto whole = Cloud().GetNode(name_, doors_.stop);
    if (!whole) return Fail(whole.error());
    node_ = std::move(*whole);
    return true;
  }

  void DraftQueued(PodDraft* draft) const {
    if (!queued_) return;
    Value terms = queued_->terms;
    if (queued_->id != name_.node) terms.Set("id", queued_->id);
    for (const auto& [key, value] : queued_->terms.AsMap()) {
      const gcp::Term* term = gcp::FindQueuedTerm(key);
      draft->alpha = draft->alpha || (term != nullptr && term->version == ApiVersion::kV2Alpha1);
      for (const auto& [member, text] : value.AsMap()) {
        term = gcp::FindQueuedTerm(key + "." + member);
        draft->alpha = draft->alpha || (term != nullptr && term->version == ApiVersion::kV2Alpha1);
      }
    }
    draft->node.Set("queuedResource", std::move(terms));
    draft->node.Erase("schedulingConfig");  // the queued resource says it
    if (queued_->slices > 1) draft->node.Set("slices", queued_->slices);
  }

  bool CheckNode() {
    for (const auto& [address, record] : Pods(edit_->state())) {
      const bool is_deposed =
          record.project == name_.project && record.zone == name_.zone &&
          std::any_of(record.deposed.begin(), record.deposed.end(),
                      [&](const Object& each) { return each.locator == name_.node; });
      // A project has an id and a number, so that one node may have two names.
      const bool is_same = NameOf(record) == name_ ||
                           (record.zone == name_.zone && record.current.locator == name_.node &&
                            !record.uid().empty() && record.uid() == NodeUid(node_));
      if (!is_same && !is_deposed) {
        if (address != address_) continue;
        return Fail(MakeError(
            ErrorCode::kAlreadyExists,
            fmt::format("{} is another node in the state: `{}`", address, record.current.locator)));
      }
      if (address == address_ && !is_deposed) continue;
      return Fail(MakeError(
          ErrorCode::kAlreadyExists,
          fmt::format("the node `{}` is {} in the state already", name_.node, address),
          is_deposed ? "it was replaced, and the next apply deletes it"
                     : fmt::format("`podctl state mv {} {}` renames it", ShellQuote(address.Text()),
                                   ShellQuote(wishes_.address))));
    }
    // The node to come bears that label, too, and by it alone could not be told from another's.
    if (waits_ && !MadeWith().empty()) {
      return Fail(MakeError(
          ErrorCode::kFailedPrecondition,
          fmt::format("the queued resource `{}` cannot be imported while it waits: podctl asked "
                      "for it with another state, of lineage {}",
                      queued_->id, MadeWith()),
          "import it once its node is there"));
    }
    const std::string why = WhyNotNow(node_);
    if (why.empty()) return true;
    return Fail(MakeError(ErrorCode::kFailedPrecondition,
                          fmt::format("the node `{}` cannot be imported: {}", name_.node, why),
                          NodeState(node_) == "CREATING" ? "import it once it is READY" : ""));
  }

  // The text of the draft, where it will stand.
  Result<std::string> TextOf(const PodDraft& draft) const {
    if (load_.paths.empty()) return WriteSpec(name_.project, name_.zone, draft);
    if (!target_.empty() && target_text_) return AppendPod(target_, *target_text_, draft);
    if (target_.empty()) return WriteSpec("", "", draft);
    return WriteSpec(draft.project.empty() ? name_.project : "",
                     draft.zone.empty() ? name_.zone : "", draft);
  }

  // Writes the pod, reads it back within its spec, and compares it with the node: what is written
  // is known to load, and where it still differs, its spec's `defaults` make it so.
  bool WriteDraft() {
    if (pod_) {
      differs_ = DifferingPaths(*pod_, node_, Lookup());
      if (pod_->queued.has_value() != queued_.has_value()) differs_.emplace_back("queuedResource");
      return true;
    }
    constexpr int kMostRounds = 3;
    PodDraft draft = DraftOf(address_.name, name_, node_);
    DraftQueued(&draft);
    if (!load_.paths.empty() && spec_.project != name_.project) draft.project = name_.project;
    if (!load_.paths.empty() && spec_.zone != name_.zone) draft.zone = name_.zone;
    for (int round = 0; round < kMostRounds; ++round) {
      auto text = TextOf(draft);
      if (!text) return Fail(text.error());
      text_ = std::move(*text);
      if (!LoadDraft()) return false;
      if (!Insist(*pod_, node_, &draft)) break;
    }
    differs_ = DifferingPaths(*pod_, node_, Lookup());
    return true;
  }

  bool LoadDraft() {
    LoadOptions load = load_;
    const std::string file = target_.empty() ? kPrintedSpec : target_;
    if (std::find(load.paths.begin(), load.paths.end(), file) == load.paths.end()) {
      load.paths.push_back(file);
    }
    load.texts[file] = text_;
    Diagnostics diagnostics;
    const Spec spec = LoadSpec(load, files_, doors_.entry.environment, diagnostics);
    const PodSpec* pod = FindDeclaredPod(spec, address_.name);
    if (!diagnostics.has_errors() && pod != nullptr) {
      pod_ = *pod;
      return true;
    }
    listener_.OnSpec(diagnostics);
    return Fail(MakeError(ErrorCode::kFailedPrecondition,
                          "podctl cannot write a spec that matches this node",
                          "write the pod into the spec by hand, and import it then"));
  }

  // Nodes that the pod's references are read from.
  ReferenceLookup Lookup() {
    return [this](const Address& of) -> const Value* {
      auto [it, is_new] = others_.try_emplace(of);
      const PodRecord* record = Pods(edit_->state()).Get(of);
      if (is_new && record != nullptr) {
        auto node = provider_->GetNode(NameOf(*record), doors_.stop);
        if (node) it->second = std::move(*node);
      }
      return it->second ? &*it->second : nullptr;
    };
  }

  // Before the state is saved: a node that is in the spec only is never touched, but one that is in
  // the state only would be destroyed by the next apply.
  bool WriteFile() {
    if (target_.empty()) return true;
    constexpr unsigned kMode = 0644;
    if (!target_text_) {
      auto written = files_.WriteNew(target_, text_, kMode);
      return written ? true : Fail(written.error());
    }
    const auto now = files_.Read(target_, kMostSpecBytes);
    if (!now || *now != *target_text_) {
      return Fail(MakeError(ErrorCode::kAborted,
                            fmt::format("{} was changed by somebody else meanwhile", target_),
                            "run the import again"));
    }
    const auto replaced = ReplaceTarget();
    return replaced ? true : Fail(replaced.error());
  }

  Result<void> ReplaceTarget() {
    auto path = files_.FollowLinks(target_);
    if (!path) return path.error();
    auto info = files_.Stat(*path);
    if (!info) return info.error();
    const std::string temporary = fmt::format("{}.{}.tmp", *path, ProcessId());
    if (auto written = files_.WriteNew(temporary, text_, info->mode); !written) return written;
    if (auto renamed = files_.Rename(temporary, *path); !renamed) {
      static_cast<void>(files_.Remove(temporary));
      return renamed;
    }
    return files_.SyncFolder(FolderOf(*path));
  }

  bool Take() {
    if (known_) return true;
    State& state = edit_->state();
    if (pod_->publish_ssh_key) {
      const auto own = doors_.entry.Keys().For(pod_->ssh, false);
      if (own) pod_->own_keys = *own;
    }
    TakeOver(*pod_, name_, node_, Lookup(), FormatTimestamp(clock_.Now()), &state);
    PodRecord& record = Pods(state)[address_];
    record.queued = queued_;
    ComeFrom(queued_ ? queued_->id : "", &record);
    if (waits_) {
      record.observed = Value();
      BeginCreate(name_.node, queued_ ? queued_->id : "",
                  {"", FormatTimestamp(clock_.Now()), state.serial}, &record);
    }
    // No keys is no failure: whoever connects asks again.
    const auto attributes = BackingOf(record).AskWorkers(*provider_, record, doors_.stop);
    if (attributes) record.host_keys = HostKeysOf(*attributes);
    if (!record.host_keys.empty()) record.host_keys_source = "guestAttributes";
    if (doors_.stop.stop_requested()) {
      return Fail(MakeError(ErrorCode::kCancelled, "interrupted"));
    }
    const auto saved = edit_->Save();
    if (saved) return true;
    none_.warnings = edit_->TakeWarnings();
    return Fail(saved.error(), kNotSaved);
  }

  const PlanDoors& doors_;
  FileSystem& files_;
  Clock& clock_;
  Random& random_;
  const ImportWishes& wishes_;
  PlanListener& listener_;
  const std::string target_;                // --write-spec; empty: stdout
  std::optional<std::string> target_text_;  // as it was, if it was there
  Address address_;
  LoadOptions load_;  // its paths empty: there is no spec yet
  Spec spec_;
  std::optional<PodSpec> pod_;  // as the spec has it, or will have it
  std::optional<StateEdit> edit_;
  Provider* provider_ = nullptr;
  NodeName name_;
  Value node_;
  ApiVersion version_ = ApiVersion::kV2;  // that the node was read in
  std::string blind_;                     // why not in the one that shows all
  std::optional<QueuedRecord> queued_;    // what the node came from
  bool waits_ = false;                    // for its node
  bool known_ = false;                    // the state has it
  std::string text_;                      // the spec that matches; empty when there was one
  std::vector<std::string> differs_;
  std::map<Address, std::optional<Value>> others_;
  NoImport none_;
};

}  // namespace

std::variant<Imported, NoImport> Import(const PlanDoors& doors, Clock& clock, Random& random,
                                        const ImportWishes& wishes, PlanListener& listener) {
  return Importer(doors, clock, random, wishes, listener).Run();
}

}  // namespace podctl

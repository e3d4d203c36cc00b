#include "plans/session/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plans/kinds/pod/import.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/reader/pod_reader.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/step/record.h"
#include "plans/session/adoption.h"
#include "plans/session/spec_target.h"
#include "plans/session/state_edit.h"
#include "providers/base/text.h"
#include "providers/gcp/queued_resource.h"
#include "state/thing_name.h"

namespace podctl {
namespace {

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
  Importer(const PlanDoors& doors, Clock& clock, Random& random, const ImportRequest& request,
           PlanListener& listener)
      : doors_(doors),
        clock_(clock),
        random_(random),
        request_(request),
        listener_(listener),
        target_(doors.entry, request.load, request.write_spec) {}

  std::variant<Imported, NoImport> Run() {
    const bool done = ReadAddress() && ReadSpec() && OpenState() && FindNode() && CheckNode() &&
                      WriteDraft() && WriteFile() && Take();
    if (!done) return std::move(none_);
    const Address runtime = StepAddress(address_.name, kRuntimeStepName);
    std::string made_with = OtherLineage(edit_->state(), found_);
    auto no_key = NoKeyNote(doors_.entry.keyring, *pod_);
    return Imported{address_,
                    std::move(found_.name),
                    std::move(found_.node),
                    std::move(blind_),
                    std::move(found_.queued),
                    found_.waits,
                    std::move(text_),
                    target_.file(),
                    std::move(differs_),
                    *std::move(pod_),
                    Steps(edit_->state()).contains(runtime),
                    known_,
                    std::move(made_with),
                    edit_->TakeWarnings(),
                    std::move(no_key)};
  }

 private:
  bool Fail(const Error& error, const std::string& summary = {}) {
    none_.error = error;
    none_.summary = summary;
    return false;
  }

  bool ReadAddress() {
    const std::string& text = request_.address;
    if (auto address = ReadPodAddress(text)) {
      address_ = *std::move(address);
      return true;
    }
    std::string hint = "the address of a pod, such as `pod.research`";
    if (IsThingName(text)) hint = fmt::format("did you mean `pod.{}`?", text);
    const auto second = ParseAddress(request_.id);
    if (second && second->kind == kPodKind) hint = "the address comes first, then the node's id";
    return Fail(MakeError(ErrorCode::kInvalidArgument,
                          fmt::format("`{}` is no address of a pod", text), hint));
  }

  bool ReadSpec() {
    if (!target_.Read(listener_)) {
      none_.error = target_.error();
      return false;
    }
    const PodSpec* known = FindDeclaredPod(target_.spec(), address_.name);
    if (known == nullptr) return true;
    pod_ = *known;
    if (target_.file().empty()) return true;
    return Fail(MakeError(ErrorCode::kAlreadyExists,
                          fmt::format("{} is in the spec already, in {}:{}", request_.address,
                                      known->place.file, known->place.line),
                          "leave out --write-spec"));
  }

  bool OpenState() {
    if (const auto free = target_.CheckFree(request_.state.For(target_.spec())); !free) {
      return Fail(free.error());
    }
    edit_.emplace(doors_.open_store(request_.state.For(target_.spec())), random_);
    const auto note = edit_->Lock(request_.lock, doors_.stop);
    if (!note) return Fail(note.error());
    if (!note->empty()) listener_.OnTakeover(*note);
    if (auto loaded = edit_->Load(); !loaded) return Fail(loaded.error());
    known_ = Pods(edit_->state()).contains(address_);
    // Who printed its spec the first time may want it in a file after all.
    if (!known_ || !target_.file().empty()) return true;
    return Fail(MakeError(ErrorCode::kAlreadyExists,
                          fmt::format("{} is in the state already", request_.address),
                          fmt::format("add `--write-spec FILE` to write its spec, import under "
                                      "another address, or `podctl state rm {}` first",
                                      ShellQuote(request_.address))));
  }

  bool FindNode() {
    if (!doors_.provider) return Fail(doors_.provider.error());
    provider_ = *doors_.provider;
    NodeName otherwise{target_.spec().project, target_.spec().zone, ""};
    if (pod_) otherwise = NameOf(*pod_);
    auto name = NodeNameFromId(request_.id, otherwise);
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

  Provider& Cloud() const { return provider_->InVersion(version_); }

  // In the version that shows all there is. Not everybody may speak it.
  Result<Value> ReadNode() {
    version_ = ApiVersion::kV2Alpha1;
    auto node = Cloud().GetNode(name_, doors_.stop);
    if (node || node.error().code == ErrorCode::kCancelled) return node;
    if (node.error().code != ErrorCode::kNotFound) blind_ = node.error().message;
    version_ = ApiVersion::kV2;
    return provider_->GetNode(name_, doors_.stop);
  }

  // A request that waits has no node yet: it is named by its own id, or by that of the node to be.
  // False leaves in `error` what is to be said instead.
  bool FindWaiting(Error* error) {
    version_ = blind_.empty() ? ApiVersion::kV2Alpha1 : ApiVersion::kV2;
    if (Cloud().queued() == nullptr) return false;
    const auto all = Cloud().queued()->List(name_.project, name_.zone, doors_.stop);
    if (!all) return false;
    for (const Value& queued : *all) {
      const std::string node = NodeToBe(queued);
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
      found_.queued = QueuedRecordOf(queued);
      name_.node = node;
      name_.slices = found_.queued->slices;
      // It may have become a node meanwhile, or be named by its own id.
      if (auto there = Cloud().GetNode(name_, doors_.stop)) {
        node_ = *std::move(there);
      } else {
        found_.waits = true;
        node_ = queued["tpu"]["nodeSpec"].AsList().front()["node"];
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
    found_.queued = QueuedRecordOf(*found);
    const int slices = found_.queued->slices;
    const auto dash = name_.node.rfind('-');
    if (slices < 2 || dash == std::string::npos) return true;
    name_.node.resize(dash);
    name_.slices = slices;
    auto whole = Cloud().GetNode(name_, doors_.stop);
    if (!whole) return Fail(whole.error());
    node_ = std::move(*whole);
    return true;
  }

  bool CheckNode() {
    const State& state = edit_->state();
    const auto known = FindManaged(state, found_);
    const bool is_ours = known && known->address == address_ && !known->deposed;
    if (known_ && !is_ours) {
      return Fail(MakeError(ErrorCode::kAlreadyExists,
                            fmt::format("{} is another node in the state: `{}`", address_,
                                        Pods(state).Get(address_)->current.locator)));
    }
    if (known && !is_ours) {
      return Fail(MakeError(
          ErrorCode::kAlreadyExists,
          fmt::format("the node `{}` is {} in the state already", name_.node, known->address),
          known->deposed
              ? "it was replaced, and the next apply deletes it"
              : fmt::format("`podctl state mv {} {}` renames it", ShellQuote(known->address.Text()),
                            ShellQuote(request_.address))));
    }
    // The node to come bears that label, too, and by it alone could not be told from another's.
    if (found_.waits && !OtherLineage(state, found_).empty()) {
      return Fail(MakeError(
          ErrorCode::kFailedPrecondition,
          fmt::format("the queued resource `{}` cannot be imported while it waits: podctl asked "
                      "for it with another state, of lineage {}",
                      found_.queued->id, OtherLineage(state, found_)),
          "import it once its node is there"));
    }
    const std::string why = WhyNotNow(node_);
    if (why.empty()) return true;
    return Fail(MakeError(ErrorCode::kFailedPrecondition,
                          fmt::format("the node `{}` cannot be imported: {}", name_.node, why),
                          NodeState(node_) == "CREATING" ? "import it once it is READY" : ""));
  }

  // Writes the pod, reads it back within its spec, and compares it with the node: what is written
  // is known to load, and where it still differs, its spec's `defaults` make it so.
  bool WriteDraft() {
    if (!pod_) {
      constexpr int kMostRounds = 3;
      std::vector<PodDraft> drafts{DraftOfFound(address_.name, found_)};
      target_.Place({name_}, &drafts);
      for (int round = 0; round < kMostRounds; ++round) {
        auto text = target_.TextOf(drafts);
        if (!text) return Fail(text.error());
        text_ = std::move(*text);
        if (!LoadDraft()) return false;
        if (!Insist(*pod_, node_, &drafts.front())) break;
      }
    }
    differs_ = Differences(*pod_, found_, NodesOf(edit_->state(), *provider_, doors_.stop));
    return true;
  }

  bool LoadDraft() {
    Diagnostics diagnostics;
    const Spec spec = target_.Try(text_, diagnostics);
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

  // Before the state is saved: a node that is in the spec only is never touched, but one that is in
  // the state only would be destroyed by the next apply.
  bool WriteFile() {
    const auto written = target_.Write(text_);
    return written ? true : Fail(written.error());
  }

  bool Take() {
    if (known_) return true;
    const auto saved = AdoptFound(doors_, *provider_, clock_, found_, &*pod_, &*edit_);
    if (saved) return true;
    none_.warnings = edit_->TakeWarnings();
    return Fail(saved.error(), saved.error().code == ErrorCode::kCancelled ? "" : kNotSaved);
  }

  const PlanDoors& doors_;
  Clock& clock_;
  Random& random_;
  const ImportRequest& request_;
  PlanListener& listener_;
  SpecTarget target_;
  Address address_;
  std::optional<PodSpec> pod_;  // as the spec has it, or will have it
  std::optional<StateEdit> edit_;
  Provider* provider_ = nullptr;
  Found found_;
  NodeName& name_ = found_.name;
  Value& node_ = found_.node;
  ApiVersion version_ = ApiVersion::kV2;  // that the node was read in
  std::string blind_;                     // why not in the one that shows all
  bool known_ = false;                    // the state has it
  std::string text_;                      // the spec that matches; empty when there was one
  std::vector<std::string> differs_;
  NoImport none_;
};

}  // namespace

std::variant<Imported, NoImport> Import(const PlanDoors& doors, Clock& clock, Random& random,
                                        const ImportRequest& request, PlanListener& listener) {
  return Importer(doors, clock, random, request, listener).Run();
}

}  // namespace podctl

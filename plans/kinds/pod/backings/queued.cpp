#include "plans/kinds/pod/backings/queued.h"

#include <fmt/format.h>

#include <utility>

#include "plans/kinds/pod/backings/survey.h"
#include "plans/kinds/pod/diff.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/tasks.h"
#include "plans/kinds/pod/unaccounted_nodes.h"
#include "providers/base/text.h"
#include "providers/gcp/queued_resource.h"
#include "providers/slices.h"
#include "state/transitions.h"

namespace podctl {
namespace {

using gcp::QueuedPhase;

bool IsOver(QueuedPhase phase) {
  return phase == QueuedPhase::kOver || phase == QueuedPhase::kGoing;
}

std::string ActiveWithoutNode(const std::string& id) {
  return fmt::format("its queued resource {} is ACTIVE, but its node is gone", id);
}

// `usual`: its id where the spec gives none.
QueuedRecord RecordOf(const PodSpec& pod, const std::string& usual) {
  const std::string& id = pod.queued->id;
  return {id.empty() ? usual : id, pod.queued->terms, pod.queued->slices, ""};
}

// Of what has the name of the record's request: nullptr where it is another state's, too.
const Value* FindOwnQueued(const PodSurvey& survey, const PodRecord& record, const Value* node,
                           const std::string& lineage) {
  const Value* queued = FindQueued(survey, QueuedNameOf(record));
  const bool others = queued != nullptr && IsRequestOfAnotherState(*queued, record, node, lineage);
  return others ? nullptr : queued;
}

std::map<std::string, Value> LinesOf(const QueuedRecord& queued) {
  std::map<std::string, Value> lines;
  std::vector<AttributeChange> leaves;
  ListLeaves("queuedResource", gcp::TermsAsWritten(queued.terms), &leaves);
  for (AttributeChange& leaf : leaves) lines[leaf.path] = *std::move(leaf.after);
  lines["queuedResource.id"] = queued.id;
  if (queued.slices > 1) lines["slices"] = queued.slices;
  return lines;
}

}  // namespace

void QueuedBacking::Remember(const PodRecord& record, PodSurvey* seen) const {
  NodeBacking::Remember(record, seen);
  if (record.pending()) return;
  const std::string name = QueuedNameOf(record).Resource();
  Value queued = Value::EmptyMap();
  queued.Set("name", name);
  queued.SetPath("state.state", record.queued->state);
  seen->auxiliary[name] = std::move(queued);
}

bool QueuedBacking::Settle(const PodSurvey& survey, const std::string& lineage, const Value* node,
                           PodRecord* record) const {
  const Value* queued = FindOwnQueued(survey, *record, node, lineage);
  record->queued->state = queued == nullptr ? "" : gcp::QueuedState(*queued);
  if (queued == nullptr) return false;
  const std::string made_from = LineageOfRequest(*queued);
  if (!made_from.empty() && made_from != lineage && !record->auxiliary.empty()) {
    record->auxiliary.front().uid = (*queued)["createTime"].AsString();
  }
  if (node != nullptr) return true;
  // There is a request, and no node (yet, or any more).
  record->observed = Value();
  const auto pending = record->pending();
  if (!pending) return true;
  const std::string& state = record->queued->state;
  const bool open = pending->kind == PendingAction::Kind::kCreate ? !IsOver(gcp::PhaseOf(state))
                                                                  : state == "DELETING";
  if (!open && !survey.IsRunning(*pending)) EndRequest({}, record);
  return true;
}

std::string QueuedBacking::NoteAsked(const PodSpec& pod, PodRecord* record) const {
  record->queued = RecordOf(pod, pod.node_id);
  return record->queued->id;
}

std::string QueuedBacking::WhoseRequest(const PodRecord& record, const Value* node,
                                        const PodSurvey& survey, const std::string& lineage) const {
  const Value* queued = FindQueued(survey, QueuedNameOf(record));
  const bool others = queued != nullptr && IsRequestOfAnotherState(*queued, record, node, lineage);
  return others ? MadeWithAnotherState(LineageOfRequest(*queued)) : "";
}

BackingStatus QueuedBacking::Judge(const PodRecord& record, const Value* node,
                                   const PodSurvey& survey, const std::string& lineage) const {
  const Value* queued = FindOwnQueued(survey, record, node, lineage);
  if (queued == nullptr) return {};
  const std::string& id = record.queued->id;
  const std::string state = gcp::QueuedState(*queued);
  const QueuedPhase phase = gcp::PhaseOf(state);
  BackingStatus backing_status;
  backing_status.stands = true;
  if (phase != QueuedPhase::kActive) {
    backing_status.word = state;
    backing_status.initiator = (*queued)["state"]["stateInitiator"].AsString();
  }
  backing_status.remembered = record.queued->state == state;
  const Value::List& specs = (*queued)["tpu"]["nodeSpec"].AsList();
  if (!specs.empty()) backing_status.asked = &specs.front()["node"];
  if (IsOver(phase)) {
    const std::string sentence = gcp::QueuedSentence(*queued);
    backing_status.kind = BackingStatus::Kind::kDead;
    backing_status.reason = fmt::format("its queued resource {} {}", id, sentence);
    backing_status.ended = fmt::format(
        "has a queued resource, {}, that {}; it holds its name and quota until it is deleted", id,
        sentence);
    const bool suspended = state == "SUSPENDING" || state == "SUSPENDED";
    const bool by_user = (*queued)["state"]["stateInitiator"] == Value("USER");
    if (suspended && !by_user) backing_status.lost = "SUSPENDED";
  } else if (node == nullptr && phase == QueuedPhase::kActive && !record.pending()) {
    backing_status.kind = BackingStatus::Kind::kDead;
    backing_status.reason = ActiveWithoutNode(id);
    if (MayBeTaken(record)) backing_status.lost = "gone";
  } else if (node == nullptr) {
    backing_status.kind = BackingStatus::Kind::kWaits;
    backing_status.reason = fmt::format("its queued resource {} is {}", id, state);
  }
  return backing_status;
}

std::optional<Diagnostic> QueuedBacking::WhyTaken(const PodSpec& pod, const Address& address,
                                                  const PodSurvey& survey, const State& state,
                                                  const StatePlace& place) const {
  if (auto taken = NodeBacking::WhyTaken(pod, address, survey, state, place)) return taken;
  const std::string id = QueuedNameOf(pod).id;
  const Value* queued = FindQueued(survey, QueuedNameOf(pod));
  if (queued == nullptr) return std::nullopt;
  const bool going = gcp::QueuedState(*queued) == "DELETING";
  return Diagnostic{
      .summary = fmt::format("a queued resource named `{}` {} {}", id,
                             going ? "is still being deleted in" : "already exists in", pod.zone),
      .place = pod.place,
      .context = address.Text(),
      .detail = going ? GoingHint("queuedResource.id")
                      : NameConflictHint({"queued resource", "it, with its node,",
                                          "queuedResource.id", id, LineageOfRequest(*queued)},
                                         pod, address, state, place)};
}

std::string QueuedBacking::WhyAlone() const {
  return "The old node comes from a queued resource, which is deleted with it. Remove "
         "`lifecycle.createBeforeDestroy` to have it deleted first.";
}

std::map<std::string, Value> QueuedBacking::Lines(const PodSpec& pod,
                                                  const PodRecord* record) const {
  const bool known = record != nullptr && record->queued;
  return LinesOf(RecordOf(pod, known ? record->queued->id : pod.node_id));
}

std::map<std::string, Value> QueuedBacking::Lines(const PodRecord& record) const {
  return LinesOf(*record.queued);
}

Terms QueuedBacking::TermsOf(const PodSpec& pod) const {
  return podctl::TermsOf(pod.node["schedulingConfig"], &pod.queued->terms);
}

bool QueuedBacking::HasMoreThanNode(const PodRecord& record) const {
  return record.pending() || !record.queued->state.empty();
}

bool QueuedBacking::MayBeTaken(const PodRecord& record) const {
  return podctl::TermsOf(record.applied["schedulingConfig"], &record.queued->terms).spot;
}

Result<std::optional<NodeRequest>> QueuedBacking::AskRequest(Provider& provider,
                                                             const PodRecord& record,
                                                             const Value* node,
                                                             const std::string& lineage,
                                                             const std::stop_token& stop) const {
  QueuedResources* queue = provider.InVersion(record.api_version).queued();
  if (queue == nullptr) return std::optional<NodeRequest>();
  const auto found = queue->Get(QueuedNameOf(record), stop);
  if (!found && found.error().code == ErrorCode::kNotFound) return std::optional<NodeRequest>();
  if (!found) return found.error();
  if (IsRequestOfAnotherState(*found, record, node, lineage)) return std::optional<NodeRequest>();
  NodeRequest request;
  request.state = gcp::QueuedState(*found);
  const auto phase = gcp::PhaseOf(request.state);
  request.over = IsOver(phase);
  request.waits = !request.over && phase != QueuedPhase::kActive;
  request.sentence = phase == QueuedPhase::kActive && node == nullptr
                         ? ActiveWithoutNode(record.queued->id)
                         : fmt::format("its queued resource {} {}", record.queued->id,
                                       gcp::QueuedSentence(*found));
  // The service does not tell when it came to its end.
  if (request.waits) {
    request.since = (*found)["createTime"].AsString();
    if (request.since.empty() && record.pending()) request.since = record.pending()->begun_at;
  } else if (IsRecovering(record)) {
    request.since = record.recovery()->since;
  }
  return std::optional<NodeRequest>(std::move(request));
}

std::unique_ptr<Task> QueuedBacking::Create(const PodSpec& pod, CreateKind kind,
                                            TaskContext& context) const {
  return MakeQueuedCreateTask(pod, kind == CreateKind::kResume, context);
}

std::unique_ptr<Task> QueuedBacking::Delete(const Address& address, bool forget,
                                            TaskContext& context) const {
  if (!address.deposed.empty()) return NodeBacking::Delete(address, forget, context);
  return MakeQueuedDeleteTask(address, forget, context);
}

QueuedName QueuedNameOf(const PodSpec& pod) {
  const std::string& id = pod.queued->id;
  return {pod.project, pod.zone, id.empty() ? pod.node_id : id};
}

QueuedName QueuedNameOf(const PodRecord& record) {
  return {record.project, record.zone, record.queued->id};
}

const Value* FindQueued(const PodSurvey& survey, const QueuedName& name) {
  const auto it = survey.auxiliary.find(name.Resource());
  return it == survey.auxiliary.end() ? nullptr : &it->second;
}

std::string LineageOfRequest(const Value& queued) {
  const Value::List& specs = queued["tpu"]["nodeSpec"].AsList();
  return specs.empty() ? "" : LineageOf(specs.front()["node"]);
}

bool IsRequestOfAnotherState(const Value& queued, const PodRecord& record, const Value* node,
                             const std::string& lineage) {
  const std::string made_from = LineageOfRequest(queued);
  if (made_from.empty() || made_from == lineage) return false;
  const std::string& made = queued["createTime"].AsString();
  if (!made.empty() && !record.auxiliary.empty() && record.auxiliary.front().uid == made) {
    return false;
  }
  return node == nullptr || !record.exists() || !IsSameUid(record.uid(), NodeUid(*node));
}

std::string MadeWithAnotherState(const std::string& lineage) {
  return fmt::format("was made with another state, of lineage {}", VisibleControls(lineage));
}

namespace {

// Slices of the state that the service does not show. While their request is being fulfilled they
// are still to come. Another state's have no number that this one knows.
void CountSlices(const BackedPods& pods, const std::string& lineage, PodSurvey* seen) {
  for (const PodRecord* record : pods.known) {
    if (record->queued->slices < 2) continue;
    const auto node = seen->nodes.find(NameOf(*record));
    if (node == seen->nodes.end() || !IsJoined(node->second)) continue;
    if (IsOfAnotherState(node->second, record->uid(), lineage)) continue;
    ExpectSlices(&node->second, record->queued->slices);
    const Value* queued = FindQueued(*seen, QueuedNameOf(*record));
    const auto phase =
        queued == nullptr ? gcp::QueuedPhase::kActive : gcp::PhaseOf(gcp::QueuedState(*queued));
    const bool coming =
        phase == gcp::QueuedPhase::kQueued || phase == gcp::QueuedPhase::kProvisioning;
    if (coming && NodeState(node->second) == kMissingSlice) node->second.Set("state", "CREATING");
  }
}

class QueueSurvey final : public KindSurvey {
 public:
  QueueSurvey(const SurveyInput& input, BackedPods pods)
      : refresh_(input.refresh), lineage_(input.state.lineage), pods_(std::move(pods)) {}

  std::vector<Query> Next(Observation* observation) override {
    std::vector<Query> queries;
    if (!std::exchange(asked_, true)) Ask(&queries);
    CountSlices(pods_, lineage_, &PodsIn(observation));
    return queries;
  }

 private:
  void Ask(std::vector<Query>* queries) const {
    if (refresh_) {
      for (const auto& [zone, version] : ZonesOf(pods_)) ListQueue(zone, version, queries);
      return;
    }
    for (const PodRecord* record : pods_.known) {
      if (record->pending()) GetQueued(QueuedNameOf(*record), record->api_version, queries);
    }
  }

  static void ListQueue(const ZoneName& zone, ApiVersion version, std::vector<Query>* queries) {
    queries->push_back(MakeQuery(
        [=](Provider& provider, const std::stop_token& stop) -> Result<std::vector<Value>> {
          QueuedResources* queue = provider.InVersion(version).queued();
          if (queue == nullptr) return std::vector<Value>();
          return queue->List(zone.first, zone.second, stop);
        },
        [zone](Result<std::vector<Value>>& found, PodSurvey* seen) -> Result<void> {
          if (!found) {
            const Error& error = found.error();
            return MakeError(error.code,
                             fmt::format("cannot list the queued resources of {} in {}: {}",
                                         zone.first, zone.second, error.message),
                             error.hint);
          }
          for (Value& queued : *found) {
            const QueuedName name{zone.first, zone.second, gcp::QueuedId(queued)};
            seen->auxiliary[name.Resource()] = std::move(queued);
          }
          return {};
        }));
  }

  static void GetQueued(const QueuedName& name, ApiVersion version, std::vector<Query>* queries) {
    queries->push_back(MakeQuery(
        [=](Provider& provider, const std::stop_token& stop) -> Result<Value> {
          QueuedResources* queue = provider.InVersion(version).queued();
          if (queue == nullptr) return MakeError(ErrorCode::kNotFound, "there is no queue");
          return queue->Get(name, stop);
        },
        [name](Result<Value>& queued, PodSurvey* seen) -> Result<void> {
          if (queued) {
            seen->auxiliary[name.Resource()] = std::move(*queued);
          } else if (queued.error().code != ErrorCode::kNotFound) {
            const Error& error = queued.error();
            return MakeError(error.code,
                             fmt::format("cannot look at {}: {}", name.Resource(), error.message),
                             error.hint);
          }
          return {};
        }));
  }

  const bool refresh_;
  const std::string lineage_;  // of the state
  const BackedPods pods_;
  bool asked_ = false;
};

}  // namespace

std::unique_ptr<KindSurvey> QueuedBacking::Survey(const SurveyInput& input, BackedPods pods) const {
  return std::make_unique<QueueSurvey>(input, std::move(pods));
}

}  // namespace podctl

// What provides a pod: the door between pods and the objects of a service that make one up. Behind
// it stand Cloud TPU nodes and queued resources, which give nodes in the end (backings/).
//
// In whatever way a pod comes to be, it is seen, compared, patched and reached as one thing in the
// form of a node (PodSurvey::nodes). What is besides it, a request that waits for one, only its
// backing knows.
//
// A Backing holds no state, and may be used by several threads at once. What does not say otherwise
// is pure. The defaults are those of a backing that has nothing besides what is seen as the node.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "plans/engine/kind.h"
#include "plans/engine/planner.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "providers/base/diagnostic.h"
#include "providers/base/value.h"
#include "providers/provider.h"

namespace podctl {

enum class CreateKind;  // tasks.h

// The pods of one backing, lent by a survey's question.
struct BackedPods {
  std::vector<const PodSpec*> wanted;
  std::vector<const PodRecord*> known;
};

// What the objects of a pod say of it before its node is looked at.
struct BackingStatus {
  enum class Kind {
    kNodeTells,  // there is a node, or nothing besides it
    kWaits,      // the request is on its way
    kDead        // nothing will come of it, or what came is gone: it is replaced
  };
  Kind kind = Kind::kNodeTells;
  std::string reason = {};  // of the others: a clause
  // Of kDead: how the service took the node away (PodChange::lost); "": it did not.
  std::string lost = {};
  bool stands = false;         // there is something besides the node
  std::string word = {};       // its state, where that says more than a node could
  std::string initiator = {};  // of that state: the service's word, "SERVICE"; empty: not told
  std::string ended = {};      // the sentence of a drift, where it has come to its end
  bool remembered = false;     // the record holds that state already
  // The node that was asked for, lent by the survey; nullptr: not known.
  const Value* asked = nullptr;
};

// On what terms the service is asked for a pod.
struct Terms {
  bool spot = false;      // it may take the node back: spot and preemptible ones
  bool reserved = false;  // the node is to come out of a reservation
  bool flex_start = false;
  bool waits = false;  // the request waits for capacity by itself
};
// As its node's `schedulingConfig` and, where there is a request for it, its terms say.
Terms TermsOf(const Value& scheduling, const Value* terms_asked = nullptr);

// Where a worker is reached; an address that it has not is empty.
struct Endpoint {
  std::string internal;
  std::string external;
  std::string gcloud_alias;  // in the known hosts that gcloud writes; empty: it has none yet
};

// A request from which a pod's node is to come.
struct NodeRequest {
  std::string state;  // the service's word: "WAITING_FOR_RESOURCES"
  // RFC 3339: of one that waits when it was made, of others when podctl found them so; empty: not
  // known.
  std::string since;
  std::string sentence;  // of it: "its queued resource research is WAITING_FOR_RESOURCES"
  bool waits = true;     // false: nothing will come of it
  bool over = false;     // it has come to its end, and its node with it
};
// Its sentence, and since when: "…, since 2026-11-20T14:30:00Z", "…, as was found at …".
std::string RequestWords(const NodeRequest& request);

// Why a pod that nothing is asked for has no node, as far as its record tells: a clause; empty: it
// never had one, and none is sought. `spot`: the service might have taken it back.
std::string WhyNoNode(const PodRecord& record, bool spot);

class Backing {
 public:
  virtual ~Backing() = default;

  // The one whose objects these become: that looks for them too. nullptr: they become nobody's.
  virtual const Backing* below() const { return nullptr; }

  // ---- World.
  // With refresh what stands in the service's lists; without, only what an earlier run left open.
  // The pods' survey runs those of all backings side by side. Errors name the zone.
  virtual std::unique_ptr<KindSurvey> Survey(const SurveyInput& input, BackedPods pods) const = 0;
  // Puts into `seen` what the record says, for when nobody looks.
  virtual void Remember(const PodRecord& record, PodSurvey* seen) const = 0;
  // Brings `record` up to what was seen of it besides its `node` (nullptr: it is not there). True:
  // something stands, so that a node that is not there may still come. Here and below `lineage` is
  // that of the record's state.
  virtual bool Settle(const PodSurvey& /*survey*/, const std::string& /*lineage*/,
                      const Value* /*node*/, PodRecord* /*record*/) const {
    return false;
  }

  // ---- Record.
  // What is remembered from the moment when it is asked for. Returns what the node comes through
  // (state/transitions.h, BeginCreate).
  virtual std::string NoteAsked(const PodSpec& /*pod*/, PodRecord* /*record*/) const { return {}; }
  virtual void Forget(PodRecord* /*record*/) const {}  // that
  virtual int SlicesOf(const PodSpec& /*pod*/) const { return 1; }
  virtual int SlicesOf(const PodRecord& /*record*/) const { return 1; }

  // ---- Plan.
  // `node`: the pod's own; nullptr: there is none.
  virtual BackingStatus Judge(const PodRecord& /*record*/, const Value* /*node*/,
                              const PodSurvey& /*survey*/, const std::string& /*lineage*/) const {
    return {};
  }
  // Why a pod that has no objects cannot be asked for: somebody else's have its name.
  virtual std::optional<Diagnostic> WhyTaken(const PodSpec& pod, const Address& address,
                                             const PodSurvey& survey, const State& state,
                                             const StatePlace& place) const = 0;
  // Why no new node can be made beside the old one; empty: one can.
  virtual std::string WhyAlone() const { return {}; }
  // What a plan shows besides the node's own fields, by path. None of it can be changed in place.
  // `record` (may be nullptr) tells what the spec leaves open.
  virtual std::map<std::string, Value> Lines(const PodSpec& /*pod*/,
                                             const PodRecord* /*record*/) const {
    return {};
  }
  virtual std::map<std::string, Value> Lines(const PodRecord& /*record*/) const { return {}; }
  virtual Terms TermsOf(const PodSpec& pod) const = 0;

  // ---- Operations, as tasks that keep the pod's record in the run's journal.
  virtual std::unique_ptr<Task> Create(const PodSpec& pod, CreateKind kind,
                                       TaskContext& context) const = 0;
  // Of a pod or of its deposed node. `forget`: nothing is sent, only the state forgets it.
  virtual std::unique_ptr<Task> Delete(const Address& address, bool forget,
                                       TaskContext& context) const = 0;

  // What a pod's node is to come from, or has come from. `node`: the pod's, as the service shows
  // it; nullptr: it shows none. nullopt: there is no request, or no more, or what has its name is
  // another state's. Asks the service.
  virtual Result<std::optional<NodeRequest>> AskRequest(Provider& /*provider*/,
                                                        const PodRecord& /*record*/,
                                                        const Value* /*node*/,
                                                        const std::string& /*lineage*/,
                                                        const std::stop_token& /*stop*/) const {
    return std::optional<NodeRequest>();
  }

  // Whether the service may take the node back at any time.
  virtual bool MayBeTaken(const PodRecord& record) const = 0;

  // ---- Workers.
  // In worker order, as last seen.
  virtual std::vector<Endpoint> EndpointsOf(const PodRecord& record) const = 0;
  // What the workers tell of themselves through the service, their host keys above all (HostKeysOf,
  // VmNamesOf). Asks the service.
  virtual Result<std::vector<WorkerAttributes>> AskWorkers(Provider& provider,
                                                           const PodRecord& record,
                                                           std::stop_token stop) const = 0;

  // Whether something besides a node may be there for the record, so that a destroy has work to do.
  virtual bool HasMoreThanNode(const PodRecord& /*record*/) const { return false; }

  // ---- Others' objects.
  // Of what has the name of the record's request and is not that request, whose it is, in words
  // that go on after "what has its name now"; empty: nothing has, or it is the request.
  virtual std::string WhoseRequest(const PodRecord& /*record*/, const Value* /*node*/,
                                   const PodSurvey& /*survey*/,
                                   const std::string& /*lineage*/) const {
    return {};
  }
};

// The one place where it is chosen. They live as long as the program.
const Backing& BackingOf(const PodSpec& pod);
const Backing& BackingOf(const PodRecord& record);
const std::vector<const Backing*>& Backings();

}  // namespace podctl

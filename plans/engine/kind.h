// All that podctl knows of one kind of things: how a spec says what is wanted of them, what is
// asked of the world, what becomes of wanted × remembered × seen, how that is carried out, saved
// and shown. The engine knows kinds by this door alone; which there are is handed in
// (plans/kinds/kinds.h).
//
// A Kind holds the doors that it alone needs, and no state: it may be used by several threads at
// once. It outlives what refers to it, plans and specs among them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/payload.h"
#include "plans/spec/references.h"
#include "providers/base/diagnostic.h"
#include "providers/base/error.h"
#include "providers/base/value.h"
#include "state/address.h"
#include "state/any_record.h"
#include "state/record_codec.h"
#include "state/state.h"

namespace podctl {

// ---- What the world says now of all that a spec declares and a state remembers. Plain values.

struct Observation {
  // Of things that were asked about one by one; null: it is gone.
  std::map<Address, Value> seen;
  // Of kinds that look at many things at once, in their own words; by the kind's name.
  std::map<std::string, Payload, std::less<>> surveys;

  // nullptr: nobody looked.
  const Value* Seen(const Address& address) const {
    const auto found = seen.find(address);
    return found == seen.end() ? nullptr : &found->second;
  }
};

struct PlanOptions;  // plans/engine/planner.h
class ListPrefetch;  // plans/engine/observe.h
class Provider;      // providers/provider.h
class Task;          // plans/engine/task.h
class FileSystem;    // providers/os/file_system.h
class ValueReader;   // plans/spec/value_reader.h
struct TaskContext;  // plans/engine/task.h
struct YamlEntry;    // plans/spec/yaml_tree.h
struct YamlNode;     // plans/spec/yaml_tree.h
struct Key;          // plans/spec/shape.h
struct Spec;         // plans/spec/spec.h

// A reference of a spec, and what is wrong with one (plans/spec/value_reader.h).
struct FoundReference;
struct ReferenceProblem;

// The section of a spec that declares things of a kind, while it is read.
struct Section {
  ValueReader& reader;
  FileSystem& files;
  std::string key;                     // "trainingJobs"
  std::optional<std::string> project;  // of things that name none; nullopt: there is none
  std::optional<std::string> zone;
  // Which of these two a thing would have needed, "project": told by who reads it.
  std::vector<std::string>* lacks;
};

// What a job of the spec has to know of the thing that it runs on. Lent by the Declared.
struct JobHost {
  const Value& node;  // what the spec sets of its Node
  int slices = 1;
};

// A question to the world, asked on any thread: kNotFound where the thing is gone, kUnimplemented
// where nobody can answer it.
using Look = std::function<Result<Value>(Provider& provider, std::stop_token stop)>;

// What is to be looked at. All are lent until everything was.
struct SurveyInput {
  const Spec& spec;
  const State& state;
  // false: the state is believed, and only what an earlier run left open is looked at.
  bool refresh = true;
  // What a command that is advised needs to find this state, as in StatePlace.
  std::string flags = {};
  ListPrefetch* prefetch = nullptr;  // lists that may have been begun
};

// Adds an answer to the observation, which nobody else uses meanwhile. An error is that of the
// whole look: there is no observation then.
using ObservationUpdate = std::function<Result<void>(Observation* observation)>;
// Asks the world, on any thread.
using Query = std::function<ObservationUpdate(Provider& provider, std::stop_token stop)>;

// One look at the things of a kind, in rounds: what is asked next may depend on earlier answers.
class KindSurvey {
 public:
  virtual ~KindSurvey() = default;
  // Nothing: all was asked.
  virtual std::vector<Query> Next(Observation* observation) = 0;
};

// Side by side, round by round.
using KindSurveys = std::vector<std::unique_ptr<KindSurvey>>;

// What later things may know about the planned change of an earlier one.
struct Facts {
  // It is replaced; or it has run before, and runs once more for a change.
  bool anew = false;
  // What differs between the spec and what is there, where that is changed.
  std::vector<AttributeChange> differences = {};
  Payload own = {};  // what its parts know besides, in its kind's own words
};

// Of a thing that was judged already; nullptr: it was not, or there is nothing to know.
using FactsLookup = std::function<const Facts*(const Address& of)>;

// What is to be judged. All are lent for the call.
struct PlanInput {
  const Address& address;
  const Declared* declared = nullptr;  // nullptr: the spec has it not, or not any more
  const AnyRecord* record = nullptr;   // nullptr: the state does not know it
  const Value* seen = nullptr;         // null: it is gone; nullptr: nobody looked
  bool again = false;                  // --replace names it
  PlanMode mode = PlanMode::kNormal;
  const ReferenceLookup& nodes;   // by which references are read
  const State& state;             // for its key, and for what else is of the kind
  std::string_view at_work = {};  // PlanOptions::at_work
};

// What becomes of it.
struct Verdict {
  Change change;  // address, place and waits are filled in by who asked
  // false: there is nothing to do, and the plan does not name it.
  bool planned = true;
  std::vector<Drift> drift = {};
  // Why there can be no such plan, or, as a warning, what there is to know of it; place and address
  // are filled in where they are empty.
  std::vector<Diagnostic> refusals = {};
  // What references to it are read from, as the change leaves it; lent by who judged. nullptr: it
  // is not known yet.
  const Value* published = nullptr;
  Facts facts = {};
};

// What a plan is made of. All are lent for its making.
struct PlanningContext {
  const std::vector<const Declared*>& declared;  // of the kind
  const State& state;
  const Observation& observation;
  const PlanOptions& options;
  const ReferenceLookup& nodes;
  const FactsLookup& facts;
};

// One plan of the things of a kind, which are judged one after the other, each after those that it
// builds on. Pure.
class KindPlan {
 public:
  virtual ~KindPlan() = default;
  virtual Verdict Judge(const PlanInput& it) = 0;
  // Changes of deposed objects, which come when nothing is built on them any more; asked for when
  // all are judged.
  virtual std::vector<Change> Rest() { return {}; }
};

// What has to be as it was when a plan is applied later, in the words of the kind at `address`.
struct Precondition {
  Address address;
  Value value;
};
// A keyed digest, for what may be secret.
using Digester = std::function<std::string(const std::string& text)>;

// What the execution of a change depends on besides what the plan shows of it.
struct Particular {
  std::string path;  // as the spec says it: "ssh.proxyJump"
  std::string text;  // with its references as they are written
};

// What a plan relies on. All are lent for the call.
struct PreconditionInput {
  const Plan& plan;
  const State& state;  // the settled one
  const Observation& observation;
  const Digester& digest;
};

// A change's two sides; what is not there has no values.
struct ShownSides {
  ShownObject before;
  ShownObject after;
};

// What a spec says of a thing, by path; texts may refer to others.
struct Configured {
  Address address;
  Value values;
  std::vector<Address> depends_on = {};
};

// The words for a change. An empty member: the words that all kinds use.
struct ChangeWords {
  std::string title;      // in a plan, instead of the address: "trainingJob.a (in us-central1)"
  std::string headline;   // behind the address: "will be submitted"
  bool says_why = false;  // that holds the reason, too
  std::string action;     // in a table: "cancel, and forget"
  // In place of its attributes: what is done, a line each, and the script that is run last.
  std::vector<std::string> body = {};
  std::string script = {};
  std::string note = {};                         // below its attributes
  std::optional<std::vector<int>> workers = {};  // on which it runs, as far as they are known
  // While it is carried out, in terraform's words: "Creating", "Still creating", "Creation
  // complete".
  std::string doing;
  std::string still;
  std::string done;
  // Above the plan, of what stays as it is and looks as if there were nothing to say: a clause, and
  // a sentence on what can be done.
  std::string remark;
  std::string advice;

  void While(const char* it_does, const char* it_still_does, const char* it_did) {
    std::tie(doing, still, done) = std::tuple(it_does, it_still_does, it_did);
  }
};

// As its kind tells it; of a change whose kind has no room all is empty.
ChangeWords WordsOf(const Change& change);
// Of a value, and of no thing (RecordShow::is_value).
bool IsValue(const Change& change);

// Called with each sensitive text: what to call it, and the text, which may be replaced.
using SecretVisitor = std::function<void(const std::string& what, std::string& text)>;

class Kind {
 public:
  virtual ~Kind() = default;

  // What of it is remembered, under which name, and how that is shown.
  virtual const RecordCodec& codec() const = 0;
  std::string_view name() const { return codec().kind(); }

  // ---- Spec. What is wrong is reported to the section's reader, and the rest read all the same.
  // "pods"; empty: a spec declares none of them by themselves. `Read` always gives a payload.
  virtual std::string_view section() const { return codec().section(); }
  // The section as a key of the spec, with what each of its entries may look like: the tables by
  // which `Read` knows its keys, for editors. Not asked of a kind without a section.
  virtual Key SectionKey() const;
  virtual Declared Read(const YamlEntry& /*entry*/, const Section& /*section*/) const { return {}; }
  // Whether the spec's `defaults` are put under each; then what is wrong with them, whatever the
  // things say, is reported, and what keys they may have.
  virtual bool takes_defaults() const { return false; }
  virtual void CheckDefaults(const YamlNode& /*defaults*/, const Section& /*section*/) const {}
  virtual bool HasKey(const std::string& /*key*/) const { return false; }
  // Whether `moved` of the spec may give them another name.
  virtual bool moves() const { return false; }

  // What is wrong with a reference to `to`, which is of the kind; nullopt: nothing.
  virtual std::optional<ReferenceProblem> CheckReference(const FoundReference& reference,
                                                         const Declared& to) const;
  // All references are followed: `builds_on` is whole.
  virtual void Resolved(Declared* /*declared*/) const {}
  // nullopt: no job can run on it.
  virtual std::optional<JobHost> HostOf(const Declared& /*declared*/) const { return std::nullopt; }
  // The file of this machine that applying it makes, from the current folder; empty: none.
  virtual std::string MadeFile(const Declared& /*declared*/) const { return {}; }

  // What later things can refer to, as `${KIND.NAME.PATH}`; nothing: they cannot.
  virtual std::vector<std::string> published() const { return {}; }
  // Their values, by path, as far as its record says them; null: it says nothing of them.
  virtual Value Published(const AnyRecord& /*record*/) const { return {}; }
  // The same for what a plan keeps, before the plan is carried out.
  virtual Value PublishedBefore(const Change& /*change*/, const AnyRecord* record,
                                const Observation& /*observation*/) const {
    return record == nullptr ? Value() : Published(*record);
  }

  // The parts of this kind that a thing of another kind has; they are planned after it.
  virtual std::vector<Declared> PartsOf(const Declared& /*whole*/) const { return {}; }
  // Whose part the thing at `address` is; itself where it is a whole.
  virtual Address WholeOf(const Address& address) const { return address; }
  // What a thing that the state has was built on.
  virtual std::vector<Address> BuiltOn(const AnyRecord& /*record*/) const { return {}; }

  // Gives what the state has under `from` the name `to`, with its parts and what others say of it.
  // kAlreadyExists where `to` is taken, kInvalidArgument where it can have no other name; then
  // nothing is changed.
  virtual Result<void> Move(const Address& from, const Address& to, State* state) const;

  // The conflicts between things of this kind that the spec declares.
  virtual std::vector<Diagnostic> Conflicts(const std::vector<const Declared*>& /*all*/) const {
    return {};
  }

  // ---- World. Of a kind whose things are looked at one by one, Looks and Settle are enough.
  virtual KindSurveys Survey(const SurveyInput& input) const;
  virtual void SettleAll(const Observation& observation, State* state,
                         std::vector<std::string>* notes) const;
  // nullopt: there is nothing to look at. One of the pointers is not nullptr. `refresh`
  // false: only what an earlier run left open is looked at.
  virtual std::optional<Look> Looks(const Declared* /*declared*/, const AnyRecord* /*record*/,
                                    bool /*refresh*/) const {
    return std::nullopt;
  }
  // Takes what a plan shows as drift for right, for who wants that. Without it: what was seen.
  virtual void Accept(const Drift& drift, const Observation& observation, State* state) const;
  // Brings `record` up to what was seen. False: nothing is left of it, and the state forgets it.
  // `digest_key` is the state's, for what is sensitive.
  virtual bool Settle(const Address& /*address*/, const Value& /*seen*/,
                      const std::string& /*digest_key*/, AnyRecord* /*record*/,
                      std::vector<std::string>* /*notes*/) const {
    return true;
  }

  // ---- Plan. Pure. What the question lends outlives what is begun.
  virtual std::unique_ptr<KindPlan> Begin(const PlanningContext& input) const = 0;

  // Whether `podctl watch` carries out `change` when it recreates what the change builds on.
  virtual bool follows(const Change& /*change*/) const { return false; }

  // ---- Saved plans.
  virtual Value WritePayload(const Payload& payload) const = 0;
  // What is wrong is told in `problem`, with `way` to it.
  virtual Payload ReadPayload(const Value& value, const std::string& way,
                              std::string* problem) const = 0;
  // Relative paths in it start at `folder`, where the plan was made.
  virtual void StartAt(const std::string& /*folder*/, Payload* /*payload*/) const {}
  // Of a change that was read from a file: "" or what no plan of this kind holds.
  virtual std::string WhatCannotBe(const Change& change) const = 0;
  // What a plan shows of `change`, which makes a thing, told from its payload alone.
  virtual std::vector<AttributeChange> ShownOf(const Change& /*change*/,
                                               const ReferenceLookup& /*nodes*/) const {
    return {};
  }
  // The rest that carrying it out goes by, for who reviews a plan that came through other hands;
  // without what is as usual. `prior` is what the state remembered of the thing, or nullptr.
  virtual std::vector<Particular> ParticularsOf(const Change& /*change*/,
                                                const AnyRecord* /*prior*/) const {
    return {};
  }
  virtual void VisitSecrets(const Address& /*address*/, Payload* /*payload*/,
                            const SecretVisitor& /*visit*/) const {}
  // What has to be as it was when the plan is applied later, of things of this kind; by default
  // what PreconditionOf says of each change, of what was seen.
  virtual std::vector<Precondition> Preconditions(const PreconditionInput& input) const;
  // How it is otherwise now, as a clause; "": it is not, or does not matter. A precondition comes
  // from a file, and may be anything.
  virtual std::string ViolationOf(const Precondition& precondition, const Observation& observation,
                                  const Digester& digest) const;
  // "", or what of a plan that was made of what was seen lacks a precondition.
  virtual std::string WhatLacksPrecondition(
      const Plan& /*plan*/, const std::vector<Precondition>& /*preconditions*/) const {
    return {};
  }
  virtual Value PreconditionOf(const Change& /*change*/, const Value& /*seen*/) const { return {}; }
  virtual std::string DiffersFrom(const Value& /*precondition*/, const Value& /*seen*/) const {
    return {};
  }
  // What references to things of this kind were read from when the plan was made, as far as the
  // file says.
  virtual std::map<Address, Value> PublishedThen(
      const Plan& /*plan*/, const std::vector<Precondition>& /*preconditions*/) const {
    return {};
  }

  // ---- Apply.
  // What is noted of each change of a plan, Keep included, before any of it is carried out.
  virtual void Note(const Change& /*change*/, TaskContext& /*context*/) const {}
  // Not asked of kKeep. Both are lent for the task's life, on the executor's thread.
  virtual std::unique_ptr<Task> MakeTask(const Change& change, TaskContext& context) const = 0;
  // All that the plan has of a thing, its parts included, is done. True: with that a thing that had
  // been lost is whole again.
  virtual bool Conclude(const Address& /*whole*/, TaskContext& /*context*/) const { return false; }

  // ---- Show.
  // A remark when it begins to be carried out; "": none.
  virtual std::string NoteAtStart(const Change& /*change*/, const State& /*state*/) const {
    return {};
  }
  // How people call a worker of what runs on some.
  virtual std::string WorkerLabel(const Change& change, int worker,
                                  const ReferenceLookup& nodes) const;
  virtual ChangeWords WordsOf(const Change& /*change*/) const { return {}; }
  // A line below a plan's counts; "": none.
  virtual std::string Summary(const Plan& /*plan*/) const { return {}; }
  // `state` is the plan's prior one. By default of what the record shows, and of After.
  virtual ShownSides SidesOf(const Change& change, const State& state) const;
  // The thing after `change`, which makes or changes it.
  virtual ShownObject After(const Change& /*change*/) const { return {}; }
  // What the spec says of it and its parts.
  virtual std::vector<Configured> ConfiguredOf(const Change& /*change*/) const { return {}; }
};

// In an order in which later ones may build on earlier ones.
using Kinds = std::span<const Kind* const>;

// The kinds that have a room, and how the records of all kinds are written.
struct KnownKinds {
  Kinds all;
  RecordKinds remembered;
};

// Those that `spec` declares of the kind, in the order of its files. Lent by the spec.
std::vector<const Declared*> DeclaredIn(const Spec& spec, const Kind& kind);

// The plan of a kind whose things are judged each by itself, and publish what their records say
// (Kind::Published).
std::unique_ptr<KindPlan> EachByItself(const Kind& kind,
                                       Verdict (*judge)(const Kind& kind, const PlanInput& it));

// Whose part the thing at `address` is, or itself.
Address WholeOf(Kinds kinds, const Address& address);

// nullptr where none of them has that name.
const Kind* FindKind(Kinds kinds, std::string_view name);

}  // namespace podctl

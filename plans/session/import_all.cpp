#include "plans/session/import_all.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "plans/kinds/pod/import.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/step/record.h"
#include "plans/session/history_hint.h"
#include "plans/session/spec_target.h"
#include "plans/session/state_edit.h"
#include "plans/spec/names.h"
#include "providers/base/text.h"
#include "providers/gcp/queued_resource.h"
#include "providers/slices.h"

namespace podctl {
namespace {

// The zone of "projects/P/locations/ZONE/nodes/N". The project may be told by its number.
std::string ZoneOf(const std::string& resource) {
  constexpr std::string_view kLocations = "/locations/";
  const auto start = resource.find(kLocations);
  if (start == std::string::npos) return "";
  const std::string rest = resource.substr(start + kLocations.size());
  return rest.substr(0, rest.find('/'));
}

// The name of the node, or of the request where there is none yet.
std::string ResourceOf(const Found& found) {
  if (!found.waits) return found.name.Resource();
  return QueuedName{found.name.project, found.name.zone, found.queued->id}.Resource();
}

// A name that an address may have.
std::string ThingName(std::string id) {
  constexpr std::size_t kLongest = 63;
  for (char& c : id) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_') c = '-';
  }
  id.erase(0, id.find_first_not_of('-'));
  if (id.size() > kLongest) id.resize(kLongest);
  return id.empty() ? "pod" : id;
}

// All that the service has, each multislice as one.
class Inventory {
 public:
  // All are lent. `project` and `zone` as in a request.
  Inventory(Provider& provider, const std::string& project, std::string zone, std::stop_token stop)
      : provider_(provider), project_(project), zone_(std::move(zone)), stop_(std::move(stop)) {}

  Result<void> Read() {
    auto read = ReadIn(ApiVersion::kV2Alpha1);
    if (read || read.error().code == ErrorCode::kCancelled) return read;
    blind_ = read.error().message;
    return ReadIn(ApiVersion::kV2);
  }
  const std::string& blind() const { return blind_; }
  std::vector<Found> found;
  std::vector<NotImported> left;

 private:
  Result<void> ReadIn(ApiVersion version) {
    Provider& cloud = provider_.InVersion(version);
    auto nodes = cloud.ListNodes(project_, zone_, stop_);
    if (!nodes) return nodes.error();
    std::vector<Value> requests;
    if (QueuedResources* queue = cloud.queued()) {
      auto listed = queue->List(project_, zone_, stop_);
      if (!listed) return listed.error();
      requests = *std::move(listed);
    }
    for (Value& request : requests) {
      const Key key{ZoneOf(request["name"].AsString()), gcp::QueuedId(request)};
      requests_[key] = std::move(request);
    }
    for (Value& node : *nodes) {
      if (!IsJoined(node)) Add(std::move(node));
    }
    for (auto& [key, multislice] : multislices_) AddMultislice(key, multislice);
    for (const auto& [key, request] : requests_) AddWaiting(key, request);
    std::sort(found.begin(), found.end(),
              [](const Found& a, const Found& b) { return a.name < b.name; });
    LeaveNamesakes();
    return {};
  }

  // Of one name there can be one pod. A node that is there comes before requests for it; of several
  // nodes, or several requests, nobody can say which is meant.
  void LeaveNamesakes() {
    std::vector<Found> kept;
    for (auto first = found.begin(); first != found.end();) {
      const auto last = std::find_if(first, found.end(),
                                     [&](const Found& one) { return one.name != first->name; });
      const auto nodes = std::count_if(first, last, [](const Found& one) { return !one.waits; });
      for (auto one = first; one != last; ++one) {
        if (last - first == 1 || (nodes == 1 && !one->waits)) {
          kept.push_back(std::move(*one));
        } else {
          left.push_back({ResourceOf(*one), nodes > 1 && !one->waits
                                                ? "the service lists another node of that name"
                                            : nodes > 0 ? "it asks for a node that is there already"
                                                        : "another queued resource asks for the "
                                                          "same node"});
        }
      }
      first = last;
    }
    found = std::move(kept);
  }

  using Key = std::pair<std::string, std::string>;  // zone, id
  struct Multislice {
    std::string prefix;
    std::map<int, Value> slices;
  };

  void Add(Value node) {
    const std::string resource = node["name"].AsString();
    const std::string zone = ZoneOf(resource);
    const std::string& full = node["queuedResource"].AsString();
    Found one{{project_, zone, NodeId(node)}, std::move(node), {}, false};
    if (!full.empty()) {
      const Key key{zone, full.substr(full.rfind('/') + 1)};
      const auto request = requests_.find(key);
      if (request == requests_.end()) {
        left.push_back({resource, fmt::format("the queued resource `{}` that made it is not there",
                                              VisibleControls(key.second))});
        return;
      }
      has_nodes_.insert(key);
      one.queued = QueuedRecordOf(request->second);
      const auto dash = one.name.node.rfind('-');
      if (one.queued->slices > 1 && dash != std::string::npos) {
        Multislice& whole = multislices_[key];
        whole.prefix = one.name.node.substr(0, dash);
        const auto number = ParseNumber<int>(std::string_view(one.name.node).substr(dash + 1));
        whole.slices[number.value_or(0)] = std::move(one.node);
        return;
      }
    }
    found.push_back(std::move(one));
  }

  void AddMultislice(const Key& key, const Multislice& whole) {
    Found one{{project_, key.first, whole.prefix}, {}, QueuedRecordOf(requests_.at(key)), false};
    one.name.slices = one.queued->slices;
    one.node = JoinSlices(one.name, whole.slices);
    found.push_back(std::move(one));
  }

  void AddWaiting(const Key& key, const Value& request) {
    if (has_nodes_.contains(key)) return;
    const std::string node = NodeToBe(request);
    const auto phase = gcp::PhaseOf(gcp::QueuedState(request));
    if (phase == gcp::QueuedPhase::kOver || phase == gcp::QueuedPhase::kGoing || node.empty()) {
      left.push_back({request["name"].AsString(),
                      node.empty() ? "it asks for no node"
                                   : fmt::format("it {}", gcp::QueuedSentence(request))});
      return;
    }
    Found one{{project_, key.first, node},
              request["tpu"]["nodeSpec"].AsList().front()["node"],
              QueuedRecordOf(request),
              true};
    one.name.slices = one.queued->slices;
    found.push_back(std::move(one));
  }

  Provider& provider_;
  const std::string& project_;
  const std::string zone_;
  const std::stop_token stop_;
  std::string blind_;
  std::map<Key, Value> requests_;
  std::map<Key, Multislice> multislices_;  // by their request
  std::set<Key> has_nodes_;
};

// A pod for each node: the name that the spec or the state has for it, else its id. Where two zones
// have that id, both have the zone behind it, so that no order matters and another run says the
// same.
class Namer {
 public:
  Namer(const std::vector<Found>& found, const Spec& spec, const State& state) {
    for (const Found& one : found) ++count_[ThingName(one.name.node)];
    for (const PodSpec* pod : DeclaredPods(spec)) taken_.insert(pod->name);
    for (const auto& [address, record] : Pods(state)) taken_.insert(address.name);
  }
  std::string NameFor(const Found& found) {
    std::string id = ThingName(found.name.node);
    if (count_[id] == 1 && taken_.insert(id).second) return id;
    const std::string with_zone = WithSuffix(id, found.name.zone);
    std::string name = with_zone;
    for (int number = 2; !taken_.insert(name).second; ++number) {
      name = WithSuffix(with_zone, std::to_string(number));
    }
    return name;
  }

 private:
  static std::string WithSuffix(const std::string& name, const std::string& suffix) {
    constexpr std::size_t kLongest = 63;
    const std::size_t room = kLongest - std::min(suffix.size() + 1, kLongest - 1);
    return ThingName(name.substr(0, room) + "-" + suffix);
  }
  std::map<std::string, int> count_;
  std::set<std::string> taken_;
};

// One import of all, step by step. Each step returns false where it failed, and why stands in
// `none_`.
class AllImporter {
 public:
  AllImporter(const PlanDoors& doors, Clock& clock, Random& random, const ImportAllRequest& request,
              ImportListener& listener)
      : doors_(doors),
        clock_(clock),
        random_(random),
        request_(request),
        listener_(listener),
        target_(doors.entry, request.load, request.write_spec) {}

  std::variant<ImportedAll, NoImport> Run() {
    if (!ReadSpec() || !OpenState() || !Survey() || !WriteDrafts()) return std::move(none_);
    if (!all_.survey.candidates.empty()) {
      if (listener_.Approve(all_.survey)) {
        if (!WriteFile()) return std::move(none_);
        TakeAll();
      } else {
        all_.declined = true;
      }
    }
    return std::move(all_);
  }

 private:
  bool Fail(const Error& error, const std::string& summary = {}) {
    none_.error = error;
    none_.summary = summary;
    return false;
  }

  bool ReadSpec() {
    if (!target_.Read(listener_)) {
      none_.error = target_.error();
      return false;
    }
    ImportSurvey& survey = all_.survey;
    survey.project = target_.spec().project;
    survey.zone = request_.zone.empty() ? target_.spec().zone : request_.zone;
    if (!survey.project.empty() && !survey.zone.empty()) return true;
    const char* what = survey.project.empty() ? "project" : "zone";
    return Fail(MakeError(
        ErrorCode::kInvalidArgument, fmt::format("the {} is not known", what),
        fmt::format("set `{0}` in the spec, or give --{0}{1}", what,
                    survey.project.empty() ? "" : "; `--zone -` means all zones of the project")));
  }

  bool OpenState() {
    if (const auto free = target_.CheckFree(request_.state.For(target_.spec())); !free) {
      return Fail(free.error());
    }
    edit_.emplace(doors_.open_store(request_.state.For(target_.spec())), random_);
    const auto note = edit_->Lock(request_.lock, doors_.stop);
    if (!note) return Fail(note.error());
    if (!note->empty()) listener_.OnTakeover(*note);
    const auto loaded = edit_->Load();
    if (!loaded) return Fail(loaded.error());
    if (edit_->state().lineage.empty()) {
      all_.survey.kept = HistoryHint(edit_->store(), request_.flags);
    }
    return true;
  }

  bool Survey() {
    if (!doors_.provider) return Fail(doors_.provider.error());
    provider_ = *doors_.provider;
    ImportSurvey& survey = all_.survey;
    Inventory inventory(*provider_, survey.project, survey.zone, doors_.stop);
    if (const auto read = inventory.Read(); !read) return Fail(read.error());
    survey.blind = inventory.blind();
    survey.left = std::move(inventory.left);
    Namer namer(inventory.found, target_.spec(), edit_->state());
    for (Found& found : inventory.found) Sort(std::move(found), namer);
    std::sort(survey.left.begin(), survey.left.end(),
              [](const NotImported& a, const NotImported& b) { return a.resource < b.resource; });
    return true;
  }

  // Among the candidates, those that are left alone, or those that are known.
  void Sort(Found found, Namer& namer) {
    ImportSurvey& survey = all_.survey;
    const auto known = FindManaged(edit_->state(), found);
    const PodSpec* declared = Declaring(found, known);
    if (known && (known->deposed || declared != nullptr)) {
      ++survey.known;
      return;
    }
    const std::string why = WhyNot(found, known.has_value());
    if (!why.empty()) {
      survey.left.push_back({ResourceOf(found), why, WayAllTheSame(found, declared, known)});
      return;
    }
    Candidate candidate{{}, std::move(found), declared != nullptr, known.has_value()};
    if (declared != nullptr) pods_[declared->name] = *declared;
    candidate.address = known                 ? known->address
                        : declared != nullptr ? PodAddress(declared->name)
                                              : PodAddress(namer.NameFor(candidate.found));
    survey.candidates.push_back(std::move(candidate));
  }

  // The pod of the spec that is meant by it; nullptr: none.
  const PodSpec* Declaring(const Found& found, const std::optional<ManagedAs>& known) const {
    if (known) return FindDeclaredPod(target_.spec(), known->address.name);
    for (const PodSpec* pod : DeclaredPods(target_.spec())) {
      // One whose name the state has is that other one.
      if (NameOf(*pod) == found.name && !Pods(edit_->state()).contains(PodAddress(pod->name))) {
        return pod;
      }
    }
    return nullptr;
  }

  // By itself what another state made is imported, too: who names it has looked.
  std::string WayAllTheSame(const Found& found, const PodSpec* declared,
                            const std::optional<ManagedAs>& known) const {
    if (known || found.waits || OtherLineage(edit_->state(), found).empty()) return {};
    const std::string pod = declared != nullptr ? declared->name : ThingName(found.name.node);
    const NodeName one = IsJoined(found.node) ? SliceName(found.name, 0) : found.name;
    return fmt::format("podctl import {} {}{}", ShellQuote(PodAddress(pod).Text()),
                       ShellQuote(fmt::format("{}/{}/{}", one.project, one.zone, one.node)),
                       request_.flags);
  }

  // Why it is left alone; "" where it is not.
  std::string WhyNot(const Found& found, bool in_state) const {
    const std::string lineage = OtherLineage(edit_->state(), found);
    if (!in_state && !lineage.empty()) {
      return fmt::format("podctl made it with another state, of lineage {}",
                         VisibleControls(lineage));
    }
    if (found.waits) return "";
    if (std::string why = WhyNotNow(found.node); !why.empty()) return why;
    const std::string state = NodeState(found.node);
    if (state == kMissingSlice) return "a slice of it is not there";
    return IsTerminalState(state) ? fmt::format("it is {}", state) : "";
  }

  // One spec for all that none has, loaded and compared as that of a single import.
  bool WriteDrafts() {
    DraftAll();
    if (!Loads(drafts_)) {
      LeaveStrange();
      DraftAll();
    }
    constexpr int kMostRounds = 3;
    bool again = !drafts_.empty();
    for (int round = 0; again && round < kMostRounds; ++round) {
      auto text = target_.TextOf(drafts_);
      if (!text) return Fail(text.error());
      all_.text = std::move(*text);
      if (all_.text.size() > kMostSpecBytes) return FailAsTooLarge();
      if (!LoadDrafts()) return false;
      again = false;
      for (std::size_t i = 0; i < of_.size(); ++i) {
        again = Insist(pods_.at(of_[i]->address.name), of_[i]->found.node, &drafts_[i]) || again;
      }
    }
    return true;
  }

  bool FailAsTooLarge() {
    constexpr double kMebibyte = 1 << 20;
    const bool many_zones = all_.survey.zone == "-";
    return Fail(MakeError(
        ErrorCode::kResourceExhausted,
        fmt::format("the spec of {} has {:.1f} MiB, and one file may have {:.0f} MiB",
                    Plural(drafts_.size(), "pod"),
                    static_cast<double>(all_.text.size()) / kMebibyte,
                    static_cast<double>(kMostSpecBytes) / kMebibyte),
        many_zones ? "Import zone by zone, each into a file of its own: podctl import --all --zone "
                     "ZONE --write-spec ZONE.yaml"
                   : "Import some one by one into another file: podctl import ADDRESS ID "
                     "--write-spec FILE. `--all` then passes over them."));
  }

  void DraftAll() {
    std::vector<NodeName> names;
    of_.clear();
    drafts_.clear();
    for (const Candidate& candidate : all_.survey.candidates) {
      if (candidate.in_spec) continue;
      of_.push_back(&candidate);
      names.push_back(candidate.found.name);
      drafts_.push_back(DraftOfFound(candidate.address.name, candidate.found));
    }
    target_.Place(names, &drafts_);
  }

  // Where they cannot be written at all, why is told later.
  bool Loads(const std::vector<PodDraft>& drafts) const {
    if (drafts.empty()) return true;
    const auto text = target_.TextOf(drafts);
    if (!text || text->size() > kMostSpecBytes) return true;
    Diagnostics diagnostics;
    static_cast<void>(target_.Try(*text, diagnostics));
    return !diagnostics.has_errors();
  }

  // One node that no spec can describe keeps nobody from the others.
  void LeaveStrange() {
    std::erase_if(all_.survey.candidates, [&](const Candidate& candidate) {
      if (candidate.in_spec) return false;
      std::vector<PodDraft> alone{DraftOfFound(candidate.address.name, candidate.found)};
      target_.Place({candidate.found.name}, &alone);
      if (Loads(alone)) return false;
      all_.survey.left.push_back(
          {ResourceOf(candidate.found), "podctl cannot write a spec that matches it"});
      return true;
    });
  }

  bool LoadDrafts() {
    Diagnostics diagnostics;
    const Spec spec = target_.Try(all_.text, diagnostics);
    bool whole = !diagnostics.has_errors();
    for (const Candidate* candidate : of_) {
      const PodSpec* pod = FindDeclaredPod(spec, candidate->address.name);
      whole = whole && pod != nullptr && NameOf(*pod) == candidate->found.name;
      if (whole) pods_[pod->name] = *pod;
    }
    if (whole) return true;
    listener_.OnSpec(diagnostics);
    return Fail(MakeError(ErrorCode::kFailedPrecondition,
                          "podctl cannot write a spec that matches these nodes",
                          "import them one by one: podctl import ADDRESS ID"));
  }

  // Before the state is saved: a node that is in the spec only is never touched, but one that is in
  // the state only would be destroyed by the next apply.
  bool WriteFile() {
    if (drafts_.empty()) return true;
    const auto written = target_.Write(all_.text);
    if (!written) return Fail(written.error());
    all_.target = target_.file();
    return true;
  }

  void TakeAll() {
    for (const Candidate& candidate : all_.survey.candidates) {
      PodSpec& pod = pods_.at(candidate.address.name);
      if (!candidate.in_state) {
        const auto saved =
            doors_.stop.stop_requested()
                ? Result<void>(MakeError(ErrorCode::kCancelled, "interrupted"))
                : AdoptFound(doors_, *provider_, clock_, candidate.found, &pod, &*edit_);
        if (!saved) {
          all_.error = saved.error();
          if (saved.error().code != ErrorCode::kCancelled) all_.summary = kNotSaved;
          break;
        }
      }
      all_.done.push_back(Account(candidate, pod));
      listener_.OnTaken(all_.done.back());
    }
    all_.warnings = edit_->TakeWarnings();
  }

  Imported Account(const Candidate& candidate, const PodSpec& pod) const {
    const State& state = edit_->state();
    Imported done;
    done.address = candidate.address;
    done.name = candidate.found.name;
    done.node = candidate.found.node;
    done.queued = candidate.found.queued;
    done.waits = candidate.found.waits;
    done.differs = Differences(pod, candidate.found, NodesOf(state, *provider_, doors_.stop));
    done.pod = pod;
    done.restarts_runtime =
        Steps(state).contains(StepAddress(candidate.address.name, kRuntimeStepName));
    done.known = candidate.in_state;
    done.no_key = NoKeyNote(doors_.entry.keyring, pod);
    return done;
  }

  const PlanDoors& doors_;
  Clock& clock_;
  Random& random_;
  const ImportAllRequest& request_;
  ImportListener& listener_;
  SpecTarget target_;
  std::optional<StateEdit> edit_;
  Provider* provider_ = nullptr;
  std::vector<const Candidate*> of_;     // those that no spec has; lent by all_
  std::vector<PodDraft> drafts_;         // of `of_`, in their order
  std::map<std::string, PodSpec> pods_;  // of the candidates, by name
  ImportedAll all_;
  NoImport none_;
};

}  // namespace

std::variant<ImportedAll, NoImport> ImportAll(const PlanDoors& doors, Clock& clock, Random& random,
                                              const ImportAllRequest& request,
                                              ImportListener& listener) {
  return AllImporter(doors, clock, random, request, listener).Run();
}

}  // namespace podctl

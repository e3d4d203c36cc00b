#include "plans/spec/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "plans/spec/dependencies.h"
#include "plans/spec/file_scopes.h"
#include "plans/spec/job_reader.h"
#include "plans/spec/local_files.h"
#include "plans/spec/moves_reader.h"
#include "plans/spec/node_rules.h"
#include "plans/spec/pod_reader.h"
#include "plans/spec/spec_files.h"
#include "plans/spec/tree_merge.h"
#include "plans/spec/variables.h"
#include "providers/base/digest.h"

namespace podctl {
namespace {

constexpr std::size_t kMostPods = 20'000;
constexpr std::size_t kMostJobs = 10'000;
// Of all pods together, after `defaults` were put under each: what multiplies must be bounded.
constexpr std::size_t kMostDefaultValues = 2'000'000;

// Carries one load through its steps: files, top level, variables, pods, what is between pods.
class Loader {
 public:
  Loader(const LoadOptions& options, FileSystem& files, const Environment& environment)
      : options_(options), files_(files), environment_(environment) {}

  Spec Load(Diagnostics& diagnostics) {
    Spec spec;
    documents_ = ReadSpecFiles(options_.paths, SpecSearch{options_.recursive, options_.var_files},
                               files_, problems_, options_.texts);
    for (const SpecDocument& document : documents_) {
      spec.files.push_back(document.file->name());
      if (document.root == nullptr) continue;
      scopes_.Add(*document.root, options_.kinds.all);
      ReadTop(*document.root);
    }
    LoadVariables();
    ReadPods(spec);
    spec.digest = DigestOfFiles();
    for (const auto& [name, variable] : variables_) {
      if (variable.value) spec.variables[name] = {*variable.value, variable.sensitive};
    }
    problems_.MoveTo(diagnostics);
    return spec;
  }

 private:
  // Names and lengths go in as well, so that no two specs look the same put together.
  std::string DigestOfFiles() const {
    std::string text;
    for (const SpecDocument& document : documents_) {
      // Not the names: the same files lie elsewhere in another checkout.
      text += fmt::format("{}\n", document.file->text().size());
      text += document.file->text();
    }
    return Sha256Hex(text);
  }

  void ReadTop(const YamlNode& root) {
    ValueReader reader(variables_, environment_, problems_);
    for (const YamlEntry& entry : root.entries) {
      const std::string& key = entry.key->text;
      const Slot slot{"", key};
      if (key == "project" || key == "zone" || key == "defaults") continue;  // of scopes_
      if (key == "state") {
        states_.push_back(entry);
      } else if (key == "variables" || key == "pods" || key == "jobs") {
        if (key == "pods") has_pods_key_ = true;
        if (!reader.ExpectMap(*entry.value, slot)) continue;
        auto& target = key == "pods" ? pods_ : key == "jobs" ? jobs_ : declarations_;
        target.insert(target.end(), entry.value->entries.begin(), entry.value->entries.end());
      } else if (key == "moved") {
        moved_.push_back(entry.value);
      } else if (const Kind* kind = KindOf(key)) {
        has_pods_key_ = true;  // a spec of such things alone is a whole one
        if (!reader.ExpectMap(*entry.value, slot)) continue;
        auto& entries = sections_[kind];
        entries.insert(entries.end(), entry.value->entries.begin(), entry.value->entries.end());
      } else {
        ReportUnknown(reader, *entry.key);
      }
    }
  }

  // nullptr: it is no section.
  const Kind* KindOf(const std::string& key) const {
    const auto found = std::find_if(
        options_.kinds.all.begin(), options_.kinds.all.end(),
        [&](const Kind* kind) { return !key.empty() && kind->codec().section() == key; });
    return found == options_.kinds.all.end() ? nullptr : *found;
  }

  std::vector<std::string> TopKeys() const {
    std::vector<std::string> keys = {"project",  "zone", "state", "variables",
                                     "defaults", "pods", "jobs"};
    for (const Kind* kind : options_.kinds.all) {
      if (!kind->codec().section().empty()) keys.emplace_back(kind->codec().section());
    }
    keys.emplace_back("moved");
    return keys;
  }

  // A pod's key at the top is a pod written without `pods:` above it, or a default.
  void ReportUnknown(ValueReader& reader, const YamlNode& key) {
    const std::vector<std::string> writable = WritableMembers("");
    const bool is_pod_key = std::find(writable.begin(), writable.end(), key.text) != writable.end();
    if (is_pod_key) {
      reader.Error(key, {"", key.text}, fmt::format("unknown key {}", FoundWords(key)),
                   "it belongs to a pod, or under `defaults`");
      return;
    }
    reader.UnknownKey(key, "", TopKeys());
  }

  void LoadVariables() {
    std::vector<VariableFile> variable_files;
    for (const std::string& path : options_.var_files) {
      variable_documents_.push_back(ReadYamlFile(path, files_, problems_));
      if (variable_documents_.back().root != nullptr) {
        variable_files.push_back({variable_documents_.back().root});
      }
    }
    const VariableSources sources{options_.vars, variable_files, environment_};
    variables_ = ResolveVariables(declarations_, sources, problems_);
  }

  // Two files may say it, if they mean the same place: each counts from its own folder.
  void ReadState(ValueReader& reader, Spec& spec) {
    const YamlEntry* first = nullptr;
    for (const YamlEntry& entry : states_) {
      const YamlNode& node = *entry.value;
      const auto state = reader.ReadPlain(node, {"", "state"});
      if (!state) continue;
      if (state->find("://") != std::string::npos) {
        Diagnostic problem =
            DiagnosticAt(node, node.Place(), "the state can only live in a local file");
        problem.suggestion = "write a path, such as `podctl.state.json`";
        problems_.Add(std::move(problem));
      }
      const std::string path = PathFromSpec(node, *state);
      if (first == nullptr) {
        first = &entry;
        spec.state = path;
      } else if (path != spec.state) {
        reader.Conflict(*entry.key, {"", "state"},
                        fmt::format("`state` has two values: {} and {}", spec.state, path),
                        *first->key, "the other one is here");
      }
    }
  }

  void ReadPods(Spec& spec) {
    ValueReader reader(variables_, environment_, problems_, ReferenceTargets());
    scopes_.Settle(reader, {options_.project, options_.zone}, problems_);
    spec.project = scopes_.place().project.value_or("");
    spec.zone = scopes_.place().zone.value_or("");
    ReadState(reader, spec);
    if (pods_.size() > kMostPods) {
      problems_.AddForFile(
          "", fmt::format("{} pods are too many, {} at most", pods_.size(), kMostPods));
      return;
    }
    if (TooManyDefaults()) return;
    for (const Kind* kind : options_.kinds.all) ReadSection(*kind, reader, spec);
    ReportMissingPods();
    for (const YamlNodePtr& defaults : scopes_.all_defaults()) {
      PodReader(reader, files_, scopes_.place()).CheckDefaults(*defaults);
    }
    std::vector<ReadPod> read;
    read.reserve(pods_.size());
    std::map<std::string, const YamlNode*> names;
    for (const YamlEntry& entry : pods_) {
      const auto [it, is_new] = names.emplace(entry.key->text, entry.key.get());
      if (!is_new) {
        reader.Conflict(*entry.key, {"pods", entry.key->text},
                        fmt::format("the pod `{}` is defined twice", entry.key->text), *it->second,
                        "first defined here");
        continue;
      }
      const YamlNodePtr& defaults = scopes_.DefaultsOf(*entry.key->file);
      const YamlNodePtr merged =
          defaults == nullptr ? entry.value : MergeUnder(defaults, entry.value);
      PodReader pod_reader(reader, files_, scopes_.PlaceOf(*entry.key->file));
      read.push_back(pod_reader.Read(*entry.key, *merged));
    }
    ReportMissingPlace(read, &ReadPod::lacks_project, "project",
                       "set `project`, --project or PODCTL_PROJECT");
    ReportMissingPlace(read, &ReadPod::lacks_zone, "zone", "set `zone`, or --zone");
    ReadMoves(reader, names, spec);
    ResolveDependencies(read, problems_);
    CheckSameNode(read, problems_);
    ResolveDeclared(read, spec);
    spec.pods.reserve(read.size());
    for (ReadPod& pod : read) spec.pods.push_back(std::move(pod.pod));
    ReadJobs(reader, spec);
  }

  // Counted before any of them is copied under a pod.
  bool TooManyDefaults() {
    std::size_t values = 0;
    for (const YamlEntry& entry : pods_) {
      const YamlNodePtr& defaults = scopes_.DefaultsOf(*entry.key->file);
      if (defaults == nullptr) continue;
      values += defaults->size;
      if (values <= kMostDefaultValues) continue;
      Diagnostic problem = DiagnosticAt(*defaults, defaults->Place(),
                                        fmt::format("`defaults` has {} values, which are too many "
                                                    "for {} pods",
                                                    defaults->size, pods_.size()));
      problems_.Add(std::move(problem));
      return true;
    }
    return false;
  }

  void ReadJobs(ValueReader& reader, Spec& spec) {
    if (jobs_.size() > kMostJobs) {
      problems_.AddForFile(
          "", fmt::format("{} jobs are too many, {} at most", jobs_.size(), kMostJobs));
      return;
    }
    std::map<std::string, const PodSpec*> pods;
    for (const PodSpec& pod : spec.pods) pods[pod.name] = &pod;
    JobReader job_reader(reader, pods);
    std::map<std::string, const YamlNode*> names;
    for (const YamlEntry& entry : jobs_) {
      const auto [it, is_new] = names.emplace(entry.key->text, entry.key.get());
      if (is_new) {
        spec.jobs.push_back(job_reader.Read(*entry.key, *entry.value));
      } else {
        reader.Conflict(*entry.key, {"jobs", entry.key->text},
                        fmt::format("the job `{}` is defined twice", entry.key->text), *it->second,
                        "first defined here");
      }
    }
  }

  void ReadSection(const Kind& kind, ValueReader& reader, Spec& spec) {
    const std::vector<YamlEntry>& entries = sections_[&kind];
    const std::string noun(kind.codec().noun());
    if (entries.size() > kMostPods) {
      problems_.AddForFile(
          "", fmt::format("{} {}s are too many, {} at most", entries.size(), noun, kMostPods));
      return;
    }
    const std::string key(kind.codec().section());
    std::map<std::string, const YamlNode*> names;
    for (const YamlEntry& entry : entries) {
      const auto [it, is_new] = names.emplace(entry.key->text, entry.key.get());
      if (is_new) {
        const Section section{reader, key, scopes_.PlaceOf(*entry.key->file).project};
        spec.declared.push_back(kind.Read(entry, section));
        references_.push_back(reader.TakeReferences());
        continue;
      }
      reader.Conflict(*entry.key, {key, entry.key->text},
                      fmt::format("the {} `{}` is defined twice", noun, entry.key->text),
                      *it->second, "first defined here");
    }
  }

  std::vector<std::string> ReferenceTargets() const {
    std::vector<std::string> targets = {"pod"};
    for (const Kind* kind : options_.kinds.all) {
      if (!kind->published().empty()) targets.emplace_back(kind->name());
    }
    return targets;
  }

  // Of the i-th declared thing, to another one that is no pod.
  void Follow(const FoundReference& reference, Spec& spec, std::size_t i) {
    const Address address{reference.target, reference.pod};
    const auto other = std::find_if(spec.declared.begin(), spec.declared.end(),
                                    [&](const Declared& each) { return each.address == address; });
    const auto report = [&](std::string summary, std::string suggestion) {
      Diagnostic diagnostic = reference.at;
      diagnostic.summary = std::move(summary);
      diagnostic.suggestion = std::move(suggestion);
      problems_.Add(std::move(diagnostic));
    };
    if (other == spec.declared.end()) return report(fmt::format("there is no `{}`", address), "");
    const Kind& kind = *other->wanted.kind();
    const std::vector<std::string> paths = kind.published();
    if (std::find(paths.begin(), paths.end(), reference.path) == paths.end()) {
      return report(
          fmt::format("a {} has no `{}` to refer to", kind.codec().noun(), reference.path),
          fmt::format("known are `{}`", fmt::join(paths, "`, `")));
    }
    std::vector<Address>& builds_on = spec.declared[i].builds_on;
    if (std::find(builds_on.begin(), builds_on.end(), address) == builds_on.end()) {
      builds_on.push_back(address);
    }
  }

  // What is between declared things, and between them and pods.
  void ResolveDeclared(std::vector<ReadPod>& pods, Spec& spec) {
    std::vector<std::vector<FoundReference>> to_pods(spec.declared.size());
    for (std::size_t i = 0; i < spec.declared.size(); ++i) {
      for (FoundReference& reference : references_[i]) {
        if (reference.target == "pod") {
          to_pods[i].push_back(std::move(reference));
        } else {
          Follow(reference, spec, i);
        }
      }
    }
    const auto found = ResolveReferences(to_pods, pods, problems_);
    for (std::size_t i = 0; i < spec.declared.size(); ++i) {
      std::vector<Address>& builds_on = spec.declared[i].builds_on;
      builds_on.insert(builds_on.begin(), found[i].begin(), found[i].end());
    }
    for (const Kind* kind : options_.kinds.all) {
      std::vector<const Declared*> all;
      for (const Declared& declared : spec.declared) {
        if (declared.wanted.kind() == kind) all.push_back(&declared);
      }
      for (Diagnostic& conflict : kind->Conflicts(all)) problems_.Add(std::move(conflict));
    }
  }

  void ReadMoves(ValueReader& reader, const std::map<std::string, const YamlNode*>& pods,
                 Spec& spec) {
    MovesReader moves(reader);
    for (const YamlNodePtr& list : moved_) moves.Read(*list);
    std::set<std::string> names;
    for (const auto& [name, key] : pods) names.insert(name);
    spec.moved = moves.Take(names);
  }

  // An unfinished file must not read as "delete everything".
  void ReportMissingPods() {
    if (has_pods_key_ || options_.may_lack_pods) return;
    for (const SpecDocument& document : documents_) {
      if (document.root == nullptr) return;
    }
    if (documents_.empty()) return;
    problems_.AddForFile(documents_.front().file->name(), "there is no `pods`",
                         "write `pods: {}` for none");
  }

  // One problem for all pods: they share the cure.
  void ReportMissingPlace(const std::vector<ReadPod>& pods, bool ReadPod::*lacks,
                          const std::string& what, const std::string& cure) {
    const ReadPod* first = nullptr;
    std::size_t count = 0;
    for (const ReadPod& pod : pods) {
      if (!(pod.*lacks)) continue;
      if (first == nullptr) first = &pod;
      ++count;
    }
    if (first == nullptr) return;
    Diagnostic diagnostic;
    diagnostic.summary = count == 1 ? fmt::format("no {} for the pod `{}`", what, first->pod.name)
                                    : fmt::format("no {} for the pod `{}` and {} more", what,
                                                  first->pod.name, count - 1);
    diagnostic.place = first->pod.place;
    diagnostic.source_line = first->source_line;
    diagnostic.context = "pods";
    const std::string differ = scopes_.Cure(what);
    diagnostic.suggestion = differ.empty() ? cure : differ;
    problems_.Add(std::move(diagnostic));
  }

  const LoadOptions& options_;
  FileSystem& files_;
  const Environment& environment_;
  Problems problems_;
  std::vector<SpecDocument> documents_;
  std::vector<SpecDocument> variable_documents_;
  FileScopes scopes_;
  std::vector<YamlEntry> states_;
  std::vector<YamlEntry> declarations_;
  std::vector<YamlEntry> pods_;
  std::vector<YamlEntry> jobs_;
  std::map<const Kind*, std::vector<YamlEntry>> sections_;
  std::vector<std::vector<FoundReference>> references_;  // of Spec::declared, one after the other
  std::vector<YamlNodePtr> moved_;
  Variables variables_;
  bool has_pods_key_ = false;
};

}  // namespace

Spec LoadSpec(const LoadOptions& options, FileSystem& files, const Environment& environment,
              Diagnostics& diagnostics) {
  return Loader(options, files, environment).Load(diagnostics);
}

}  // namespace podctl

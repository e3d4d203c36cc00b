#include "plans/spec/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "plans/spec/dependencies.h"
#include "plans/spec/job_reader.h"
#include "plans/spec/local_files.h"
#include "plans/spec/moves_reader.h"
#include "plans/spec/spec_files.h"
#include "plans/spec/tree_merge.h"
#include "plans/spec/variables.h"
#include "providers/base/digest.h"

namespace podctl {
namespace {

constexpr std::size_t kMostThings = 20'000;  // of a kind
constexpr std::size_t kMostJobs = 10'000;
// Of all things together, after `defaults` were put under each: what multiplies must be bounded.
constexpr std::size_t kMostDefaultValues = 2'000'000;

// Carries one load through its steps: files, top level, variables, sections, what is between
// their things.
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
    ReadSections(spec);
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
      if (key == "project" || key == "zone" || key == "defaults") continue;  // of scopes_
      if (key == "state") {
        states_.push_back(entry);
      } else if (key == "variables" || key == "jobs") {
        Collect(reader, entry, key == "jobs" ? jobs_ : declarations_);
      } else if (key == "moved") {
        moved_.push_back(entry.value);
      } else if (const Kind* kind = KindOf(key)) {
        has_section_ = true;
        Collect(reader, entry, sections_[kind]);
      } else {
        ReportUnknown(reader, *entry.key);
      }
    }
  }

  // The entries of a top-level map, of all files.
  static void Collect(ValueReader& reader, const YamlEntry& entry, std::vector<YamlEntry>& into) {
    if (!reader.ExpectMap(*entry.value, {"", entry.key->text})) return;
    into.insert(into.end(), entry.value->entries.begin(), entry.value->entries.end());
  }

  // nullptr: it is no section.
  const Kind* KindOf(const std::string& key) const {
    const auto found =
        std::find_if(options_.kinds.all.begin(), options_.kinds.all.end(),
                     [&](const Kind* kind) { return !key.empty() && kind->section() == key; });
    return found == options_.kinds.all.end() ? nullptr : *found;
  }

  std::vector<std::string> TopKeys() const {
    std::vector<std::string> keys = {"project", "zone", "state", "variables", "defaults"};
    for (const Kind* kind : options_.kinds.all) {
      if (!kind->section().empty()) keys.emplace_back(kind->section());
    }
    keys.insert(keys.end(), {"jobs", "moved"});
    return keys;
  }

  // A pod's key at the top is a pod written without `pods:` above it, or a default.
  void ReportUnknown(ValueReader& reader, const YamlNode& key) {
    for (const Kind* kind : options_.kinds.all) {
      if (!kind->takes_defaults() || !kind->HasKey(key.text)) continue;
      return reader.Error(
          key, {"", key.text}, fmt::format("unknown key {}", FoundWords(key)),
          fmt::format("it belongs to a {}, or under `defaults`", kind->codec().noun()));
    }
    reader.UnknownKey(key, "", TopKeys());
  }

  void LoadVariables() {
    std::vector<VariableFile> variable_files;
    for (const std::string& path : options_.var_files) {
      variable_documents_.push_back(ReadVariableFile(path, files_, problems_));
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

  void ReadSections(Spec& spec) {
    ValueReader reader(variables_, environment_, problems_, ReferenceTargets());
    scopes_.Settle(reader, {options_.project, options_.zone}, problems_);
    spec.project = scopes_.place().project.value_or("");
    spec.zone = scopes_.place().zone.value_or("");
    ReadState(reader, spec);
    if (TooManyThings() || TooManyDefaults()) return;
    ReportMissingSection();
    for (const Kind* kind : options_.kinds.all) ReadSection(*kind, reader, spec);
    ReadMoves(reader, spec);
    ResolveReferences(references_, options_.kinds.all, problems_, &spec.declared);
    for (Declared& declared : spec.declared) declared.wanted.kind()->Resolved(&declared);
    ReportConflicts(spec);
    ReadJobs(reader, spec);
  }

  bool TooManyThings() {
    bool too_many = false;
    for (const Kind* kind : options_.kinds.all) {
      const std::size_t count = sections_[kind].size();
      if (count <= kMostThings) continue;
      problems_.AddForFile("", fmt::format("{} {}s are too many, {} at most", count,
                                           kind->codec().noun(), kMostThings));
      too_many = true;
    }
    return too_many;
  }

  // Counted before any of them is copied under a thing.
  bool TooManyDefaults() {
    std::size_t values = 0;
    for (const auto& [kind, entries] : sections_) {
      if (!kind->takes_defaults()) continue;
      for (const YamlEntry& entry : entries) {
        const YamlNodePtr& defaults = scopes_.DefaultsOf(*entry.key->file);
        if (defaults == nullptr) continue;
        values += defaults->size;
        if (values <= kMostDefaultValues) continue;
        problems_.Add(
            DiagnosticAt(*defaults, defaults->Place(),
                         fmt::format("`defaults` has {} values, which are too many for {} {}s",
                                     defaults->size, entries.size(), kind->codec().noun())));
        return true;
      }
    }
    return false;
  }

  void ReadJobs(ValueReader& reader, Spec& spec) {
    if (jobs_.size() > kMostJobs) {
      problems_.AddForFile(
          "", fmt::format("{} jobs are too many, {} at most", jobs_.size(), kMostJobs));
      return;
    }
    std::map<std::string, const Declared*> pods;
    for (const Declared& declared : spec.declared) {
      if (declared.wanted.kind()->HostOf(declared)) pods[declared.address.name] = &declared;
    }
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
    const std::string key(kind.section());
    const auto section_at = [&](const DefaultPlace& place, std::vector<std::string>* lacks) {
      return Section{reader, files_, key, place.project, place.zone, lacks};
    };
    if (kind.takes_defaults()) {
      for (const YamlNodePtr& defaults : scopes_.all_defaults()) {
        std::vector<std::string> lacks;
        kind.CheckDefaults(*defaults, section_at(scopes_.place(), &lacks));
        reader.TakeReferences();
      }
    }
    const std::vector<YamlEntry>& entries = sections_[&kind];
    spec.declared.reserve(spec.declared.size() + entries.size());
    std::map<std::string, const YamlNode*> names;
    std::map<std::string, std::vector<const YamlNode*>> lacking;  // keys, by what they lack
    for (const YamlEntry& entry : entries) {
      const auto [it, is_new] = names.emplace(entry.key->text, entry.key.get());
      if (!is_new) {
        reader.Conflict(
            *entry.key, {key, entry.key->text},
            fmt::format("the {} `{}` is defined twice", kind.codec().noun(), entry.key->text),
            *it->second, "first defined here");
        continue;
      }
      const YamlNodePtr& defaults = scopes_.DefaultsOf(*entry.key->file);
      YamlEntry merged = entry;
      if (kind.takes_defaults() && defaults != nullptr) {
        merged.value = MergeUnder(defaults, entry.value);
      }
      std::vector<std::string> lacks;
      spec.declared.push_back(
          kind.Read(merged, section_at(scopes_.PlaceOf(*entry.key->file), &lacks)));
      PODCTL_CHECK(spec.declared.back().wanted.kind() == &kind);
      references_.push_back(reader.TakeReferences());
      for (const std::string& what : lacks) lacking[what].push_back(entry.key.get());
    }
    for (const auto& [what, keys] : lacking) ReportLacking(kind, what, keys);
  }

  // One problem for all of a kind: they share the cure.
  void ReportLacking(const Kind& kind, const std::string& what,
                     const std::vector<const YamlNode*>& keys) {
    const YamlNode& first = *keys.front();
    std::string summary =
        fmt::format("no {} for the {} `{}`", what, kind.codec().noun(), first.text);
    if (keys.size() > 1) summary += fmt::format(" and {} more", keys.size() - 1);
    Diagnostic diagnostic = DiagnosticAt(first, first.Place(), std::move(summary));
    diagnostic.context = kind.section();
    diagnostic.suggestion = scopes_.Cure(what);
    if (diagnostic.suggestion.empty()) {
      diagnostic.suggestion = what == "project" ? "set `project`, --project or PODCTL_PROJECT"
                                                : "set `zone`, or --zone";
    }
    problems_.Add(std::move(diagnostic));
  }

  std::vector<std::string> ReferenceTargets() const {
    std::vector<std::string> targets;
    for (const Kind* kind : options_.kinds.all) {
      if (!kind->published().empty()) targets.emplace_back(kind->name());
    }
    return targets;
  }

  void ReportConflicts(const Spec& spec) {
    for (const Kind* kind : options_.kinds.all) {
      for (Diagnostic& conflict : kind->Conflicts(DeclaredIn(spec, *kind))) {
        conflict.source_line = SourceLine(conflict.place);
        for (RelatedPlace& related : conflict.related) {
          related.source_line = SourceLine(related.place);
        }
        problems_.Add(std::move(conflict));
      }
    }
  }

  std::string SourceLine(const SourcePlace& place) const {
    for (const SpecDocument& document : documents_) {
      if (document.file->name() == place.file) return document.file->ShownLine(place.line);
    }
    return {};
  }

  void ReadMoves(ValueReader& reader, Spec& spec) {
    MovesReader moves(reader, options_.kinds.all);
    for (const YamlNodePtr& list : moved_) moves.Read(*list);
    std::set<Address> declared;
    if (!moved_.empty()) {
      for (const Declared& each : spec.declared) declared.insert(each.address);
    }
    spec.moved = moves.Take(declared);
  }

  // An unfinished file must not read as "delete everything".
  void ReportMissingSection() {
    if (has_section_ || options_.may_lack_pods || options_.kinds.all.empty()) return;
    for (const SpecDocument& document : documents_) {
      if (document.root == nullptr) return;
    }
    if (documents_.empty()) return;
    const std::string_view first = options_.kinds.all.front()->section();
    problems_.AddForFile(documents_.front().file->name(), fmt::format("there is no `{}`", first),
                         fmt::format("write `{}: {{}}` for none", first));
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
  std::vector<YamlEntry> jobs_;
  std::map<const Kind*, std::vector<YamlEntry>> sections_;
  std::vector<std::vector<FoundReference>> references_;  // of Spec::declared, one after the other
  std::vector<YamlNodePtr> moved_;
  Variables variables_;
  bool has_section_ = false;
};

}  // namespace

Spec LoadSpec(const LoadOptions& options, FileSystem& files, const Environment& environment,
              Diagnostics& diagnostics) {
  return Loader(options, files, environment).Load(diagnostics);
}

}  // namespace podctl

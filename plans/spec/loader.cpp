#include "plans/spec/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "plans/spec/dependencies.h"
#include "plans/spec/job_reader.h"
#include "plans/spec/local_files.h"
#include "plans/spec/moves_reader.h"
#include "plans/spec/names.h"
#include "plans/spec/prices_reader.h"
#include "plans/spec/schema.h"
#include "plans/spec/spec_files.h"
#include "plans/spec/variables.h"
#include "providers/base/digest.h"
#include "providers/base/text.h"
#include "state/store.h"
#include "state/thing_name.h"

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
      : options_(options),
        files_(files),
        environment_(environment),
        withheld_(options.withheld ? options.withheld : std::make_shared<WithheldFiles>()) {}

  Spec Load(Diagnostics& diagnostics) {
    Spec spec;
    documents_ = ReadSpecFiles(options_.paths, SpecSearch{options_.recursive, options_.var_files},
                               files_, problems_, options_.texts);
    DropPriceFiles();
    for (const SpecDocument& document : documents_) {
      spec.files.push_back(document.file->name());
      if (document.root == nullptr || IsPriceFile(*document.root)) continue;
      // Most specs name none, and to walk through all of a large one for it takes its time. With a
      // backslash the key may be written in escapes.
      const std::string& text = document.file->text();
      if (text.find("identityFile") != text.npos || text.find('\\') != text.npos) {
        WithholdKeys(*document.root);
      }
      scopes_.Add(*document.root, options_.kinds.all);
      ReadTop(*document.root);
    }
    LoadVariables();
    ReadSections(spec);
    spec.digest = DigestOfFiles();
    spec.withheld = withheld_;
    for (const auto& [name, variable] : variables_) {
      if (variable.value) spec.variables[name] = {*variable.value, variable.sensitive};
    }
    problems_.MoveTo(diagnostics);
    return spec;
  }

 private:
  // A folder's prices lie beside its specs, and are none.
  void DropPriceFiles() {
    const auto prices_of = [](const SpecDocument& document) {
      return document.root == nullptr ? nullptr : document.root->Find("prices");
    };
    std::set<std::string> named;
    for (const SpecDocument& document : documents_) {
      const YamlEntry* prices = prices_of(document);
      if (prices != nullptr) named.insert(PathFromSpec(*prices->value, prices->value->text));
    }
    // One that names itself is a spec: without it all would be destroyed.
    std::erase_if(documents_, [&](const SpecDocument& one) {
      return prices_of(one) == nullptr && named.contains(one.file->name());
    });
  }

  // One that no spec names, given as if it were one.
  bool IsPriceFile(const YamlNode& root) {
    if (!LooksLikePrices(root)) return false;
    has_section_ = true;  // there is nothing else to be said of it
    Diagnostic problem = DiagnosticAt(root, root.Place(), "this is a file of prices, and no spec");
    problem.suggestion =
        fmt::format("a spec names it, and is checked together with it: `prices: ./{}`",
                    std::string_view(root.file->name()).substr(root.file->name().rfind('/') + 1));
    problems_.Add(std::move(problem));
    return true;
  }

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

  // Before anything is read that may name one of them, wherever it stands. One whose name is put
  // together from variables is known by its default place alone.
  void WithholdKeys(const YamlNode& node) {
    for (const YamlEntry& entry : node.entries) {
      const YamlNode& value = *entry.value;
      const bool is_key = entry.key->text == "identityFile" && value.is_scalar();
      if (is_key && !value.text.empty() && value.text.find("${") == std::string::npos) {
        withheld_->AddCredential(PathFromSpec(value, value.text));
      }
      WithholdKeys(value);
    }
    for (const YamlNodePtr& item : node.items) WithholdKeys(*item);
  }

  void ReadTop(const YamlNode& root) {
    ValueReader reader(variables_, environment_, problems_);
    for (const YamlEntry& entry : root.entries) {
      const std::string& key = entry.key->text;
      if (key == "project" || key == "zone" || key == "defaults") continue;  // of scopes_
      if (key == "state") {
        states_.push_back(entry);
      } else if (key == "prices") {
        prices_.push_back(entry);
      } else if (key == "maxCost") {
        max_costs_.push_back(entry);
      } else if (key == "variables" || key == "jobs") {
        Collect(reader, entry, key == "jobs" ? jobs_ : declarations_);
      } else if (key == "stateOf") {
        Collect(reader, entry, other_states_);
      } else if (key == "moved") {
        moved_.push_back(entry.value);
      } else if (const Kind* kind = KindOf(key)) {
        has_section_ = has_section_ || !kind->codec().is_value();
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

  // A pod's key at the top is a pod written without `pods:` above it, or a default.
  void ReportUnknown(ValueReader& reader, const YamlNode& key) {
    for (const Kind* kind : options_.kinds.all) {
      if (!kind->takes_defaults() || !kind->HasKey(key.text)) continue;
      return reader.Error(
          key, {"", key.text}, fmt::format("unknown key {}", FoundWords(key)),
          fmt::format("it belongs to a {}, or under `defaults`", kind->codec().noun()));
    }
    if (top_keys_.empty()) top_keys_ = SpecShape(options_.kinds.all).Names();
    if (!has_section_ && !reader.has_enough()) {
      // Of `pod:` it is not said that there are no `pods`, too.
      const Kind* meant = KindOf(SuggestWord(key.text, top_keys_));
      has_section_ = meant != nullptr && !meant->codec().is_value();
    }
    reader.UnknownKey(key, "", top_keys_);
  }

  void LoadVariables() {
    std::vector<YamlNodePtr> variable_files;
    for (const std::string& path : options_.var_files) {
      const SpecDocument& document =
          variable_documents_.emplace_back(ReadVariableFile(path, files_, problems_));
      if (document.root != nullptr) variable_files.push_back(document.root);
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
      const std::string path = StatePlace(reader, node, *state);
      if (first == nullptr) {
        first = &entry;
        spec.state = path;
        spec.state_place = node.Place();
      } else if (path != spec.state) {
        reader.Conflict(*entry.key, {"", "state"},
                        fmt::format("`state` has two values: {} and {}", spec.state, path),
                        *first->key, "the other one is here");
      }
    }
  }

  // Likewise.
  void ReadPricesAndLimit(ValueReader& reader, Spec& spec) {
    const YamlEntry* first = nullptr;
    std::string path;
    for (const YamlEntry& entry : prices_) {
      const auto text = reader.ReadPlain(*entry.value, {"", "prices"});
      if (!text) continue;
      const std::string each = PathFromSpec(*entry.value, *text);
      if (first == nullptr) {
        first = &entry;
        path = each;
        ReadPriceFile(*entry.value, path, spec);
      } else if (each != path) {
        reader.Conflict(*entry.key, {"", "prices"},
                        fmt::format("`prices` has two values: {} and {}", path, each), *first->key,
                        "the other one is here");
      }
    }
    const YamlEntry* limited = nullptr;
    for (const YamlEntry& entry : max_costs_) {
      auto limit = ReadCostLimit(*entry.value, {"", "maxCost"}, reader);
      if (!limit) continue;
      if (limited != nullptr && limit->text != spec.max_cost->text) {
        reader.Conflict(
            *entry.key, {"", "maxCost"},
            fmt::format("`maxCost` has two values: {} and {}", spec.max_cost->text, limit->text),
            *limited->key, "the other one is here");
      }
      if (limited == nullptr) {
        limited = &entry;
        spec.max_cost = std::move(limit);
      }
    }
    if (limited != nullptr && prices_.empty()) {
      reader.Error(*limited->key, {"", "maxCost"}, "`maxCost` cannot be kept without prices",
                   "name a file of them: `prices: ./prices.yaml`");
    }
  }

  // It may be shared by many specs, which have other variables. No message shows its lines: who
  // writes a spec may name any file here.
  void ReadPriceFile(const YamlNode& node, const std::string& path, Spec& spec) {
    if (const std::string why = withheld_->Why(path); !why.empty()) {
      problems_.Add(DiagnosticAt(
          node, node.Place(), fmt::format("the file `{}` {}: a spec cannot read it", path, why)));
      return;
    }
    if (!files_.Stat(path)) {
      Diagnostic problem =
          DiagnosticAt(node, node.Place(), fmt::format("there is no file `{}`", path));
      problem.context = "prices";
      problem.suggestion = "name one with the prices of chips, from the folder of this spec";
      problems_.Add(std::move(problem));
      return;
    }
    price_document_ = ReadVariableFile(path, files_, problems_);
    if (price_document_.root == nullptr) return;
    const Variables none;
    ValueReader reader(none, environment_, problems_);
    spec.prices = ReadPrices(*price_document_.root, options_.last_day, reader);
  }

  std::string StatePlace(ValueReader& reader, const YamlNode& node, const std::string& state) {
    if (const std::string meant = MeantStateUrl(state); !meant.empty()) {
      reader.Error(node, {"", "state"}, fmt::format("`{}` is neither a path nor a URL", state),
                   fmt::format("did you mean `{}`? A file of that name is `./{}`", meant, state));
      return state;
    }
    if (!IsStateUrl(state)) {
      std::string path = PathFromSpec(node, state);
      withheld_->AddState(path);
      return path;
    }
    const Result<std::string> url =
        options_.state_url ? options_.state_url(state) : Result<std::string>(state);
    if (url) return *url;
    reader.Error(node, {"", "state"}, url.error().message, url.error().hint);
    return state;
  }

  void ReadOtherStates(ValueReader& reader, Spec& spec) {
    std::map<std::string, const YamlNode*> names;
    std::set<std::string> known;
    for (const YamlEntry& entry : other_states_) {
      const YamlNode& key = *entry.key;
      if (!IsFirst(reader, entry, "stateOf", "state", &names)) continue;
      if (!IsThingName(key.text)) {
        reader.Error(key, {"stateOf", key.text},
                     fmt::format("{} is no name for a state", FoundWords(key)),
                     "letters, digits, - and _");
        continue;
      }
      known.insert(key.text);
      const auto where = reader.ReadPlain(*entry.value, {"stateOf", key.text});
      if (!where) continue;
      std::string place = StatePlace(reader, *entry.value, *where);
      spec.other_states.push_back({key.text, std::move(place), key.Place()});
    }
    reader.UseStates(std::move(known), options_.other_outputs.get());
  }

  void ReadSections(Spec& spec) {
    ValueReader reader(variables_, environment_, problems_, ReferenceTargets(), withheld_.get());
    scopes_.Settle(reader, {options_.project, options_.zone});
    spec.project = scopes_.place().project.value_or("");
    spec.zone = scopes_.place().zone.value_or("");
    if (options_.zone && spec.zone == *options_.zone) CheckFallbackZone();
    ReadState(reader, spec);
    ReadOtherStates(reader, spec);
    ReadPricesAndLimit(reader, spec);
    if (TooManyThings() || TooManyDefaults()) return;
    ReportMissingSection();
    for (const Kind* kind : options_.kinds.all) ReadSection(*kind, reader, spec);
    spec.moved = ReadMoves(moved_, spec.declared, options_.kinds.all, reader);
    ResolveReferences(references_, options_.kinds.all, reader, &spec.declared);
    for (Declared& declared : spec.declared) declared.wanted.kind()->Resolved(&declared);
    ReportConflicts(spec);
    ReadJobs(reader, spec);
  }

  // The zone that no file says: as one in a file, but for its place.
  void CheckFallbackZone() {
    const auto problem = JudgeZone(*options_.zone);
    if (!problem) return;
    Diagnostic diagnostic;
    diagnostic.severity = problem->is_error ? Severity::kError : Severity::kWarning;
    diagnostic.summary = fmt::format("{}: {}", options_.zone_from, problem->summary);
    diagnostic.detail = Sentence(problem->suggestion);
    problems_.Add(std::move(diagnostic));
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
    LocalFiles local{files_, {}};
    for (const Declared& declared : spec.declared) {
      const Kind& kind = *declared.wanted.kind();
      if (kind.HostOf(declared)) pods[declared.address.name] = &declared;
      std::string made = kind.MadeFile(declared);
      if (!made.empty()) local.made.push_back(std::move(made));
    }
    std::map<std::string, const YamlNode*> names;
    for (const YamlEntry& entry : jobs_) {
      if (!IsFirst(reader, entry, "jobs", "job", &names)) continue;
      spec.jobs.push_back(ReadJob(*entry.key, *entry.value, pods, local, reader));
    }
  }

  // False after a report.
  static bool IsFirst(ValueReader& reader, const YamlEntry& entry, const std::string& section,
                      std::string_view noun, std::map<std::string, const YamlNode*>* names) {
    const std::string& name = entry.key->text;
    const auto [it, is_new] = names->emplace(name, entry.key.get());
    if (!is_new) {
      reader.Conflict(*entry.key, {section, name},
                      fmt::format("the {} `{}` is defined twice", noun, name), *it->second,
                      "first defined here");
    }
    return is_new;
  }

  // A thing whose keys stand beside its name, and not below it, is one problem: they are read as
  // its own.
  std::vector<YamlEntry> Straightened(const Kind& kind, const std::string& section,
                                      ValueReader& reader) {
    std::vector<YamlEntry> entries = sections_[&kind];
    for (std::size_t i = 0; i + 1 < entries.size(); ++i) {
      const YamlNode& name = *entries[i].key;
      const YamlNode& first = *entries[i + 1].key;
      if (!entries[i].value->is_null() || !kind.HasKey(first.text)) continue;
      std::size_t end = i + 1;
      while (end < entries.size() && !entries[end].value->is_null()) ++end;
      reader.Error(first, {section, name.text},
                   fmt::format("`{}` stands beside the {} `{}`, and not below it", first.text,
                               kind.codec().noun(), name.text),
                   fmt::format("indent the keys of `{}` by two more blanks", name.text));
      auto map = std::make_shared<YamlNode>(*entries[i].value);
      map->kind = YamlNode::Kind::kMap;
      const auto from = entries.begin() + static_cast<std::ptrdiff_t>(i) + 1;
      const auto to = entries.begin() + static_cast<std::ptrdiff_t>(end);
      map->entries.assign(from, to);
      entries.erase(from, to);
      entries[i].value = std::move(map);
    }
    return entries;
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
    const std::vector<YamlEntry> entries = Straightened(kind, key, reader);
    spec.declared.reserve(spec.declared.size() + entries.size());
    std::map<std::string, const YamlNode*> names;
    std::map<std::string, std::vector<const YamlNode*>> lacking;  // keys, by what they lack
    for (const YamlEntry& entry : entries) {
      if (!IsFirst(reader, entry, key, kind.codec().noun(), &names)) continue;
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
    for (const auto& [what, keys] : lacking) ReportLacking(reader, kind, what, keys);
  }

  // One problem for all of a kind: they share the cure.
  void ReportLacking(ValueReader& reader, const Kind& kind, const std::string& what,
                     const std::vector<const YamlNode*>& keys) {
    const YamlNode& first = *keys.front();
    std::string summary =
        fmt::format("no {} for the {} `{}`", what, kind.codec().noun(), first.text);
    if (keys.size() > 1) summary += fmt::format(" and {} more", keys.size() - 1);
    std::string cure = scopes_.Cure(what);
    if (cure.empty()) {
      cure = what == "project" ? "set `project`, --project or PODCTL_PROJECT"
                               : "set `zone`, or --zone";
    }
    reader.Error(first, {std::string(kind.section()), what}, std::move(summary), std::move(cure));
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
  const std::shared_ptr<WithheldFiles> withheld_;
  Problems problems_;
  std::vector<std::string> top_keys_;  // once one was asked for that there is not
  std::vector<SpecDocument> documents_;
  std::vector<SpecDocument> variable_documents_;
  SpecDocument price_document_;
  FileScopes scopes_;
  std::vector<YamlEntry> states_;
  std::vector<YamlEntry> other_states_;
  std::vector<YamlEntry> prices_;
  std::vector<YamlEntry> max_costs_;
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

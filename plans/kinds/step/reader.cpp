#include "plans/kinds/step/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "plans/kinds/step/record.h"
#include "plans/spec/local_files.h"
#include "plans/spec/runtime_flags.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"

namespace podctl {
namespace {

constexpr std::string_view kWorkersHint = "`all`, or numbers and ranges such as \"0,2-3\"";

// podctl's own step, the restart after a change of flags, has this name.
// podctl's own steps.
constexpr std::string_view kReservedNames[] = {kRuntimeStepName, kReadinessStepName};
constexpr std::size_t kMostWorkerItems = 10'000;
constexpr TextRules kStepText{.pods = true, .secrets = true};
constexpr TextRules kScript{.pods = true, .secrets = true, .use = ReferenceUse::kShellText};

constexpr Pattern kStepName{"(?!(?:tpu-runtime|readiness)$)[a-z0-9-]{1,63}",
                            "lower-case letters, digits and -, and no name of podctl's own steps",
                            "integer boolean"};
constexpr Pattern kXrtVersion{"[A-Za-z0-9._+-]{1,100}", "a version, such as 1.15.0",
                              "number boolean"};

Shape StepFileShape() {
  return shape::Map(
      {shape::Required("source", "A file or folder beside the spec.", shape::Text().Within(1, 0)),
       shape::Required("destination", "Where it is put on the worker.",
                       shape::Text().Within(1, 0))});
}

Shape MakeStepShape() {
  return shape::Map(
             {shape::Required("name", "The step's name: lower-case letters, digits and -.",
                              shape::Text().Like(kStepName)),
              {"workers", "Where it runs: `all`, unless given, or numbers and ranges, `[0, 2-3]`.",
               shape::Either({shape::Workers(),
                              shape::ListOf(shape::Workers()).Within(1, kMostWorkerItems)})},
              {"run",
               "A script, run with bash where the worker has it (else sh) and `-e`, from the home "
               "folder.",
               shape::ThingText().Within(1, 0)},
              {"env", "Variables for it.",
               shape::MapOf(kEnvironmentNamePattern, shape::ThingText())},
              {"files", "Copied before the script runs.", shape::ListOf(StepFileShape())},
              {"timeout", "Of the script on each worker; without it there is no limit.",
               shape::Duration()},
              {"xrtVersion", "In place of `run`: asks for a version of XRT.",
               shape::Text().Like(kXrtVersion)}})
      .Named("step")
      .NotBoth("xrtVersion", "run")
      .NotBoth("xrtVersion", "env")
      .NotBoth("xrtVersion", "files")
      .NeedsOneOf({"run", "files", "xrtVersion"});
}

// Of one step.
const Shape& StepShape() {
  return BootstrapShape().of.front();
}

bool IsStepName(std::string_view name) {
  constexpr std::size_t kLongest = 63;
  return !name.empty() && name.size() <= kLongest &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

class StepReader {
 public:
  StepReader(ValueReader& reader, FileSystem& files) : reader_(reader), files_(files) {}

  std::vector<StepSpec> Read(const YamlEntry& bootstrap, const Slot& slot) {
    std::vector<StepSpec> steps;
    if (!reader_.ExpectList(*bootstrap.value, slot)) return steps;
    const std::size_t most = BootstrapShape().most;
    if (bootstrap.value->items.size() > most) {
      reader_.Error(*bootstrap.key, slot, fmt::format("more than {} steps", most));
      return steps;
    }
    std::map<std::string, const YamlNode*> names;
    for (std::size_t i = 0; i < bootstrap.value->items.size(); ++i) {
      const YamlNode& node = *bootstrap.value->items[i];
      const Slot below{slot.context, fmt::format("bootstrap[{}]", i)};
      if (!reader_.ExpectMap(node, below)) continue;
      auto step = ReadStep(node, below);
      if (!step) continue;
      const YamlNode& name = *node.Find("name")->value;
      const auto [it, is_new] = names.emplace(step->name, &name);
      if (!is_new) {
        reader_.Conflict(name, below, fmt::format("two steps are called `{}`", step->name),
                         *it->second, "first defined here");
        continue;
      }
      steps.push_back(std::move(*step));
    }
    return steps;
  }

 private:
  // nullopt when the step has no usable name; other problems leave the rest of it readable.
  std::optional<StepSpec> ReadStep(const YamlNode& node, const Slot& slot) {
    StepSpec step;
    step.place = node.Place();
    for (const YamlEntry& entry : node.entries) {
      if (reader_.KnownKey(*entry.key, slot.Path(), StepShape()) == nullptr) continue;
      ReadKey(entry, slot.Below(entry.key->text), step);
    }
    const YamlEntry* files = node.Find("files");
    const bool has_files =
        files != nullptr && (!files->value->is_list() || !files->value->items.empty());
    const YamlEntry* xrt = node.Find("xrtVersion");
    if (xrt != nullptr) {
      // It asks a question and runs nothing, so there is nothing that they would be for.
      for (const char* key : {"run", "env", "files"}) {
        const YamlEntry* other = node.Find(key);
        if (other == nullptr) continue;
        reader_.Conflict(*xrt->key, slot.Below("xrtVersion"),
                         fmt::format("`xrtVersion` and `{}` cannot be in one step", key),
                         *other->key, "make it a step of its own");
      }
    } else if (node.Find("run") == nullptr && !has_files) {
      reader_.Error(node, slot, "a step that does nothing", "give it `run` or `files`");
    }
    const YamlEntry* name = node.Find("name");
    if (name == nullptr) {
      reader_.Error(node, slot, "a step without a name", "give it a `name`");
      return std::nullopt;
    }
    if (step.name.empty()) return std::nullopt;
    step.place = name->value->Place();
    return step;
  }

  void ReadKey(const YamlEntry& entry, const Slot& slot, StepSpec& step) {
    const std::string& key = entry.key->text;
    const YamlNode& value = *entry.value;
    if (key == "name") {
      const auto name = reader_.ReadPlain(value, slot);
      if (!name) return;
      if (std::find(std::begin(kReservedNames), std::end(kReservedNames), *name) !=
          std::end(kReservedNames)) {
        reader_.Error(value, slot, fmt::format("the name `{}` is podctl's own", *name),
                      "choose another");
      } else if (!IsStepName(*name)) {
        reader_.Error(value, slot, fmt::format("{} is no name for a step", FoundWords(value)),
                      "lower-case letters, digits and -");
      } else {
        step.name = *name;
      }
    } else if (key == "workers") {
      ReadWorkers(value, slot, step);
    } else if (key == "run") {
      if (auto text = reader_.ReadText(value, slot, kScript)) {
        step.run = std::move(text->text);
        step.sensitive = step.sensitive || text->sensitive;
      }
      if (value.is_scalar() && TrimBlanks(value.text).empty()) {
        reader_.Error(value, slot, "`run` is empty");
      }
    } else if (key == "xrtVersion") {
      ReadXrtVersion(value, slot, step);
    } else if (key == "env") {
      ReadVariables(value, slot, step);
    } else if (key == "files") {
      ReadFiles(value, slot, step);
    } else {
      step.timeout = reader_.ReadDuration(value, slot).value_or(step.timeout);
    }
  }

  // It becomes a part of a URL and of a shell's text as it stands.
  void ReadXrtVersion(const YamlNode& node, const Slot& slot, StepSpec& step) {
    constexpr std::size_t kLongest = 100;
    const auto version = reader_.ReadPlain(node, slot);
    if (!version) return;
    const bool is_version =
        !version->empty() && version->size() <= kLongest &&
        std::all_of(version->begin(), version->end(), [](unsigned char c) {
          return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == '+';
        });
    if (is_version) {
      step.xrt_version = *version;
    } else {
      reader_.Error(node, slot, fmt::format("{} is no version of XRT", FoundWords(node)),
                    "such as \"1.15.0\"");
    }
  }

  // False when it was not understood, which is then told.
  bool ReadWorkerItem(const YamlNode& item, const Slot& slot, WorkerSelection& selection) {
    std::string wrong = fmt::format("{} names no workers", FoundWords(item));
    if (item.is_scalar()) {
      const auto text = reader_.ReadPlain(item, slot);
      if (!text) return false;
      const auto read = WorkerSelection::Parse(*text);
      const auto added = read ? selection.Add(*read) : Result<void>(read.error());
      if (added) return true;
      if (*text == item.text) wrong = added.error().message;
    }
    reader_.Error(item, slot, wrong, std::string(kWorkersHint));
    return false;
  }

  void ReadWorkers(const YamlNode& node, const Slot& slot, StepSpec& step) {
    if (node.is_scalar() && node.text == "all") return;
    WorkerSelection selection;
    if (node.is_list()) {
      if (node.items.empty() || node.items.size() > kMostWorkerItems) {
        reader_.Error(node, slot, node.items.empty() ? "no workers" : "too many items",
                      std::string(kWorkersHint));
        return;
      }
      bool understood = true;
      for (const YamlNodePtr& item : node.items) {
        understood = ReadWorkerItem(*item, slot, selection) && understood;
      }
      if (!understood) return;
    } else if (!ReadWorkerItem(node, slot, selection)) {
      return;
    }
    if (selection.NamesSlices()) {
      step.workers_by_slice = selection.Text();
      return;
    }
    auto workers = selection.Named();
    if (!workers) {
      reader_.Error(node, slot, "how many workers there are is not known yet",
                    "a range first: \"0-63,!7\"");
    } else if (workers->empty()) {
      reader_.Error(node, slot, "the selection leaves no worker", std::string(kWorkersHint));
    } else {
      step.workers = std::move(*workers);
    }
  }

  void ReadVariables(const YamlNode& node, const Slot& slot, StepSpec& step) {
    if (!reader_.ExpectMap(node, slot)) return;
    for (const YamlEntry& entry : node.entries) {
      const Slot below = slot.Below(entry.key->text);
      if (!IsEnvironmentName(entry.key->text)) {
        reader_.Error(*entry.key, below,
                      fmt::format("{} is no name for a variable", FoundWords(*entry.key)),
                      "letters, digits and _");
        continue;
      }
      if (auto text = reader_.ReadText(*entry.value, below, kStepText)) {
        step.env[entry.key->text] = std::move(text->text);
        step.sensitive = step.sensitive || text->sensitive;
      }
    }
  }

  void ReadFiles(const YamlNode& node, const Slot& slot, StepSpec& step) {
    if (!reader_.ExpectList(node, slot)) return;
    const Shape& form = StepShape().At("files").of.front();
    const std::vector<std::string> keys = form.Names();
    std::vector<const YamlNode*> at;
    bool ok = true;
    for (const YamlNodePtr& item : node.items) {
      if (!reader_.ExpectMap(*item, slot)) {
        ok = false;
        continue;
      }
      for (const YamlEntry& entry : item->entries) {
        ok = reader_.KnownKey(*entry.key, slot.Path(), form) != nullptr && ok;
      }
      StepFile file;
      for (const std::string& key : keys) {
        const YamlEntry* entry = item->Find(key);
        const auto text =
            entry == nullptr ? std::nullopt : reader_.ReadPlain(*entry->value, slot.Below(key));
        if (entry == nullptr) {
          reader_.Error(*item, slot, fmt::format("a file without `{}`", key),
                        "{source: PATH, destination: PATH}");
        } else if (text && text->empty()) {
          reader_.Error(*entry->value, slot.Below(key), fmt::format("`{}` is empty", key));
        }
        if (!text || text->empty()) {
          ok = false;
        } else if (key == "source") {
          file.source = PathFromSpec(*entry->value, *text);
        } else {
          file.destination = *text;
        }
      }
      const YamlEntry* source = item->Find("source");
      at.push_back(source == nullptr ? item.get() : source->value.get());
      step.files.push_back(std::move(file));
    }
    if (!ok || step.files.empty()) return;
    step.files_digest = DigestFiles(reader_, files_, step.files, at, slot).value_or("");
  }

  ValueReader& reader_;
  FileSystem& files_;
};

}  // namespace

const Shape& BootstrapShape() {
  static const Shape bootstrap = shape::ListOf(MakeStepShape()).Within(0, 1000);
  return bootstrap;
}

std::vector<StepSpec> ReadSteps(ValueReader& reader, FileSystem& files, const YamlEntry& bootstrap,
                                const Slot& slot) {
  return StepReader(reader, files).Read(bootstrap, slot);
}

}  // namespace podctl

#include "cmd/commands/init.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/views/snippet.h"
#include "plans/from_command/from_command.h"
#include "plans/kinds/training_job/requests.h"
#include "plans/spec/names.h"
#include "plans/spec/schema.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/gcp/available_types.h"
#include "providers/gcp/tpu_schema.h"
#include "templates/catalog.h"

namespace podctl {
namespace {

constexpr const char* kFileName = "podctl.yaml";
constexpr const char* kFormatVersion = "1.0";

void ListTemplates(Streams& streams) {
  if (streams.json) {
    Value::List list;
    for (const Template& item : Templates()) {
      list.push_back(Value::Map{{"name", item.name}, {"description", item.description}});
    }
    Value document = Value::Map{{"format_version", kFormatVersion}, {"templates", std::move(list)}};
    streams.out << ToJson(document) << "\n";
    return;
  }
  std::size_t widest = 0;
  for (const Template& item : Templates()) widest = std::max(widest, item.name.size());
  for (const Template& item : Templates()) {
    streams.out << fmt::format("{:<{}}  {}\n", item.name, widest, item.description);
  }
}

// `file` below `folder`, as a user would write it.
std::string PathIn(const std::string& folder, std::string_view file) {
  if (folder.empty() || folder == ".") return std::string(file);
  return fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", file);
}

// Nothing is written where one of the files is there already, but for the schema: another spec of
// the folder may have brought it. The paths that were written, the spec's own last.
Result<std::vector<std::string>> WriteFiles(std::string_view spec,
                                            std::span<const TemplateFile> others,
                                            const InitOptions& options, FileSystem& files) {
  constexpr unsigned kMode = 0644;
  const std::string& folder = options.folder;
  const std::string named = options.schema.empty() ? "" : kSchemaLine;
  const std::string whole = named + std::string(spec);
  std::vector<TemplateFile> all(others.begin(), others.end());
  const bool has_schema = files.Stat(PathIn(folder, kSchemaFile)).has_value();
  if (!named.empty() && !has_schema) all.push_back({kSchemaFile, options.schema});
  all.push_back({kFileName, whole});
  for (const TemplateFile& file : all) {
    const std::string path = PathIn(folder, file.path);
    // A link that leads nowhere is there as well. One in the place of a folder in between would
    // have files written where it leads.
    for (std::string part = path; part.size() > folder.size() && part != ".";
         part = FolderOf(part)) {
      const auto end = files.FollowLinks(part);
      if (end && *end == part) continue;
      return MakeError(ErrorCode::kAlreadyExists,
                       fmt::format("`{}` is a symbolic link, and is left as it is", part),
                       "name another folder: podctl init DIR");
    }
    if (!files.Stat(path)) continue;
    return MakeError(ErrorCode::kAlreadyExists,
                     fmt::format("`{}` is there already and is left as it is", path),
                     "name another folder: podctl init DIR");
  }
  std::vector<std::string> written;
  for (const TemplateFile& file : all) {
    const std::string path = PathIn(folder, file.path);
    if (const auto slash = path.rfind('/'); slash != std::string::npos && slash > 0) {
      if (auto made = files.MakeFolders(path.substr(0, slash)); !made) return made.error();
    }
    if (auto done = files.WriteNew(path, file.text, kMode); !done) return done.error();
    written.push_back(path);
  }
  return written;
}

void Warn(std::string summary, std::string detail, Streams& streams) {
  Diagnostic diagnostic;
  diagnostic.severity = Severity::kWarning;
  diagnostic.summary = std::move(summary);
  diagnostic.detail = std::move(detail);
  streams.err << FormatDiagnostic(diagnostic,
                                  {streams.color && streams.err_is_terminal, streams.width});
}

// What --project and --zone say, which become lines of a spec as they stand.
Result<void> CheckPlace(const InitOptions& options, Streams& streams) {
  if (options.project && !gcp::IsProjectId(*options.project)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("--project: `{}` is no project id", *options.project),
                     "lower-case letters, digits and -");
  }
  const auto problem = options.zone ? JudgeZone(*options.zone) : std::nullopt;
  if (!problem) return {};
  const std::string summary = "--zone: " + problem->summary;
  if (problem->is_error) {
    return MakeError(ErrorCode::kInvalidArgument, summary, problem->suggestion);
  }
  Warn(summary, problem->suggestion, streams);
  return {};
}

// The line of `text` that begins with `key:`; npos where there is none.
std::size_t FindLine(const std::string& text, const std::string& key) {
  if (text.starts_with(key + ":")) return 0;
  const auto at = text.find("\n" + key + ":");
  return at == std::string::npos ? at : at + 1;
}

// A template's spec with what was said in place of its own project and zone. One that names no zone
// gets it below the project.
std::string WithPlace(std::string text, const InitOptions& options) {
  const auto replace = [&text](const std::string& key, const std::string& value) {
    const auto at = FindLine(text, key);
    if (at == std::string::npos) return false;
    text.replace(at, text.find('\n', at) - at, key + ": " + value);
    return true;
  };
  if (options.project) replace("project", *options.project);
  if (!options.zone || replace("zone", *options.zone)) return text;
  const auto project = FindLine(text, "project");
  const auto behind = project == std::string::npos ? 0 : text.find('\n', project) + 1;
  return text.insert(behind, fmt::format("zone: {}\n", *options.zone));
}

// The zone of a line, which becomes one of the spec.
Result<void> CheckZoneOf(const std::string& text, Streams& streams) {
  constexpr std::string_view kKey = "zone: ";
  const auto at = FindLine(text, "zone");
  if (at == std::string::npos || text.compare(at, kKey.size(), kKey) != 0) return {};
  const auto from = at + kKey.size();
  const auto problem = JudgeZone(text.substr(from, text.find('\n', from) - from));
  if (!problem) return {};
  if (problem->is_error) {
    return MakeError(ErrorCode::kInvalidArgument, "the line: " + problem->summary,
                     problem->suggestion);
  }
  Warn("the line: " + problem->summary, problem->suggestion, streams);
  return {};
}

// A line of another tool that names a place keeps it, and nobody is to think otherwise.
Result<void> CheckSaysPlace(const std::string& text, const InitOptions& options) {
  for (const auto& [key, wanted] :
       {std::pair("project", &options.project), {"zone", &options.zone}}) {
    if (!*wanted) continue;
    const auto at = FindLine(text, key);
    if (at == std::string::npos) continue;
    const std::string line = text.substr(at, text.find('\n', at) - at);
    if (line == fmt::format("{}: {}", key, **wanted)) continue;
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("the line says `{}`, and --{} says `{}`", line, key, **wanted),
                     "leave one of them out");
  }
  return {};
}

// The first accelerator type of a spec that `zone` is not documented to have; "" where there is
// none, or nothing is documented.
std::string TypeFromElsewhere(const std::string& spec, const std::string& zone) {
  const auto types = gcp::BuiltInTypes(zone);
  constexpr std::string_view kKey = "acceleratorType: ";
  for (auto at = spec.find(kKey); !types.empty() && at != std::string::npos;
       at = spec.find(kKey, at + 1)) {
    const auto from = at + kKey.size();
    std::string type = spec.substr(from, spec.find_first_of(" ,}\n", from) - from);
    const auto is_it = [&](const gcp::AvailableType& known) { return known.type == type; };
    if (std::none_of(types.begin(), types.end(), is_it)) return type;
  }
  return {};
}

std::string WroteOther(const std::string& path) {
  const bool is_schema = path.ends_with(kSchemaFile);
  return fmt::format("Wrote {}{}\n", path, is_schema ? ", by which editors check the spec" : "");
}

std::string WhatIsToBeSet(const InitOptions& options, const std::string& spec) {
  std::string text = options.project && options.zone ? ""
                     : options.project               ? "set the spec's zone"
                     : options.zone                  ? "set the spec's project"
                                                     : "set the spec's project and zone";
  const std::string type = options.zone ? TypeFromElsewhere(spec, *options.zone) : "";
  if (type.empty()) return text.empty() ? "look it over" : text;
  if (!text.empty()) text += ", ";
  return text + fmt::format(
                    "put another type in place of {0} (`podctl types --zone {1}` lists what "
                    "{1} has)",
                    type, *options.zone);
}

}  // namespace

Result<void> RunInit(const InitOptions& options, FileSystem& files, Streams& streams) {
  if (options.list) {
    ListTemplates(streams);
    return {};
  }
  if (auto clear = CheckPlace(options, streams); !clear) return clear;
  if (!options.from_command.empty()) return RunInitFromCommand(options, files, streams);
  const Template* chosen =
      options.forge.empty() ? FindTemplate(options.template_name) : FindPipeline(options.forge);
  if (chosen == nullptr) {
    std::vector<std::string> names;
    for (const Template& item : Templates()) names.emplace_back(item.name);
    const std::string near = NearestWord(options.template_name, names);
    return MakeError(
        ErrorCode::kNotFound, fmt::format("there is no template `{}`", options.template_name),
        near.empty() ? "`podctl init --list` shows them" : fmt::format("did you mean `{}`?", near));
  }
  const std::string path = PathIn(options.folder, kFileName);
  auto written =
      WriteFiles(WithPlace(std::string(chosen->text), options), chosen->files, options, files);
  if (!written) return written.error();
  written->pop_back();  // the spec
  if (streams.json) {
    Value document = Value::Map{
        {"format_version", kFormatVersion}, {"path", path}, {"template", options.template_name}};
    if (!options.forge.empty()) document.Set("for", options.forge);
    if (!written->empty()) {
      document.Set("other_files", Value::List(written->begin(), written->end()));
    }
    streams.out << ToJson(document) << "\n";
    return {};
  }
  const std::string with_file = path == kFileName ? "" : " -f " + ShellQuote(path);
  streams.out << fmt::format("Wrote {} from the template `{}`{}.\n", path, options.template_name,
                             options.forge.empty() ? "" : " for " + options.forge);
  for (const std::string& other : *written) streams.out << WroteOther(other);
  // What needs setting up has a page that says how.
  const auto page =
      std::find_if(chosen->files.begin(), chosen->files.end(),
                   [](const TemplateFile& file) { return file.path.ends_with(".md"); });
  const std::string first =
      page == chosen->files.end()
          ? ""
          : fmt::format("do what {} says, ", PathIn(options.folder, page->path));
  streams.out << fmt::format(
      "\nNext: {}{}, then\n"
      "  podctl plan{}\n"
      "  podctl apply{}\n",
      first, WhatIsToBeSet(options, std::string(chosen->text)), with_file, with_file);
  return {};
}

namespace {

constexpr const char* kFromCommandVersion = "1.0";

// "2026-11-22T08:00:00Z" -> "20261122_080000", as Caliban stamped its jobs.
std::string Stamp(const std::string& time) {
  std::string stamp;
  for (const char c : time.substr(0, 19)) {
    if (c == 'T') stamp += '_';
    if (c >= '0' && c <= '9') stamp += c;
  }
  return stamp;
}

Result<void> PrintLegacy(const FromCommand& made, const InitOptions& options, Streams& streams) {
  if (!made.training) {
    const bool many = made.tool.starts_with("caliban");
    return MakeError(
        ErrorCode::kInvalidArgument,
        many ? "`--legacy-request` is about one job, and this line is several"
             : "`--legacy-request` is about lines of `caliban cloud`",
        many ? "Give the flags of one experiment after `--`, in place of --experiment_config."
             : "Only its jobs were requests of the service that is gone.");
  }
  streams.out << ToJson(LegacyJobBody(*made.training, Stamp(options.now)), JsonStyle::kIndented)
              << "\n";
  Warn("this request is for the record",
       fmt::format("It was sent to https://ml.googleapis.com/v1/projects/{}/jobs. {}",
                   made.training->project, kLegacyEnd),
       streams);
  return {};
}

void PrintJson(const FromCommand& made, const std::string& path, Streams& streams) {
  Value document = Value::Map{{"format_version", kFromCommandVersion}, {"tool", made.tool}};
  if (path.empty()) {
    document.Set("text", made.text);
  } else {
    document.Set("path", path);
  }
  Value::List remarks;
  for (const Remark& remark : made.remarks) {
    remarks.push_back(Value::Map{{"subject", remark.subject}, {"reason", remark.reason}});
  }
  document.Set("remarks", std::move(remarks));
  streams.out << ToJson(document) << "\n";
}

}  // namespace

Result<void> RunInitFromCommand(const InitOptions& options, FileSystem& files, Streams& streams) {
  constexpr std::uint64_t kMostBytes = 1 << 20;
  const auto read = [&](const std::string& path) { return files.Read(path, kMostBytes); };
  const Result<FromCommand> made =
      SpecFromCommand(options.from_command,
                      {read, options.now, options.project.value_or(""), options.zone.value_or("")});
  if (!made) return made.error();
  if (auto same = CheckSaysPlace(made->text, options); !same) return same;
  if (!options.zone) {  // which was looked at
    if (auto sound = CheckZoneOf(made->text, streams); !sound) return sound;
  }
  if (options.legacy_request) return PrintLegacy(*made, options, streams);
  std::string path;
  std::vector<std::string> others;
  if (options.folder != "-") {
    auto written = WriteFiles(made->text, {}, options, files);
    if (!written) return written.error();
    path = written->back();
    written->pop_back();
    others = *std::move(written);
  }
  if (streams.json) {
    PrintJson(*made, path, streams);
    return {};
  }
  for (const Remark& remark : made->remarks) {
    Warn(fmt::format("{}: {}", remark.subject, remark.reason), "", streams);
  }
  if (path.empty()) {
    streams.out << made->text;
    return {};
  }
  const std::string with_file = path == "podctl.yaml" ? "" : " -f " + ShellQuote(path);
  streams.out << fmt::format("Wrote {} from a line of `{}`.\n", path, made->tool);
  for (const std::string& other : others) streams.out << WroteOther(other);
  streams.out << fmt::format("\nNext: look it over, then\n  podctl validate{0}\n  podctl plan{0}\n",
                             with_file);
  return {};
}

}  // namespace podctl

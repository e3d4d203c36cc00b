#include "cmd/commands/init.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "cmd/views/snippet.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "templates/catalog.h"

namespace podctl {
namespace {

constexpr const char* kFileName = "podctl.yaml";
constexpr const char* kFormatVersion = "1.0";

int Fail(Streams& streams, std::string summary, std::string suggestion) {
  Diagnostic diagnostic;
  diagnostic.summary = std::move(summary);
  diagnostic.suggestion = std::move(suggestion);
  streams.err << FormatDiagnostic(diagnostic,
                                  {streams.color && streams.err_is_terminal, streams.width});
  return 1;
}

int ListTemplates(bool json, Streams& streams) {
  if (json) {
    Value::List list;
    for (const Template& item : Templates()) {
      Value entry;
      entry.Set("name", item.name);
      entry.Set("description", item.description);
      list.push_back(std::move(entry));
    }
    Value document;
    document.Set("format_version", kFormatVersion);
    document.Set("templates", std::move(list));
    streams.out << ToJson(document) << "\n";
    return 0;
  }
  std::size_t widest = 0;
  for (const Template& item : Templates()) widest = std::max(widest, item.name.size());
  for (const Template& item : Templates()) {
    streams.out << fmt::format("{:<{}}  {}\n", item.name, widest, item.description);
  }
  return 0;
}

std::string PathIn(const std::string& folder) {
  if (folder.empty() || folder == ".") return kFileName;
  return folder.ends_with('/') ? folder + kFileName : folder + "/" + kFileName;
}

}  // namespace

int RunInit(const InitOptions& options, FileSystem& files, Streams& streams) {
  if (options.list) return ListTemplates(options.json, streams);
  const Template* chosen = FindTemplate(options.template_name);
  if (chosen == nullptr) {
    std::vector<std::string> names;
    for (const Template& item : Templates()) names.emplace_back(item.name);
    const std::string near = NearestWord(options.template_name, names);
    return Fail(
        streams, fmt::format("there is no template `{}`", options.template_name),
        near.empty() ? "`podctl init --list` shows them" : fmt::format("did you mean `{}`?", near));
  }
  const std::string path = PathIn(options.folder);
  if (path != kFileName) {
    if (const auto made = files.MakeFolders(options.folder); !made) {
      return Fail(streams, made.error().message, made.error().hint);
    }
  }
  constexpr unsigned kMode = 0644;
  if (const auto written = files.WriteNew(path, chosen->text, kMode); !written) {
    if (written.error().code == ErrorCode::kAlreadyExists) {
      return Fail(streams, fmt::format("`{}` is there already and is left as it is", path),
                  "name another folder: podctl init DIR");
    }
    return Fail(streams, written.error().message, written.error().hint);
  }
  if (options.json) {
    Value document;
    document.Set("format_version", kFormatVersion);
    document.Set("path", path);
    document.Set("template", chosen->name);
    streams.out << ToJson(document) << "\n";
    return 0;
  }
  const std::string with_file = path == kFileName ? "" : " -f " + ShellQuote(path);
  streams.out << fmt::format(
      "Wrote {} from the template `{}`.\n\n"
      "Next: set its project and zone, then\n"
      "  podctl plan{}\n"
      "  podctl apply{}\n",
      path, chosen->name, with_file, with_file);
  return 0;
}

}  // namespace podctl

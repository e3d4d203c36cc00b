#include "cmd/commands/init.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "templates/catalog.h"

namespace podctl {
namespace {

constexpr const char* kFileName = "podctl.yaml";
constexpr const char* kFormatVersion = "1.0";

void ListTemplates(Streams& streams) {
  if (streams.json) {
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

// Nothing is written where one of the files is there already.
Result<void> WriteFiles(const Template& chosen, const std::string& folder, FileSystem& files) {
  constexpr unsigned kMode = 0644;
  std::vector<TemplateFile> all(chosen.files.begin(), chosen.files.end());
  all.push_back({kFileName, chosen.text});
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
  for (const TemplateFile& file : all) {
    const std::string path = PathIn(folder, file.path);
    if (const auto slash = path.rfind('/'); slash != std::string::npos && slash > 0) {
      if (auto made = files.MakeFolders(path.substr(0, slash)); !made) return made;
    }
    if (auto written = files.WriteNew(path, file.text, kMode); !written) return written;
  }
  return {};
}

}  // namespace

Result<std::string> WriteNewSpec(const std::string& folder, std::string_view text,
                                 FileSystem& files) {
  const std::string path = PathIn(folder, kFileName);
  Template spec;
  spec.text = text;
  if (const auto written = WriteFiles(spec, folder, files); !written) return written.error();
  return path;
}

Result<void> RunInit(const InitOptions& options, FileSystem& files, Streams& streams) {
  if (options.list) {
    ListTemplates(streams);
    return {};
  }
  if (!options.from_command.empty()) return RunInitFromCommand(options, files, streams);
  const Template* chosen = FindTemplate(options.template_name);
  if (chosen == nullptr) {
    std::vector<std::string> names;
    for (const Template& item : Templates()) names.emplace_back(item.name);
    const std::string near = NearestWord(options.template_name, names);
    return MakeError(
        ErrorCode::kNotFound, fmt::format("there is no template `{}`", options.template_name),
        near.empty() ? "`podctl init --list` shows them" : fmt::format("did you mean `{}`?", near));
  }
  const std::string path = PathIn(options.folder, kFileName);
  if (const auto written = WriteFiles(*chosen, options.folder, files); !written) {
    return written;
  }
  if (streams.json) {
    Value document;
    document.Set("format_version", kFormatVersion);
    document.Set("path", path);
    document.Set("template", chosen->name);
    if (!chosen->files.empty()) {
      Value::List others;
      for (const TemplateFile& file : chosen->files) {
        others.emplace_back(PathIn(options.folder, file.path));
      }
      document.Set("other_files", std::move(others));
    }
    streams.out << ToJson(document) << "\n";
    return {};
  }
  const std::string with_file = path == kFileName ? "" : " -f " + ShellQuote(path);
  streams.out << fmt::format("Wrote {} from the template `{}`.\n", path, chosen->name);
  for (const TemplateFile& file : chosen->files) {
    streams.out << fmt::format("Wrote {}\n", PathIn(options.folder, file.path));
  }
  streams.out << fmt::format(
      "\nNext: set its project and zone, then\n"
      "  podctl plan{}\n"
      "  podctl apply{}\n",
      with_file, with_file);
  return {};
}

}  // namespace podctl

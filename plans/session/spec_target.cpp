#include "plans/session/spec_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "plans/session/temporary.h"
#include "plans/spec/spec_editor.h"
#include "providers/base/text.h"
#include "providers/os/this_process.h"

namespace podctl {
namespace {

constexpr std::string_view kTemporary = "temporary spec";
constexpr const char* kPrintedSpec = "the printed spec";  // its name in messages

std::string WithoutDotSlash(std::string path) {
  while (path.starts_with("./") && path.size() > 2) path = path.substr(2);
  return path;
}

Error NoPlace(const std::string& file, std::string_view what) {
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("{} is {}", file, what),
                   "name another file for the spec");
}

// A document of podctl's own that the text is; "": none. JSON is YAML, too.
std::string KeptIn(const std::string& text) {
  if (!text.starts_with('{')) return {};
  if (text.find("\"podctl plan\"") != std::string::npos) return "a saved plan";
  return text.find("\"lineage\"") != std::string::npos ? "a state of podctl" : "";
}

// What all of them say; "" where they differ.
std::string Agreed(const std::vector<NodeName>& names, std::string NodeName::*part) {
  const bool same = std::all_of(names.begin(), names.end(), [&](const NodeName& name) {
    return name.*part == names.front().*part;
  });
  return same && !names.empty() ? names.front().*part : "";
}

}  // namespace

SpecTarget::SpecTarget(const AccessDoors& entry, LoadOptions load, const std::string& file)
    : entry_(entry), load_(std::move(load)), file_(WithoutDotSlash(file)) {}

bool SpecTarget::Read(PlanListener& listener) {
  load_.may_lack_pods = true;
  spec_.project = load_.project.value_or("");
  spec_.zone = load_.zone.value_or("");
  if (!file_.empty() && !ReadFile()) return false;
  const bool implied = load_.paths.empty();
  if (implied) load_.paths = {file_.empty() ? "podctl.yaml" : file_};
  std::erase_if(load_.paths, [&](const std::string& path) {
    const bool may_lack = implied || WithoutDotSlash(path) == file_;
    return may_lack && IsMissing(path);
  });
  if (load_.paths.empty()) {
    if (!file_.empty()) spec_.files = {file_};
    return true;
  }
  Diagnostics diagnostics;
  spec_ = LoadSpec(load_, entry_.files, entry_.environment, diagnostics);
  listener.OnSpec(diagnostics);
  return !diagnostics.has_errors();
}

bool SpecTarget::IsMissing(const std::string& path) const {
  const auto info = entry_.files.Stat(path);
  if (!info) return info.error().code == ErrorCode::kNotFound;
  return info->kind == FileInfo::Kind::kFile && info->size == 0;
}

bool SpecTarget::ReadFile() {
  auto text = entry_.files.Read(file_, kMostSpecBytes);
  if (text) {
    before_ = std::move(*text);
    const std::string what = KeptIn(*before_);
    if (!what.empty()) error_ = NoPlace(file_, what);
    return what.empty();
  }
  if (text.error().code == ErrorCode::kNotFound) return true;
  error_ = text.error();
  return false;
}

Result<void> SpecTarget::CheckFree(const std::string& state) const {
  if (file_.empty()) return {};
  const auto end_of = [&](const std::string& path) {
    const auto end = entry_.files.FollowLinks(path);
    std::error_code error;
    const auto absolute = std::filesystem::absolute(end ? *end : path, error);
    return error ? path : absolute.lexically_normal().string();
  };
  const std::string path = end_of(file_);
  const std::string kept = end_of(state);
  const bool beside = path.starts_with(kept + ".") || path.starts_with(kept + "/");
  const bool by_name = path.find("/podctl.state.json") != std::string::npos;
  if (path == kept || beside || by_name) {
    return NoPlace(file_,
                   "podctl's own: the state, its lock and its history are no place for a spec");
  }
  return {};
}

void SpecTarget::Place(const std::vector<NodeName>& names, std::vector<PodDraft>* drafts) {
  const auto place = [&](std::string NodeName::*part, std::string PodDraft::*said,
                         const std::string& of_spec) {
    std::string head = Agreed(names, part);
    const std::string& around = load_.paths.empty() ? head : of_spec;
    bool is_said = false;
    for (std::size_t i = 0; i < names.size(); ++i) {
      (*drafts)[i].*said = names[i].*part == around ? "" : names[i].*part;
      is_said = is_said || !((*drafts)[i].*said).empty();
    }
    return is_said ? "" : head;
  };
  head_project_ = place(&NodeName::project, &PodDraft::project, spec_.project);
  head_zone_ = place(&NodeName::zone, &PodDraft::zone, spec_.zone);
}

Result<std::string> SpecTarget::TextOf(const std::vector<PodDraft>& drafts) const {
  if (!load_.paths.empty() && !file_.empty() && before_) {
    return AppendPods(file_, *before_, drafts);
  }
  const bool is_part = !load_.paths.empty() && file_.empty();
  return WriteSpec(is_part ? "" : head_project_, is_part ? "" : head_zone_, drafts);
}

Spec SpecTarget::Try(const std::string& text, Diagnostics& diagnostics) const {
  LoadOptions load = load_;
  const std::string file = file_.empty() ? kPrintedSpec : file_;
  if (std::find(load.paths.begin(), load.paths.end(), file) == load.paths.end()) {
    load.paths.push_back(file);
  }
  load.texts[file] = text;
  return LoadSpec(load, entry_.files, entry_.environment, diagnostics);
}

Result<void> SpecTarget::Write(const std::string& text) const {
  if (file_.empty()) return {};
  const auto path = entry_.files.FollowLinks(file_);
  if (!path) return path.error();
  if (!before_) return Replace(text, file_);
  const auto now = entry_.files.Read(file_, kMostSpecBytes);
  if (!now || *now != *before_) {
    return MakeError(ErrorCode::kAborted,
                     fmt::format("{} was changed by somebody else meanwhile", file_),
                     "run the import again");
  }
  return Replace(text, *path);
}

Result<void> SpecTarget::Replace(const std::string& text, const std::string& path) const {
  constexpr unsigned kMode = 0644;
  FileSystem& files = entry_.files;
  const auto info = files.Stat(path);
  if (before_ && !info) return info.error();
  RemoveTemporaries(files, path, kTemporary, {""});
  const std::string temporary =
      FolderOf(path) + "/" + TemporaryName(path, kTemporary, std::to_string(ProcessId()), "");
  static_cast<void>(files.Remove(temporary));  // of a dead run with our number
  auto done = files.WriteNew(temporary, text, info ? info->mode : kMode);
  if (done && before_) {
    done = files.SetMode(temporary, info->mode);
    files.TakeOwner(temporary, path);
  }
  if (done) done = before_ ? files.Rename(temporary, path) : files.RenameToNew(temporary, path);
  if (done) return files.SyncFolder(FolderOf(path));
  static_cast<void>(files.Remove(temporary));
  return done;
}

}  // namespace podctl

#include "plans/kinds/file/kind.h"

#include <fmt/format.h>

#include <array>
#include <map>

#include "plans/engine/plan_file/archive.h"
#include "plans/engine/plan_file/secrets.h"
#include "plans/kinds/file/disk.h"
#include "plans/kinds/file/plan.h"
#include "plans/kinds/file/reader.h"
#include "plans/kinds/file/record.h"
#include "plans/kinds/file/task.h"
#include "plans/spec/local_files.h"
#include "plans/spec/references.h"
#include "plans/spec/yaml_tree.h"
#include "providers/base/text.h"
#include "state/state_json.h"

namespace podctl {

// What a saved plan holds of one (plan_file/archive.h).
PODCTL_MEMBERS(FileSpec, name, path, folder, written, content, sensitive, mode, depends_on,
               replaces, removes)

namespace {

const FileSpec& FileOf(const Change& change) {
  return *change.payload.As<FileSpec>();
}

// At the path of the spec, or of one that goes; "": nothing is there.
std::string DigestAt(const Value& looked) {
  const Value* here = looked.Find("here");
  const Value& seen = here == nullptr ? looked["old"] : *here;
  if (seen.is_null()) return {};
  return seen["kind"] == Value("file") ? seen["digest"].AsString() : seen["kind"].AsString();
}

bool HasControls(const std::string& path) {
  return VisibleControls(path) != path || path.find('\t') != std::string::npos;
}

// Where files of `folder` are, through whatever links it leads; as it is where that cannot be told.
std::string EndOfFolder(FileSystem& files, std::string folder) {
  constexpr int kMostLinks = 40;
  for (int links = 0; links < kMostLinks; ++links) {
    bool is_end = true;
    for (std::size_t end = folder.find('/', 1); is_end; end = folder.find('/', end + 1)) {
      const std::string part = folder.substr(0, end);
      const auto leads = files.FollowLinks(part);
      if (leads && *leads != part) {
        folder = AbsolutePath(*leads) + folder.substr(part.size());
        is_end = false;
      }
      if (end == std::string::npos) break;
    }
    if (is_end) break;
  }
  return folder;
}

constexpr std::string_view kHidden = "(sensitive value)";

}  // namespace

const RecordCodec& FileKind::codec() const {
  return FileRecord::Codec();
}

Key FileKind::SectionKey() const {
  return {std::string(section()),
          "What other tools are to know of the pods, written on the machine that applies.",
          shape::MapOf(kThingNamePattern, FileShape())};
}

Declared FileKind::Read(const YamlEntry& entry, const Section& section) const {
  FileSpec file = ReadFile(entry, section);
  Address address = FileAddress(file.name);
  return {std::move(address), entry.key->Place(), Payload(std::move(file), this)};
}

void FileKind::Resolved(Declared* declared) const {
  if (declared->builds_on.empty()) return;
  declared->wanted.Edit<FileSpec>()->depends_on = declared->builds_on;
}

std::vector<Address> FileKind::BuiltOn(const AnyRecord& record) const {
  return record.As<FileRecord>().depends_on;
}

std::string FileKind::MadeFile(const Declared& declared) const {
  return declared.wanted.As<FileSpec>()->path;
}

std::vector<Diagnostic> FileKind::Conflicts(const std::vector<const Declared*>& all) const {
  std::vector<Diagnostic> conflicts;
  std::map<std::string, const Declared*> paths;  // where the files are
  std::map<std::string, std::string> end_of;     // of folders
  for (const Declared* declared : all) {
    const std::string& path = declared->wanted.As<FileSpec>()->path;
    if (path.empty()) continue;  // reported
    const std::string whole = AbsolutePath(path);
    const auto [end, unknown] = end_of.emplace(FolderOf(whole), "");
    if (unknown) end->second = EndOfFolder(files_, end->first);
    const bool through_link = end->second != end->first;
    const std::string there = through_link ? end->second + whole.substr(whole.rfind('/')) : whole;
    const auto [first, is_new] = paths.emplace(there, declared);
    if (is_new) continue;
    Diagnostic conflict;
    conflict.summary = fmt::format("{} and {} have the same path, {}", first->second->address,
                                   declared->address, path);
    if (AbsolutePath(first->second->wanted.As<FileSpec>()->path) != whole) {
      conflict.summary = fmt::format("{} and {} are the same file, {}", first->second->address,
                                     declared->address, there);
      conflict.detail = "A folder on the way is a symbolic link.";
    }
    conflict.place = declared->place;
    conflict.suggestion = "give one of them another `path`";
    conflicts.push_back(std::move(conflict));
  }
  for (const auto& [path, declared] : paths) {
    const auto below = paths.lower_bound(path + "/");
    if (below == paths.end() || !below->first.starts_with(path + "/")) continue;
    Diagnostic conflict;
    conflict.summary = fmt::format("{} is a folder of {}", path, below->second->address);
    conflict.place = declared->place;
    conflict.suggestion = "give one of them another `path`";
    conflicts.push_back(std::move(conflict));
  }
  return conflicts;
}

// {here, old}: at the path of the spec, and at that of the record; null where there is nothing.
std::optional<Look> FileKind::Looks(const Declared* declared, const AnyRecord* any,
                                    bool refresh) const {
  const FileRecord* record = any == nullptr ? nullptr : &any->As<FileRecord>();
  if (!refresh && (record == nullptr || !record->pending())) return std::nullopt;
  std::vector<std::array<std::string, 3>> places;  // member, path, folder
  if (declared != nullptr) {
    const auto& file = *declared->wanted.As<FileSpec>();
    places.push_back({"here", file.path, file.folder});
  }
  if (record != nullptr)
    places.push_back({"old", record->current.locator, FolderOfRecord(*record)});
  return [&files = files_, places](Provider&, const std::stop_token&) -> Result<Value> {
    Value looked = Value::EmptyMap();
    for (const auto& [member, path, folder] : places) {
      auto seen = LookAtFile(files, path, folder);
      if (!seen && seen.error().code != ErrorCode::kNotFound) return seen.error();
      looked.Set(member, seen ? *std::move(seen) : Value());
    }
    return looked;
  };
}

bool FileKind::Settle(const Address& address, const Value& seen, const std::string& digest_key,
                      AnyRecord* record, std::vector<std::string>* notes) const {
  return SettleFile(address, seen["old"], digest_key, record, notes);
}

std::unique_ptr<KindPlan> FileKind::Begin(const PlanningContext& /*question*/) const {
  return EachByItself(*this, JudgeFile);
}

// It tells where its pods are: a new node has other addresses.
bool FileKind::follows(const Change& change) const {
  return change.verb == Verb::kUpdate || change.verb == Verb::kCreate;
}

// A digest of a secret could be guessed at: there the task alone compares, which has the key.
Value FileKind::PreconditionOf(const Change& change, const Value& seen) const {
  const FileSpec& file = FileOf(change);
  const bool secret = file.sensitive || file.replaces.starts_with("hmac-");
  if (IsKeep(change) || change.verb == Verb::kForget || secret) return {};
  return DigestAt(seen);
}

std::string FileKind::DiffersFrom(const Value& precondition, const Value& seen) const {
  const std::string now = DigestAt(seen);
  if (now == precondition.AsString()) return "";
  return now.empty()                       ? "the file is gone"
         : precondition.AsString().empty() ? "something is there now"
                                           : "the file was changed";
}

Value FileKind::WritePayload(const Payload& payload) const {
  return plan_file::Writer::ToValue(*payload.As<FileSpec>());
}

Payload FileKind::ReadPayload(const Value& value, const std::string& way,
                              std::string* problem) const {
  FileSpec file;
  plan_file::Reader::Read(value, way, *problem, file);
  if ((file.mode < 0 || file.mode > 0777) && problem->empty())
    *problem = way + ".mode is no mode of a file";
  if (HasControls(file.path) && problem->empty()) *problem = way + ".path is no path of a file";
  // By these it is looked for links on the way.
  const std::string whole =
      file.folder.empty() || file.folder == "." ? file.written : file.folder + "/" + file.written;
  const bool away =
      !file.folder.empty() && ("/" + file.written + "/").find("/../") != std::string::npos;
  const bool agree = file.path == whole && (!file.folder.empty() || file.path.starts_with('/'));
  if ((!agree || away) && problem->empty()) *problem = way + ".path and .folder do not agree";
  return {std::move(file), this};
}

void FileKind::StartAt(const std::string& folder, Payload* payload) const {
  auto* file = payload->Edit<FileSpec>();
  file->path = PathFrom(folder, file->path);
  if (!file->folder.empty()) file->folder = PathFrom(folder, file->folder);
}

std::string FileKind::WhatCannotBe(const Change& change) const {
  if (change.address != FileAddress(FileOf(change).name)) return "is no address of a change";
  if (!FileOf(change).sensitive && IsSecretDigest(FileOf(change).content)) return kDigestInTheClear;
  const bool can = change.verb != Verb::kCreateThenDelete && change.verb != Verb::kRun &&
                   !change.begun &&
                   (change.verb != Verb::kCreate || FileOf(change).replaces.empty());
  if (!can) return "cannot be changed so";
  if (IsDelete(change)) return {};
  FileRecord record;
  record.path = FileOf(change).written;
  record.current = {AbsolutePath(FileOf(change).path), "", Creating{}};
  record.digest = DigestOf({}, false, {});
  record.mode = FileOf(change).mode;
  const std::string why = WhyUnreadable(record, change.address);
  return why.empty() ? "" : "could not be remembered: " + why;
}

std::vector<AttributeChange> FileKind::ShownOf(const Change& change,
                                               const ReferenceLookup& nodes) const {
  return NewFileAttributes(FileOf(change), nodes);
}

// A text with references is shown as known after apply, or as it was read by who made the plan.
std::vector<Particular> FileKind::ParticularsOf(const Change& change,
                                                const AnyRecord* /*prior*/) const {
  const FileSpec& file = FileOf(change);
  if (IsKeep(change) || IsDelete(change) || file.sensitive) return {};
  if (FindReferences(file.content).empty()) return {};
  return {{"content", file.content}};
}

void FileKind::VisitSecrets(const Address& address, Payload* payload,
                            const SecretVisitor& visit) const {
  if (!payload->As<FileSpec>()->sensitive) return;
  auto* file = payload->Edit<FileSpec>();
  if (!file->content.empty()) visit(fmt::format("content of {}", address), file->content);
}

void FileKind::Note(const Change& change, TaskContext& context) const {
  const auto* record = context.journal.Get<FileRecord>(change.address);
  const std::vector<Address>& now = FileOf(change).depends_on;
  if (!IsKeep(change) || record == nullptr || record->depends_on == now) return;
  context.journal.Edit<FileRecord>(change.address).depends_on = now;
}

std::unique_ptr<Task> FileKind::MakeTask(const Change& change, TaskContext& context) const {
  return MakeFileTask(change, files_, context);
}

ChangeWords FileKind::WordsOf(const Change& change) const {
  ChangeWords words;
  words.title = fmt::format("{} ({})", change.address, FileOf(change).path);
  if (change.verb == Verb::kForget) {
    words.headline = FileOf(change).replaces.empty()
                         ? "is gone already, and will be forgotten"
                         : "is not as podctl wrote it: it stays, and will be forgotten";
    words.While("Forgetting", "Still forgetting", "Forgotten");
  }
  return words;
}

ShownObject FileKind::After(const Change& change) const {
  const FileSpec& file = FileOf(change);
  ShownObject after;
  after.values = Value::EmptyMap();
  after.values.Set("path", AbsolutePath(file.path));
  after.values.Set("mode", ModeText(file.mode));
  for (const AttributeChange& line : change.attributes) {
    if (line.path != "content") continue;
    if (!line.known) {
      after.unknown.Set("content", true);
    } else if (line.after) {
      after.values.Set("content", line.sensitive ? Value(kHidden) : *line.after);
    }
    if (line.sensitive) after.sensitive.Set("content", true);
  }
  return after;
}

std::vector<Configured> FileKind::ConfiguredOf(const Change& change) const {
  const FileSpec& file = FileOf(change);
  Value words = Value::EmptyMap();
  words.Set("path", file.path);
  words.Set("mode", ModeText(file.mode));
  if (!file.sensitive) words.Set("content", file.content);
  return {{change.address, std::move(words), file.depends_on}};
}

}  // namespace podctl

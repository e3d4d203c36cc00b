// What a LocalStore keeps beside the state: generations that were replaced, in PATH.history, what
// could not be saved at all, in PATH.errored-SERIAL, and what was found damaged, in
// PATH.damaged-TIME.
//
// A generation is kept under the time it was saved at and its serial:
// PATH.history/20261120T143000Z-41.json. Within a lineage the serial says which one is newer, since
// clocks go wrong; between lineages there is only the time.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "state/state_json.h"
#include "state/stores/aside_file.h"
#include "state/stores/local_store.h"

namespace podctl {
namespace {

constexpr unsigned kPrivateFile = 0600;
constexpr unsigned kPrivateFolder = 0700;
constexpr int kMostAside = 10;  // files of one name that SaveAside finds taken before it gives up
constexpr std::string_view kKeptSuffix = ".json";
constexpr std::string_view kTimePattern =
    "dddddddd"
    "T"
    "dddddd"
    "Z";

std::string HistoryFolder(const std::string& target) {
  return target + ".history";
}

// "2026-11-20T14:30:00Z" -> "20261120T143000Z".
std::string CompactTime(std::string time) {
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  return time;
}

std::string FullTime(const std::string& t) {
  return fmt::format("{}-{}-{}T{}:{}:{}Z", t.substr(0, 4), t.substr(4, 2), t.substr(6, 2),
                     t.substr(9, 2), t.substr(11, 2), t.substr(13, 2));
}

struct KeptFile {
  std::string name;
  std::string time;  // as in the name
  std::uint64_t serial = 0;
};

// nullopt for a name that was not given by this room.
std::optional<KeptFile> KeptFileOf(const std::string& name) {
  std::string_view rest = name;
  if (!rest.ends_with(kKeptSuffix) || rest.size() <= kTimePattern.size() + kKeptSuffix.size()) {
    return std::nullopt;
  }
  rest.remove_suffix(kKeptSuffix.size());
  for (std::size_t i = 0; i < kTimePattern.size(); ++i) {
    const bool fits = kTimePattern[i] == 'd'
                          ? std::isdigit(static_cast<unsigned char>(rest[i])) != 0
                          : rest[i] == kTimePattern[i];
    if (!fits) return std::nullopt;
  }
  KeptFile kept{name, std::string(rest.substr(0, kTimePattern.size())), 0};
  rest.remove_prefix(kTimePattern.size());
  if (rest.size() < 2 || rest.front() != '-') return std::nullopt;
  rest.remove_prefix(1);
  const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), kept.serial);
  if (code != std::errc() || end != rest.data() + rest.size()) return std::nullopt;
  return kept;
}

// A folder and files of podctl's own are never links, so one was put there by somebody else: what
// is kept would go where it leads.
Result<void> CheckNoLink(FileSystem& files, const std::string& path) {
  Result<std::string> end = files.FollowLinks(path);
  if (!end) return end.error();
  if (*end == path) return {};
  return MakeError(ErrorCode::kFailedPrecondition,
                   fmt::format("{} is a symbolic link, and podctl keeps generations in none", path),
                   "Remove the link.");
}

Result<std::string> ReadKept(FileSystem& files, const std::string& path) {
  if (Result<void> own = CheckNoLink(files, path); !own) return own.error();
  return files.Read(path, kMaxStateBytes);
}

// The newest first. An error only when the folder is there and cannot be listed.
Result<std::vector<KeptFile>> KeptFiles(FileSystem& files, const std::string& folder) {
  std::vector<KeptFile> kept;
  if (Result<void> own = CheckNoLink(files, folder); !own) return own.error();
  Result<std::vector<std::string>> names = files.List(folder);
  if (!names && names.error().code == ErrorCode::kNotFound) return kept;
  if (!names) return names.error();
  for (const std::string& name : *names) {
    if (auto file = KeptFileOf(name)) kept.push_back(*std::move(file));
  }
  std::sort(kept.begin(), kept.end(), [](const KeptFile& a, const KeptFile& b) {
    return std::tie(a.time, a.serial) > std::tie(b.time, b.serial);
  });
  return kept;
}

// The newest first, as KeptFiles with what it lacks: generations of `lineage`, the stored one, go
// before those of others, by serial. Where times and serials agree nothing needs to be read.
Result<std::vector<KeptFile>> KeptByAge(FileSystem& files, const std::string& folder,
                                        const std::string& lineage, RecordKinds kinds) {
  Result<std::vector<KeptFile>> kept = KeptFiles(files, folder);
  if (!kept) return kept;
  const auto newer = [](const KeptFile& a, const KeptFile& b) { return a.serial > b.serial; };
  if (std::is_sorted(kept->begin(), kept->end(), newer)) return kept;
  const auto others = std::stable_partition(kept->begin(), kept->end(), [&](const KeptFile& file) {
    const std::string path = folder + "/" + file.name;
    const Result<std::string> text = ReadKept(files, path);
    const Result<State> state =
        text ? StateFromJson(*text, path, kinds) : Result<State>(text.error());
    return state && state->lineage == lineage;
  });
  std::stable_sort(kept->begin(), others, newer);
  return kept;
}

// Gives the stored file a second name; where a file system has no hard links, a copy does.
Result<void> LinkOrCopy(FileSystem& files, const std::string& target, const std::string& text,
                        const std::string& to) {
  Result<void> linked = files.Link(target, to);
  if (linked || linked.error().code != ErrorCode::kUnimplemented) return linked;
  // Not in place: a copy that was interrupted must not look like a generation.
  return WriteNewWhole(files, to, text, kPrivateFile);
}

}  // namespace

Result<void> LocalStore::Keep(const std::string& target, const std::string& text) {
  const std::string folder = HistoryFolder(target);
  if (Result<void> own = CheckNoLink(files_, folder); !own) return own;
  Result<void> made = files_.MakeFolder(folder, kPrivateFolder);
  if (!made && made.error().code != ErrorCode::kAlreadyExists) return made;
  Result<FileInfo> info = files_.Stat(target);
  if (!info) return info.error();
  const std::string name =
      fmt::format("{}/{}-{}{}", folder, CompactTime(FormatTimestamp(info->modified)),
                  known_->serial, kKeptSuffix);
  Result<void> kept = LinkOrCopy(files_, target, text, name);
  if (!kept && kept.error().code == ErrorCode::kAlreadyExists) {
    // Kept already, by a run whose save failed afterwards; or another lineage's of that second.
    Result<std::string> there = ReadKept(files_, name);
    if (there && *there == text) return {};
    if (Result<void> removed = files_.Remove(name); !removed) return removed;
    kept = LinkOrCopy(files_, target, text, name);
  }
  if (!kept) return kept;
  return files_.SyncFolder(folder);
}

// The truth goes before the past: that the generation before cannot be kept stops no save, but is
// told. Tried once a run, since afterwards the generation before is one of this run's own.
void LocalStore::KeepOnce(const std::string& target, const Stored& stored) {
  if (std::exchange(kept_, true) || options_.keep == 0 || stored.lock == nullptr) return;
  Result<void> kept = Keep(target, stored.text);
  if (kept) return;
  warnings_.push_back(fmt::format(
      "the state's generation {} could not be kept in {}, so `podctl state restore` will not find "
      "it: {}",
      known_->serial, HistoryFolder(target), kept.error().message));
}

// One too many costs space and nothing else.
void LocalStore::Prune(const std::string& target) {
  if (options_.keep == 0) return;
  const std::string folder = HistoryFolder(target);
  Result<std::vector<KeptFile>> kept = KeptByAge(files_, folder, known_->lineage, kinds_);
  if (!kept) return;
  for (std::size_t i = options_.keep; i < kept->size(); ++i) {
    (void)files_.Remove(folder + "/" + (*kept)[i].name);
  }
}

// Empty where there is no state, or none that can be read.
std::string LocalStore::StoredLineage(const std::string& target) {
  if (known_) return known_->lineage;
  const Result<std::string> text = files_.Read(target, kMaxStateBytes);
  const Result<State> state =
      text ? StateFromJson(*text, path_, kinds_) : Result<State>(text.error());
  return state ? state->lineage : "";
}

std::string LocalStore::StoredAt() {
  const Result<std::string> target = Target();
  const auto info = target ? files_.Stat(*target) : Result<FileInfo>(target.error());
  return info ? FormatTimestamp(info->modified) : std::string();
}

Result<std::vector<HistoryEntry>> LocalStore::History() {
  Result<std::string> target = Target();
  if (!target) return target.error();
  const std::string folder = HistoryFolder(*target);
  Result<std::vector<KeptFile>> kept = KeptByAge(files_, folder, StoredLineage(*target), kinds_);
  if (!kept) return kept.error();
  std::vector<HistoryEntry> entries;
  for (const KeptFile& file : *kept) {
    HistoryEntry entry;
    entry.serial = file.serial;
    entry.saved_at = FullTime(file.time);
    const std::string path = folder + "/" + file.name;
    Result<std::string> text = ReadKept(files_, path);
    Result<State> state = text ? StateFromJson(*text, path, kinds_) : Result<State>(text.error());
    if (state) {
      entry.bytes = text->size();
      entry.records = RecordCounts(*state);
      entry.lineage = state->lineage;
      entry.remarks = Remarks(*state);
    } else {
      entry.problem = state.error().message;
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<State> LocalStore::LoadHistory(std::uint64_t serial) {
  Result<std::string> target = Target();
  if (!target) return target.error();
  const std::string folder = HistoryFolder(*target);
  Result<std::vector<KeptFile>> kept = KeptByAge(files_, folder, StoredLineage(*target), kinds_);
  if (!kept) return kept.error();
  for (const KeptFile& file : *kept) {
    if (file.serial != serial) continue;
    const std::string path = folder + "/" + file.name;
    Result<std::string> text = ReadKept(files_, path);
    if (!text) return text.error();
    return StateFromJson(*text, path, kinds_);
  }
  return MakeError(ErrorCode::kNotFound,
                   fmt::format("generation {} of the state {} is not kept", serial, path_),
                   "`podctl state history` lists those that are.");
}

Result<std::string> LocalStore::SaveAside(const State& state) {
  State next = state;
  if (next.lineage.empty()) next.lineage = random_.Uuid();
  if (next.digest_key.empty()) next.digest_key = NewDigestKey(random_);
  next.serial = std::min(next.serial + 1, kMaxSerial);  // so that it can be read back
  const std::string text = StateToJson(next);
  const std::string target = Target().value_or(path_);
  const std::string name = fmt::format("{}.errored-{}", NameOf(target), next.serial);
  std::string problems;
  for (const std::string& folder : {FolderOf(target), options_.temp_folder}) {
    for (int number = 1; number <= kMostAside; ++number) {
      const std::string path = (folder == "." ? "" : folder + "/") + name +
                               (number > 1 ? fmt::format("-{}", number) : "");
      Result<void> written = WriteNewWhole(files_, path, text, kPrivateFile);
      if (written) {
        // The bytes are on the disk; a name that gets lost would take a loss of power as well.
        (void)files_.SyncFolder(folder);
        asides_.insert(path);
        return path;
      }
      if (written.error().code == ErrorCode::kAlreadyExists) continue;
      problems += (problems.empty() ? "" : "; ") + written.error().message;
      break;
    }
  }
  return MakeError(ErrorCode::kIo,
                   fmt::format("what could not be saved in {} could not be written anywhere else: "
                               "{}",
                               path_, problems.empty() ? "the names are all taken" : problems));
}

void LocalStore::DropAside(const std::string& where) {
  if (asides_.erase(where) > 0) (void)files_.Remove(where);
}

Result<std::string> LocalStore::SetAside() {
  Result<std::string> target = Target();
  if (!target) return target;
  // What a link leads to may never have been a state, and somebody else's.
  if (*target != path_) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     fmt::format("the state {} is a symbolic link to {}, which is left as it is",
                                 path_, *target),
                     "Look at that file; if it was a state, move it away yourself.");
  }
  const std::string name = *target + ".damaged-" + CompactTime(FormatTimestamp(clock_.Now()));
  for (int number = 1; number <= kMostAside; ++number) {
    const std::string path = number > 1 ? fmt::format("{}-{}", name, number) : name;
    Result<void> moved = files_.RenameToNew(*target, path);
    if (!moved && moved.error().code == ErrorCode::kAlreadyExists) continue;
    if (!moved) return moved.error();
    known_.reset();
    if (Result<void> synced = files_.SyncFolder(FolderOf(*target)); !synced) return synced.error();
    return path;
  }
  return MakeError(ErrorCode::kAlreadyExists, fmt::format("{} and its like are all taken", name));
}

}  // namespace podctl

#include "state/stores/local_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <tuple>
#include <utility>

#include "providers/base/digest.h"
#include "providers/os/this_process.h"
#include "state/state_json.h"

namespace podctl {
namespace {

constexpr unsigned kPrivate = 0600;  // the state may hold what only its owner should read
constexpr std::size_t kUuidLength = 36;
constexpr int kHoldRounds = 40;  // 2 s in all; a save takes a fraction of that
constexpr std::chrono::milliseconds kHoldPause{50};

std::string Beside(const std::string& path, const std::string& name) {
  return path.find('/') == std::string::npos ? name : FolderOf(path) + "/" + name;
}

std::string TempName(const std::string& target, int pid, const std::string& uuid) {
  return fmt::format(".{}.{}-{}.tmp", NameOf(target), pid, uuid);
}

// Whether `name` is a TempName of this very state, and not of one whose name begins alike.
bool IsTempName(std::string_view name, const std::string& target) {
  const std::string prefix = "." + NameOf(target) + ".";
  constexpr std::string_view kSuffix = ".tmp";
  if (!name.starts_with(prefix) || !name.ends_with(kSuffix)) return false;
  name.remove_prefix(prefix.size());
  name.remove_suffix(std::min(kSuffix.size(), name.size()));
  const std::size_t dash = name.find('-');
  return dash != std::string_view::npos && dash > 0 && name.size() == dash + 1 + kUuidLength &&
         std::all_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(dash),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

Error SaveFailed(const std::string& path, const Error& cause) {
  return MakeError(cause.code, fmt::format("cannot save the state {}: {}", path, cause.message),
                   "The state saved before still stands.");
}

Error LeadsNowhere(const std::string& path, const std::string& target) {
  return MakeError(
      ErrorCode::kFailedPrecondition,
      fmt::format("the state {} is a symbolic link to {}, where there is none", path, target),
      fmt::format("If a state was there, bring it back. To begin one there, name the place itself "
                  "in the spec (`state: {}`). If you did not make the link, remove it.",
                  target));
}

}  // namespace

std::string NameOf(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

LockHolder LockHolder::ThisProcess() {
  const std::string host = HostName();
  return {host,          UserName() + "@" + host, ProcessId(),
          &ProcessRanAt, ProcessMark(),           &ProcessHasEnded};
}

// Lives as long as the process, and has to tell apart what people and podctl save, not what
// somebody contrives: who may write the file needs no collision.
Generation LocalStore::GenerationOf(const std::string& text) {
  return {fmt::format("{:016x}-{}", std::hash<std::string>{}(text), text.size())};
}

LocalStore::LocalStore(std::string path, FileSystem& files, Clock& clock, Random& random,
                       LockHolder self, RecordKinds kinds, LocalStoreOptions options)
    : path_(std::move(path)),
      files_(files),
      clock_(clock),
      random_(random),
      self_(std::move(self)),
      kinds_(kinds),
      options_(std::move(options)) {}

Result<std::string> LocalStore::Target() {
  Result<std::string> target = files_.FollowLinks(path_);
  if (!target) return target;
  // Who commits a link could have podctl write a new file wherever it leads. To replace a state
  // that is there is what people link one for.
  if (*target != path_) {
    Result<FileInfo> end = files_.Stat(*target);
    if (!end && end.error().code == ErrorCode::kNotFound) return LeadsNowhere(path_, *target);
  }
  const std::string folder = FolderOf(*target);
  Result<FileInfo> info = files_.Stat(folder);
  if (info && info->kind == FileInfo::Kind::kFolder) return target;
  if (!info && info.error().code != ErrorCode::kNotFound) return info.error();
  return MakeError(ErrorCode::kNotFound,
                   fmt::format("the folder {} of the state {} does not exist", folder, path_),
                   fmt::format("Make it (mkdir -p {}), or correct `state` in the spec.", folder));
}

Error LocalStore::CannotRead(Error error) const {
  // Not a regular file, or larger than any state: there is something, and it is no state.
  if (error.code == ErrorCode::kInvalidArgument) error.code = ErrorCode::kDataLoss;
  error.message = fmt::format("cannot read the state {}: {}", path_, error.message);
  return error;
}

Error LocalStore::TooLarge() const {
  return MakeError(
      ErrorCode::kResourceExhausted,
      fmt::format("the state {} would be larger than {} MiB", path_, kMaxStateBytes >> 20));
}

Result<Snapshot> LocalStore::Load() {
  Result<std::string> target = Target();
  if (!target) return target.error();
  Result<std::string> text = files_.Read(*target, kMaxStateBytes);
  if (!text && text.error().code == ErrorCode::kNotFound) {
    known_ = Known{};
    return Snapshot{};
  }
  if (!text) return CannotRead(text.error());
  Result<State> state = StateFromJson(*text, path_, kinds_, text->capacity());
  if (!state) return state.error();
  // With a new one each sensitive value would look as if it were another.
  if (state->digest_key.empty()) {
    return MakeError(
        ErrorCode::kDataLoss,
        fmt::format("the state {} is damaged: the document has an empty `digest_key`", path_),
        "Put a good copy of it back: `podctl state history` lists the generations kept, `podctl "
        "state restore` takes one.");
  }
  known_ = Known{GenerationOf(*text), state->lineage, state->serial};
  return Snapshot{*std::move(state), known_->generation};
}

// Others hold the file for as long as a save takes, unless they were stopped in the middle of it;
// then they are to win when they go on, so this run must not save.
Result<LocalStore::Stored> LocalStore::HoldStored(const std::string& target) {
  for (int round = 0;; ++round) {
    Result<FileSystem::Locked> held = files_.Hold(target, kMaxStateBytes);
    if (held) return Stored{std::move(held->lock), std::move(held->content)};
    if (held.error().code == ErrorCode::kNotFound) return Stored{};
    if (held.error().code != ErrorCode::kLocked) return CannotRead(held.error());
    if (round == kHoldRounds) {
      return MakeError(
          ErrorCode::kLocked,
          fmt::format("another process is about to save the state {}, and does not get "
                      "on with it",
                      path_),
          "Look for a podctl that is stopped, and end it.");
    }
    clock_.SleepFor(kHoldPause, {});
  }
}

// What a save that comes too late is told.
Error LocalStore::Stale(const Stored& stored, const Generation& at) const {
  const std::string hint =
      "Run the command again: it then starts from the state that is stored now.";
  if (stored.lock == nullptr) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     fmt::format("the state {} was removed since it was read", path_), hint);
  }
  Result<State> now = StateFromJson(stored.text, path_, kinds_);
  if (!now) return now.error();
  if (at.none()) {
    return MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("the state {} was made by somebody else (serial {}) since this run began",
                    path_, now->serial),
        hint);
  }
  const bool both = known_ && known_->generation == at;
  return MakeError(
      ErrorCode::kFailedPrecondition,
      fmt::format("the state {} was changed by somebody else since it was read "
                  "({}serial {} is stored)",
                  path_, both ? fmt::format("serial {} was read, ", known_->serial) : "",
                  now->serial),
      hint);
}

// Compares what is to be saved with what is stored: only its own next generation replaces a state.
Result<void> LocalStore::CheckContinues(const State& state) const {
  if (known_->generation.none()) return {};
  if (state.lineage != known_->lineage) {
    return MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("the state {} has lineage {}, not {}: it is another state", path_,
                    known_->lineage, state.lineage.empty() ? "that of a new state" : state.lineage),
        "Check `state` in the spec: two specs must not share one state.");
  }
  if (state.serial != known_->serial) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     fmt::format("the state {} is at serial {}, what is to be saved follows serial "
                                 "{}",
                                 path_, known_->serial, state.serial),
                     "Run the command again: it then starts from the state that is stored now.");
  }
  return {};
}

Result<void> LocalStore::Save(State& state, Generation* at) {
  return Put(state, at, false);
}

Result<void> LocalStore::Push(State& state, Generation* at) {
  return Put(state, at, true);
}

// Learns what the stored text holds, if it is not what this store read or wrote last.
Result<void> LocalStore::Know(const Stored& stored) {
  const Generation found = stored.lock ? GenerationOf(stored.text) : Generation{};
  if (known_ && known_->generation == found) return {};
  if (found.none()) {
    known_ = Known{};
    return {};
  }
  Result<State> state = StateFromJson(stored.text, path_, kinds_);
  if (!state) return state.error();
  known_ = Known{found, state->lineage, state->serial};
  return {};
}

Result<void> LocalStore::Put(State& state, Generation* at, bool push) {
  Result<std::string> target = Target();
  if (!target) return target.error();
  // Until the end of this function nobody else can replace what is compared here.
  Result<Stored> stored = HoldStored(*target);
  if (!stored) return stored.error();
  const Generation found = stored->lock ? GenerationOf(stored->text) : Generation{};
  if (found != *at) return Stale(*stored, *at);
  if (Result<void> known = Know(*stored); !known) return known;
  if (!push) {
    if (Result<void> continues = CheckContinues(state); !continues) return continues;
  }
  const StateText content(state);
  if (known_->durable && stored->lock && content.SaidBy(stored->text, kinds_)) return {};

  // Only these three change on the way, and come back if it ends early.
  const auto before = std::tuple(state.lineage, state.digest_key, state.serial);
  const auto restore = [&] { std::tie(state.lineage, state.digest_key, state.serial) = before; };
  const std::uint64_t last = known_->serial;
  if (state.lineage.empty()) state.lineage = random_.Uuid();
  if (state.digest_key.empty()) state.digest_key = NewDigestKey(random_);
  if (!push || state.serial <= last || state.serial >= kMaxSerial) state.serial = last + 1;
  if (state.serial > kMaxSerial) {
    restore();
    return MakeError(ErrorCode::kOutOfRange,
                     fmt::format("the state {} has no serial left after {}", path_, last));
  }
  const std::string text = content.Text();
  const bool kept_before = kept_;
  if (Result<void> written = Write(*target, text, *stored); !written) {
    restore();
    return written;
  }
  // The new generation stands there, be it durable or not: the caller must go on from it.
  Result<void> synced = files_.SyncFolder(FolderOf(*target));
  known_ = Known{GenerationOf(text), state.lineage, state.serial, synced.has_value()};
  *at = known_->generation;
  if (!kept_before) Prune(*target);
  if (synced) return {};
  return MakeError(synced.error().code,
                   fmt::format("the state {} was written, but the disk did not confirm it: {}",
                               path_, synced.error().message),
                   "Check the disk. After a loss of power the state saved before may be back.");
}

// Puts `text` in the place of what is stored.
Result<void> LocalStore::Write(const std::string& target, const std::string& text,
                               const Stored& stored) {
  if (text.size() > kMaxStateBytes) return TooLarge();
  const std::string temp = Beside(target, TempName(target, self_.pid, random_.Uuid()));
  if (Result<void> made = files_.WriteNew(temp, text, kPrivate); !made) {
    // Half a file may stand there; nobody reads it, so a failure to remove it changes nothing.
    if (made.error().code != ErrorCode::kAlreadyExists) (void)files_.Remove(temp);
    return SaveFailed(path_, made.error());
  }
  KeepOnce(target, stored);
  const bool first = stored.lock == nullptr;  // then there must be none still
  Result<void> renamed = first ? files_.RenameToNew(temp, target) : files_.Rename(temp, target);
  if (renamed) return {};
  (void)files_.Remove(temp);
  if (first && renamed.error().code == ErrorCode::kAlreadyExists) {
    Result<Stored> winner = HoldStored(target);
    return winner ? Stale(*winner, {}) : winner.error();
  }
  return SaveFailed(path_, renamed.error());
}

// Temporary files of runs that died while they saved. The lock is held, so none is in use; who
// saves without it (after a forced unlock) fails at the rename, which is just as well.
void LocalStore::RemoveLeftovers(const std::string& target) {
  Result<std::vector<std::string>> names = files_.List(FolderOf(target));
  if (!names) return;  // leftovers cost space and nothing else
  for (const std::string& name : *names) {
    if (IsTempName(name, target)) (void)files_.Remove(Beside(target, name));
  }
}

}  // namespace podctl

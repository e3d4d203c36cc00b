#include "state/stores/local_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "providers/os/this_process.h"
#include "state/digest.h"
#include "state/state_json.h"

namespace podctl {
namespace {

constexpr unsigned kPrivate = 0600;  // the state may hold what only its owner should read
constexpr std::size_t kUuidLength = 36;

std::string NameOf(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

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

Error Stale(const std::string& what) {
  return MakeError(ErrorCode::kFailedPrecondition, what,
                   "Run the command again: it then starts from the state that is stored now.");
}

Error SaveFailed(const std::string& path, const Error& cause) {
  return MakeError(cause.code, fmt::format("cannot save the state {}: {}", path, cause.message),
                   "The state saved before still stands.");
}

}  // namespace

LockHolder LockHolder::ThisProcess() {
  const std::string host = HostName();
  return {host, UserName() + "@" + host, ProcessId(), &ProcessRanAt};
}

LocalStore::LocalStore(std::string path, FileSystem& files, Clock& clock, Random& random,
                       LockHolder self)
    : path_(std::move(path)),
      files_(files),
      clock_(clock),
      random_(random),
      self_(std::move(self)) {}

Result<std::string> LocalStore::Target() {
  Result<std::string> target = files_.FollowLinks(path_);
  if (!target) return target;
  const std::string folder = FolderOf(*target);
  Result<FileInfo> info = files_.Stat(folder);
  if (info && info->kind == FileInfo::Kind::kFolder) return target;
  if (!info && info.error().code != ErrorCode::kNotFound) return info.error();
  return MakeError(ErrorCode::kNotFound,
                   fmt::format("the folder {} of the state {} does not exist", folder, path_),
                   fmt::format("Make it (mkdir -p {}), or correct `state` in the spec.", folder));
}

Result<std::optional<std::string>> LocalStore::ReadText(const std::string& target) {
  Result<std::string> text = files_.Read(target, kMaxStateBytes);
  if (text) return std::make_optional(*std::move(text));
  if (text.error().code == ErrorCode::kNotFound) return std::optional<std::string>();
  Error error = text.error();
  // Not a regular file, or larger than any state: there is something, and it is no state.
  if (error.code == ErrorCode::kInvalidArgument) error.code = ErrorCode::kDataLoss;
  error.message = fmt::format("cannot read the state {}: {}", path_, error.message);
  return error;
}

Result<std::optional<State>> LocalStore::Load() {
  Result<std::string> target = Target();
  if (!target) return target.error();
  Result<std::optional<std::string>> text = ReadText(*target);
  if (!text) return text.error();
  if (!text->has_value()) {
    known_ = Generation{};
    return std::optional<State>();
  }
  Result<State> state = StateFromJson(**text, path_);
  if (!state) return state.error();
  known_ = Generation{*std::move(text), *state};
  return std::make_optional(*std::move(state));
}

// Compares what is stored with what this store loaded or saved last.
Result<void> LocalStore::CheckUnchanged(const std::string& target) {
  Result<std::optional<std::string>> text = ReadText(target);
  if (!text) return text.error();
  if (*text == known_->text) return {};
  if (!text->has_value()) {
    return Stale(fmt::format("the state {} was removed since it was read", path_));
  }
  Result<State> stored = StateFromJson(**text, path_);
  if (!stored) return stored.error();
  if (!known_->state) {
    return Stale(
        fmt::format("the state {} was made by somebody else (serial {}) since this run began",
                    path_, stored->serial));
  }
  return Stale(
      fmt::format("the state {} was changed by somebody else since it was read (serial {} "
                  "was read, serial {} is stored)",
                  path_, known_->state->serial, stored->serial));
}

// Compares what is to be saved with what is stored: only its own next generation replaces a state.
Result<void> LocalStore::CheckContinues(const State& state) const {
  if (state.serial >= static_cast<std::uint64_t>(INT64_MAX)) {
    return MakeError(ErrorCode::kOutOfRange,
                     fmt::format("the state {} has no serial left after {}", path_, state.serial));
  }
  if (!known_->state) return {};
  if (state.lineage != known_->state->lineage) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     fmt::format("the state {} has lineage {}, not {}: it is another state", path_,
                                 known_->state->lineage,
                                 state.lineage.empty() ? "that of a new state" : state.lineage),
                     "Check `state` in the spec: two specs must not share one state.");
  }
  if (state.serial != known_->state->serial) {
    return Stale(fmt::format("the state {} is at serial {}, what is to be saved follows serial {}",
                             path_, known_->state->serial, state.serial));
  }
  return {};
}

Result<void> LocalStore::Save(State& state) {
  if (!known_) {
    if (Result<std::optional<State>> loaded = Load(); !loaded) return loaded.error();
  }
  Result<std::string> target = Target();
  if (!target) return target.error();
  if (Result<void> unchanged = CheckUnchanged(*target); !unchanged) return unchanged;
  if (Result<void> continues = CheckContinues(state); !continues) return continues;
  if (known_->durable && known_->state == state) return {};

  State next = state;
  if (next.lineage.empty()) next.lineage = random_.Uuid();
  if (next.digest_key.empty()) next.digest_key = NewDigestKey(random_);
  ++next.serial;
  Result<void> written = Write(*target, std::move(next));
  // Also on an error: when the new generation stands there without being surely durable, the caller
  // must go on from it.
  if (known_->state && known_->state->serial > state.serial) state = *known_->state;
  return written;
}

Result<void> LocalStore::Write(const std::string& target, State next) {
  std::string text = StateToJson(next);
  if (text.size() > kMaxStateBytes) {
    return MakeError(
        ErrorCode::kResourceExhausted,
        fmt::format("the state {} would be larger than {} MiB", path_, kMaxStateBytes >> 20));
  }
  const std::string temp = Beside(target, TempName(target, self_.pid, random_.Uuid()));
  if (Result<void> made = files_.WriteNew(temp, text, kPrivate); !made) {
    // Half a file may stand there; nobody reads it, so a failure to remove it changes nothing.
    if (made.error().code != ErrorCode::kAlreadyExists) (void)files_.Remove(temp);
    return SaveFailed(path_, made.error());
  }
  if (Result<void> renamed = files_.Rename(temp, target); !renamed) {
    (void)files_.Remove(temp);
    return SaveFailed(path_, renamed.error());
  }
  Result<void> synced = files_.SyncFolder(FolderOf(target));
  known_ = Generation{std::move(text), std::move(next), synced.has_value()};
  if (synced) return {};
  return MakeError(synced.error().code,
                   fmt::format("the state {} was written, but the disk did not confirm it: {}",
                               path_, synced.error().message),
                   "Check the disk. After a loss of power the state saved before may be back.");
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

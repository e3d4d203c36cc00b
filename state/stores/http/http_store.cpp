#include "state/stores/http/http_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "state/run_notes.h"
#include "state/state_json.h"
#include "state/stores/aside_file.h"

namespace podctl {
namespace {

// What can be read back: the transport takes no larger answer.
constexpr std::size_t kMostDocumentBytes = std::size_t{63} << 20;
constexpr std::size_t kMostBytesOfNothing = 1000;
constexpr std::size_t kMostPassedOver = 6;  // serials without a generation, between two with one
constexpr int kMostTakenSerials = 100;
// What a request of a save has at its very end.
constexpr std::chrono::milliseconds kShortestRequest{5'000};
constexpr std::chrono::seconds kSilence{5};  // in which a save is repeated without a word
constexpr std::string_view kStartAgain =
    "Run the command again: it then starts from the state that is stored now.";

Generation DocumentGeneration(const std::optional<std::string>& text) {
  return text ? Generation{Sha256Hex(*text)} : Generation{};
}

// Terraform and OpenTofu keep theirs at such addresses, and podctl must not write over them.
bool IsTerraforms(const std::string& text) {
  if (text.starts_with("{\n  \"format_version\"")) return false;  // as podctl begins
  const auto document = ParseJson(text);
  return document && IsStateOfTerraform(*document);
}

// The serial that a damaged text bears, as far as it can still be read; 0: none.
std::uint64_t SerialIn(std::string_view text) {
  constexpr std::string_view kName = "\"serial\":";
  const auto at = text.find(kName);
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(at + kName.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \n\t"), text.size()));
  const auto digits = text.substr(0, text.find_first_not_of("0123456789"));
  const std::uint64_t serial = ParseNumber<std::uint64_t>(digits).value_or(0);
  return serial < kMaxSerial ? serial : 0;
}

bool IsStored(int status) {
  return status == 200 || status == 201 || status == 204;
}

// A serial that a move took, and that is no generation.
bool IsOfAMove(const Result<State>& read) {
  return !read && read.error().code == ErrorCode::kFailedPrecondition;
}

// Whether an answer leaves it open what became of the save.
bool LeavesOpen(int status) {
  return status == 408 || (status >= 500 && status != 501);
}

}  // namespace

HttpStore::HttpStore(HttpPlace place, const HttpStoreDoors& doors, LockHolder self,
                     RecordKinds kinds, HttpStoreOptions options)
    : client_(std::make_shared<HttpStateClient>(std::move(place), doors.transport, doors.clock,
                                                doors.random, doors.on_long_wait)),
      files_(doors.files),
      clock_(doors.clock),
      random_(doors.random),
      self_(std::move(self)),
      kinds_(kinds),
      options_(std::move(options)) {}

Result<std::optional<std::string>> HttpStore::Fetch(const std::stop_token& stop) {
  auto stored = client_->Read(stop);
  return stored ? Counted(*std::move(stored)) : stored;
}

Result<std::optional<std::string>> HttpStore::Counted(std::optional<std::string> text) {
  if (!text) return text;
  const bool may_be_nothing = text->size() < kMostBytesOfNothing;
  if (may_be_nothing && IsNothing(ParseJson(*text).value_or(Value()))) {
    set_aside_ = Known{DocumentGeneration(text), "", SerialIn(*text)};
  }
  if (set_aside_ && DocumentGeneration(text) == set_aside_->generation) {
    return std::optional<std::string>();
  }
  if (!IsTerraforms(*text)) return text;
  return MakeError(
      ErrorCode::kFailedPrecondition,
      fmt::format("the state {} is one of Terraform or OpenTofu, not of podctl", Where()),
      "Give podctl's a name of its own: `state` in the spec. Nothing was changed.");
}

std::uint64_t HttpStore::LastSerial(const std::optional<std::string>& stored) const {
  if (stored) return SerialIn(*stored);
  return set_aside_ ? set_aside_->serial : 0;
}

Result<State> HttpStore::Parse(const std::string& text) const {
  Result<State> state = StateFromJson(text, Where(), kinds_);
  // With a new one each sensitive value would look as if it were another.
  if (state && state->digest_key.empty()) {
    state = MakeError(
        ErrorCode::kDataLoss,
        fmt::format("the state {} is damaged: the document has an empty `digest_key`", Where()),
        "Put a good copy of it back: `podctl state history` lists the generations kept, `podctl "
        "state restore` takes one.");
  }
  if (state || state.error().code != ErrorCode::kDataLoss || client_->place().keeps_serials()) {
    return state;
  }
  return MakeError(
      ErrorCode::kDataLoss, state.error().message,
      "Its server keeps no earlier ones: put a copy back with `podctl state push "
      "--force FILE`. podctl never takes a damaged state for an empty one; without the "
      "state it would not know the pods it made.");
}

Result<Snapshot> HttpStore::Load() {
  // What is not known to stand there is given up with this; should it come to stand there after
  // all, the next save finds that what it follows is stored no more.
  pending_.reset();
  auto stored = Fetch();
  if (!stored) return stored.error();
  if (!*stored) {
    known_ = Known{};
    return Snapshot{};
  }
  Result<State> state = Parse(**stored);
  if (!state) return state.error();
  known_ = Known{DocumentGeneration(*stored), state->lineage, state->serial};
  return Snapshot{*std::move(state), known_->generation};
}

// ---- Saving.

// What a save that comes too late is told.
Error HttpStore::Stale(const std::optional<std::string>& stored, const Generation& at) const {
  const std::string hint(kStartAgain);
  if (!stored) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     fmt::format("the state {} was removed since it was read", Where()), hint);
  }
  Result<State> now = Parse(*stored);
  if (!now) return now.error();
  const std::string what =
      at.none() ? fmt::format("made by somebody else (serial {}) since this run began", now->serial)
                : fmt::format("changed by somebody else since it was read (serial {} is stored)",
                              now->serial);
  return MakeError(ErrorCode::kFailedPrecondition,
                   fmt::format("the state {} was {}", Where(), what), hint);
}

// Learns what the stored text holds, if it is not what this store read or wrote last.
Result<void> HttpStore::Know(const std::optional<std::string>& stored) {
  const Generation found = DocumentGeneration(stored);
  if (!stored) {
    // The server knows the damaged text's serial, and takes none twice.
    known_ = Known{{}, "", set_aside_ ? set_aside_->serial : 0};
    return {};
  }
  if (known_ && known_->generation == found) return {};
  Result<State> state = Parse(*stored);
  if (!state) return state.error();
  known_ = Known{found, state->lineage, state->serial};
  return {};
}

// Only its own next generation replaces a state.
Result<void> HttpStore::CheckContinues(const State& state) const {
  if (known_->generation.none()) return {};
  if (state.lineage != known_->lineage) {
    return MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("the state {} has lineage {}, not {}: it is another state", Where(),
                    known_->lineage, state.lineage.empty() ? "that of a new state" : state.lineage),
        "Check `state` in the spec: two specs must not share one state.");
  }
  if (state.serial == known_->serial) return {};
  return MakeError(
      ErrorCode::kFailedPrecondition,
      fmt::format("the state {} is at serial {}, what is to be saved follows serial {}", Where(),
                  known_->serial, state.serial),
      std::string(kStartAgain));
}

Error HttpStore::TooLarge() const {
  return MakeError(
      ErrorCode::kResourceExhausted,
      fmt::format("the state {} would be larger than {} MiB", Where(), kMostDocumentBytes >> 20),
      "Divide the spec, and give each part a state of its own; a local file takes 256 MiB.");
}

Result<void> HttpStore::Save(State& state, Generation* at) {
  return Put(state, at, false);
}

Result<void> HttpStore::Push(State& state, Generation* at) {
  return Put(state, at, true);
}

Result<void> HttpStore::Put(State& state, Generation* at, bool push) {
  // What became of an earlier save is found out by asking for the same once more.
  if (pending_ && pending_->base == *at) {
    const std::string digest_key = pending_->digest_key;
    if (Result<void> sent = Send(); !sent) return sent;
    *at = known_->generation;
    if (!push) {
      state.lineage = known_->lineage;
      state.serial = known_->serial;
      if (state.digest_key.empty()) state.digest_key = digest_key;
    }
  }
  pending_.reset();
  auto stored = Fetch();
  if (!stored) return stored.error();
  if (DocumentGeneration(*stored) != *at) return Stale(*stored, *at);
  if (Result<void> known = Know(*stored); !known) return known;
  if (!push) {
    if (Result<void> continues = CheckContinues(state); !continues) return continues;
  }
  const StateText content(state);
  if (*stored && content.SaidBy(**stored, kinds_)) return {};

  // Only these three change on the way, and come back if it ends early.
  const auto before = std::tuple(state.lineage, state.digest_key, state.serial);
  const auto restore = [&] { std::tie(state.lineage, state.digest_key, state.serial) = before; };
  const std::uint64_t last = known_->serial;
  if (state.lineage.empty()) state.lineage = random_.Uuid();
  if (state.digest_key.empty()) state.digest_key = NewDigestKey(random_);
  if (!push || state.serial <= last || state.serial >= kMaxSerial) state.serial = last + 1;
  // What a damaged text says of its serial may be damaged, too.
  if (push && set_aside_ && client_->place().keeps_serials()) {
    for (int taken = 0; taken < kMostTakenSerials; ++taken, ++state.serial) {
      const auto there = client_->ReadSerial(state.serial, {});
      if (!there || !*there) break;
    }
  }
  if (state.serial > kMaxSerial) {
    restore();
    return MakeError(ErrorCode::kOutOfRange,
                     fmt::format("the state {} has no serial left after {}", Where(), last));
  }
  pending_ = Pending{*at, content.Text(), state.lineage, state.digest_key, state.serial};
  if (pending_->text.size() > kMostDocumentBytes) {
    pending_.reset();
    restore();
    return TooLarge();
  }
  if (Result<void> sent = Send(); !sent) {
    restore();
    return sent;
  }
  *at = known_->generation;
  return {};
}

// Sends the pending save until its fate is known, or the patience ends. Its bytes stay the same.
Result<void> HttpStore::Send() {
  const http::RetryPolicy& policy = client_->policy();
  std::chrono::milliseconds pause = policy.first_wait;
  const Clock::SteadyTime began = clock_.Steady();
  const Clock::SteadyTime deadline = began + client_->save_patience();
  const auto left = [&] {
    return std::max(kShortestRequest, std::chrono::duration_cast<std::chrono::milliseconds>(
                                          deadline - clock_.Steady()));
  };
  Error why;
  for (int attempt = 1;; ++attempt) {
    Result<Fate> fate = pending_->sent ? LookAfter(left()) : Fate::kUnknown;
    if (fate && *fate == Fate::kUnknown) fate = SendOnce(left(), &why);
    // Surely nowhere, or not to be known now; then the next save asks again.
    if (!fate) {
      if (!pending_->sent) pending_.reset();
      return fate.error();
    }
    if (*fate == Fate::kRefused) {
      pending_.reset();
      return why;
    }
    if (*fate == Fate::kStored) {
      known_ = Known{DocumentGeneration(pending_->text), pending_->lineage, pending_->serial};
      pending_.reset();
      return {};
    }
    const Clock::SteadyTime now = clock_.Steady();
    if (attempt >= policy.attempts || now + pause >= deadline) return why;
    if (now - began >= kSilence) client_->TellOfAnother(pause, why);
    if (!clock_.SleepFor(pause, {})) return why;
    pause = std::min(2 * pause, policy.longest_wait);
  }
}

// kUnknown: it was sent, and `why` is why nobody knows. kRefused: `why` says why.
Result<HttpStore::Fate> HttpStore::SendOnce(std::chrono::milliseconds most, Error* why) {
  const auto answer = client_->Save(pending_->text, HeldId(), most);
  if (!answer) {
    *why = client_->ErrorOf(HttpDeed::kSave, answer.error());
    if (why->code != ErrorCode::kReplyLost && why->code != ErrorCode::kCancelled) return *why;
    pending_->sent = true;
    return Fate::kUnknown;
  }
  *why = client_->ErrorOf(HttpDeed::kSave, *answer);
  const int status = answer->status;
  // With 204 GitLab says that no state has arrived.
  const bool arrived = status != 204 || client_->place().server != HttpServer::kGitLab;
  if (IsStored(status) && arrived) return Fate::kStored;
  if (LeavesOpen(status) || IsStored(status)) {
    pending_->sent = true;
    return Fate::kUnknown;
  }
  if (status == 423 || (status == 409 && HolderIn(*answer))) {
    *why = LockRefused(*answer);
    return Fate::kRefused;
  }
  if (status != 409 && status != 422) return Fate::kRefused;
  // Its serial may be there already: by a request of this very save, or by somebody else's.
  Result<Fate> fate = LookAfter(most);
  if (!fate || *fate != Fate::kUnknown) return fate;
  why->code = ErrorCode::kFailedPrecondition;
  return Fate::kRefused;
}

Result<HttpStore::Fate> HttpStore::LookAfter(std::chrono::milliseconds most) {
  auto read = client_->Read({}, most);
  if (!read) return read.error();
  if (*read == pending_->text) return Fate::kStored;
  auto stored = Counted(*std::move(read));
  if (!stored) return stored.error();
  if (DocumentGeneration(*stored) == pending_->base) return Fate::kUnknown;
  const Error stale = Stale(*stored, pending_->base);
  pending_->sent = false;  // whatever comes of it: it is not this run's turn any more
  return stale;
}

// ---- What is kept beside it.

Result<std::vector<HistoryEntry>> HttpStore::History() {
  std::vector<HistoryEntry> entries;
  if (!client_->place().keeps_serials()) return entries;
  // Also behind a text that is damaged: who looks here wants one that is not.
  auto stored = Fetch();
  if (!stored) return stored.error();
  std::uint64_t serial = LastSerial(*stored);
  const std::size_t most_asked = options_.keep + kMostPassedOver;
  for (std::size_t asked = 0; asked < most_asked && entries.size() < options_.keep; ++asked) {
    if (serial <= 1) break;
    auto text = client_->ReadSerial(--serial, {});
    if (!text) return text.error();
    if (!*text) continue;
    HistoryEntry entry;
    entry.serial = serial;
    entry.bytes = (*text)->size();
    Result<State> state = Parse(**text);
    if (IsOfAMove(state)) continue;
    if (state) {
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

Result<State> HttpStore::LoadHistory(std::uint64_t serial) {
  if (client_->place().keeps_serials()) {
    auto text = client_->ReadSerial(serial, {});
    if (!text) return text.error();
    Result<State> state = *text ? Parse(**text) : State{};
    if (*text && !IsOfAMove(state)) return state;
  }
  return MakeError(ErrorCode::kNotFound,
                   fmt::format("generation {} of the state {} is not kept", serial, Where()),
                   "`podctl state history` lists those that are.");
}

Result<std::string> HttpStore::SaveAside(const State& state) {
  RunNotes notes{state};
  State& next = notes.state;
  if (next.lineage.empty()) next.lineage = random_.Uuid();
  if (next.digest_key.empty()) next.digest_key = NewDigestKey(random_);
  next.serial = std::min(next.serial + 1, kMaxSerial);  // so that it can be read back
  if (known_) notes.base = known_->generation;
  if (pending_) notes.base = pending_->base;
  if (pending_ && pending_->sent) notes.sent = DocumentGeneration(pending_->text);
  notes.run = options_.run;
  auto path = WriteAside(files_, options_.aside_folders, fmt::format("errored-{}", next.serial),
                         NotesToJson(notes));
  if (path) return *asides_.insert(*std::move(path)).first;
  return MakeError(ErrorCode::kIo,
                   fmt::format("what could not be saved in {} could not be written anywhere else: "
                               "{}",
                               Where(), path.error().message));
}

void HttpStore::DropAside(const std::string& where) {
  if (asides_.erase(where) > 0) (void)files_.Remove(where);
}

Result<std::string> HttpStore::SetAside() {
  pending_.reset();
  auto stored = Fetch();
  if (!stored) return stored.error();
  if (!*stored) {
    return MakeError(ErrorCode::kNotFound, fmt::format("there is no state at {}", Where()));
  }
  auto path = WriteAside(files_, options_.aside_folders, "damaged.json", **stored);
  if (!path) {
    return MakeError(ErrorCode::kIo, fmt::format("the damaged state {} could not be kept: {}",
                                                 Where(), path.error().message));
  }
  set_aside_ = Known{DocumentGeneration(*stored), "", SerialIn(**stored)};
  known_.reset();
  return path;
}

// ---- As a place that a state leaves or comes to.

Result<PlacedAt> HttpStore::LoadPlace() {
  pending_.reset();
  auto stored = Fetch();
  if (!stored) return stored.error();
  if (!*stored) return PlacedAt{};
  Result<PlacedState> placed = PlacedFromJson(**stored, Where(), kinds_);
  if (!placed) return placed.error();
  return PlacedAt{*std::move(placed), DocumentGeneration(*stored)};
}

Result<void> HttpStore::MayPutPlace(const PlacedState& placed) {
  if (PlacedToJson(placed).size() <= kMostDocumentBytes) return {};
  return TooLarge();
}

Result<void> HttpStore::PutPlace(const PlacedState& placed, Generation* at) {
  pending_.reset();
  known_.reset();
  auto stored = Fetch();
  if (!stored) return stored.error();
  if (DocumentGeneration(*stored) != *at) {
    return MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("the state {} was changed by somebody else since it was read", Where()),
        "Run the command again.");
  }
  const bool empty = !placed.state && !placed.move;
  if (empty && !*stored) return {};
  Pending next{*at, "", "", "", LastSerial(*stored) + 1};
  if (empty) {
    next.lineage = ParseJson(**stored).value_or(Value())["lineage"].AsString();
    next.text = NothingToJson(next.lineage, next.serial);
  } else if (placed.move) {
    next.lineage = placed.move->lineage;
    next.text = PlacedToJson(placed, next.serial);
  } else {
    State state = *placed.state;
    state.serial = next.serial = std::max(next.serial, state.serial);
    next.lineage = state.lineage;
    next.text = StateToJson(state);
  }
  if (next.text.size() > kMostDocumentBytes) return TooLarge();
  const Generation put = empty ? Generation{} : DocumentGeneration(next.text);
  pending_ = std::move(next);
  Result<void> sent = Send();
  pending_.reset();
  known_.reset();  // what stands there may be no state that runs continue
  if (sent) *at = put;
  return sent;
}

// ---- A place that cannot be used.

namespace {

class UnusableStore final : public StateStore {
 public:
  UnusableStore(std::string url, Error why) : url_(std::move(url)), why_(std::move(why)) {}

  Result<Snapshot> Load() override { return why_; }
  Result<void> Save(State& /*state*/, Generation* /*at*/) override { return why_; }
  Result<void> Push(State& /*state*/, Generation* /*at*/) override { return why_; }
  Result<std::vector<HistoryEntry>> History() override { return why_; }
  Result<State> LoadHistory(std::uint64_t /*serial*/) override { return why_; }
  Result<std::string> SaveAside(const State& /*state*/) override { return why_; }
  Result<PlacedAt> LoadPlace() override { return why_; }
  Result<void> MayPutPlace(const PlacedState& /*placed*/) override { return why_; }
  Result<std::unique_ptr<StateLock>> Lock(const LockInfo& /*info*/, const LockWait& /*wait*/,
                                          std::stop_token /*stop*/) override {
    return why_;
  }
  Result<void> ForceUnlock(const std::string& /*id*/) override { return why_; }
  bool TellsHolder() const override { return false; }
  std::string Where() const override { return url_; }

 private:
  const std::string url_;
  const Error why_;
};

}  // namespace

std::unique_ptr<StateStore> NoHttpStore(std::string url, Error why) {
  return std::make_unique<UnusableStore>(std::move(url), std::move(why));
}

}  // namespace podctl

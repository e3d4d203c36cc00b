#include "plans/session/migrate.h"

#include <fmt/format.h>

#include <utility>

#include "providers/base/text.h"

namespace podctl {
namespace {

using Stage = StateMove::Stage;

bool Is(const PlacedAt& place, Stage stage, const std::string& other) {
  return place.placed.move && place.placed.move->stage == stage &&
         place.placed.move->other == other;
}

bool IsLive(const PlacedAt& place) {
  return place.placed.state && !place.placed.move;
}

// Not: it may have arrived, or may yet.
bool IsRefusal(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnauthenticated:
    case ErrorCode::kPermissionDenied:
    case ErrorCode::kNotFound:
    case ErrorCode::kFailedPrecondition:
    case ErrorCode::kResourceExhausted:
    case ErrorCode::kOutOfRange:
    case ErrorCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

Error NothingToEnd(const MovePlace& from, const MovePlace& to) {
  return MakeError(ErrorCode::kNotFound,
                   fmt::format("no move of the state {} to {} was interrupted", from.store.Where(),
                               to.store.Where()),
                   "To begin one: `podctl state migrate --to PLACE`.");
}

class Mover {
 public:
  Mover(const MoveDoors& doors, const MovePlace& from, const MovePlace& to)
      : doors_(doors), from_(from), to_(to) {}

  Result<MoveEnd> Run(MoveHow how) {
    Result<void> done = Locked(how);
    if (done)
      done = how == MoveHow::kAbort ? Abort() : how == MoveHow::kResume ? Resume() : Begin();
    if (!done) return done.error();
    for (StateStore* store : {&from_.store, &to_.store}) {
      store->EndRun();
      for (std::string& warning : store->TakeWarnings())
        end_.warnings.push_back(std::move(warning));
    }
    return end_;
  }

 private:
  Result<std::unique_ptr<StateLock>> Lock(StateStore& store) {
    auto lock = store.Lock(doors_.lock.info(), doors_.lock.wait, doors_.stop);
    if (lock && !(*lock)->TakeoverNote().empty()) doors_.on_takeover((*lock)->TakeoverNote());
    return lock;
  }

  // What stands in both, which is how it stays until this run changes it. Where the move is called
  // off the other place may be out of reach: what is on its way there goes on in no case.
  Result<void> Locked(MoveHow how) {
    auto lock = Lock(from_.store);
    if (!lock) return lock.error();
    from_lock_ = *std::move(lock);
    Result<PlacedAt> old = from_.store.LoadPlace();
    if (!old) return old.error();
    old_ = *std::move(old);
    Result<void> reached = Reach();
    if (!reached && how == MoveHow::kAbort) {
      end_.not_reached = reached.error().message;
      return {};
    }
    return reached;
  }
  Result<void> Reach() {
    auto lock = Lock(to_.store);
    if (!lock) return lock.error();
    to_lock_ = *std::move(lock);
    Result<PlacedAt> there = to_.store.LoadPlace();
    if (!there) return there.error();
    new_ = *std::move(there);
    return {};
  }

  StateMove Mark(Stage stage, const std::string& other) const {
    const StateMove* begun = old_.placed.move ? &*old_.placed.move : nullptr;
    const State* state = old_.placed.state ? &*old_.placed.state : nullptr;
    PODCTL_CHECK(state != nullptr || begun != nullptr);
    StateMove move;
    move.stage = stage;
    move.other = other;
    move.lineage = state != nullptr ? state->lineage : begun->lineage;
    move.serial = state != nullptr ? state->serial : begun->serial;
    move.since = begun != nullptr ? begun->since : FormatTimestamp(doors_.clock.Now());
    move.who = begun != nullptr ? begun->who : doors_.who;
    return move;
  }
  Result<void> Put(const MovePlace& place, PlacedState placed, PlacedAt* known) {
    if (doors_.stop.stop_requested()) return MakeError(ErrorCode::kCancelled, "interrupted");
    if (auto put = place.store.PutPlace(placed, &known->generation); !put) return put;
    known->placed = std::move(placed);
    return {};
  }

  Result<void> Begin() {
    if (Is(old_, Stage::kGone, to_.name)) return Resume();
    if (old_.placed.move) return WhyMoved(*old_.placed.move, from_.store.Where());
    if (!old_.placed.state) {
      return MakeError(
          ErrorCode::kNotFound,
          fmt::format("there is no state at {} that could be moved", from_.store.Where()),
          "A state that is not there yet is made by the first apply: write its place "
          "into the spec (`state:`).");
    }
    if (auto may = MayArrive(); !may) return may;
    const PlacedState leaving{old_.placed.state, Mark(Stage::kLeaving, to_.name)};
    const PlacedState arriving{old_.placed.state, Mark(Stage::kArriving, from_.name)};
    // A place that cannot take part is to be found out before runs are kept out of the old one.
    if (auto may = to_.store.MayPutPlace(arriving); !may) return may;
    if (auto may = from_.store.MayPutPlace(leaving); !may) return may;
    if (auto put = Put(from_, leaving, &old_); !put) return put;
    Result<void> sent = Send();
    return sent || !refused_ ? sent : CallOff(sent.error());
  }

  // The new place said no, and has what it had: then runs need not be kept out of the old one.
  Error CallOff(Error why) {
    if (!Put(from_, {old_.placed.state, std::nullopt}, &old_)) return why;
    const std::string stays = fmt::format("The state stays in {}.", from_.store.Where());
    why.hint = why.hint.empty() ? stays : fmt::format("{} {}", Sentence(why.hint), stays);
    return why;
  }

  // The new place must hold nothing that would be lost: nothing at all, what an earlier move of
  // this state left on its way there, or the word that this very state once went from there, by
  // whatever places it came here since.
  Result<void> MayArrive() const {
    if (!new_.placed.state && !new_.placed.move) return {};
    const bool same = new_.placed.move && new_.placed.move->lineage == old_.placed.state->lineage;
    const bool left = same && new_.placed.move->stage == Stage::kGone;
    if (left || (same && Is(new_, Stage::kArriving, from_.name))) return {};
    if (new_.placed.move) return WhyMoved(*new_.placed.move, to_.store.Where());
    return MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("there is a state at {} already (lineage {}, serial {})", to_.store.Where(),
                    new_.placed.state->lineage, new_.placed.state->serial),
        "A state is moved to where there is none. Look what that one is: `podctl --state PLACE "
        "state list`.");
  }

  // The state is whole in the old place, from where no run goes on any more.
  Result<void> Send() {
    if (auto may = MayArrive(); !may) return may;
    const StateMove arriving = Mark(Stage::kArriving, from_.name);
    const PlacedState sent{old_.placed.state, arriving};
    if (new_.placed != sent) {
      if (auto put = Put(to_, sent, &new_); !put) {
        refused_ = IsRefusal(put.error().code);
        return put;
      }
    }
    // What was sent is believed when it is read, and not before.
    Result<PlacedAt> read = to_.store.LoadPlace();
    if (!read) return read.error();
    if (read->placed != sent) {
      return MakeError(ErrorCode::kDataLoss,
                       fmt::format("what was written to {} reads otherwise", to_.store.Where()),
                       "The state is whole where it was: `podctl state migrate --abort` leaves it "
                       "there.");
    }
    new_ = *std::move(read);
    StateMove gone = Mark(Stage::kGone, to_.name);
    gone.since = FormatTimestamp(doors_.clock.Now());
    if (auto put = Put(from_, {std::nullopt, gone}, &old_); !put) return put;
    return Arrive();
  }

  // The old place is gone.
  Result<void> Arrive() {
    if (auto put = Put(to_, {new_.placed.state, std::nullopt}, &new_); !put) return put;
    return Tell(Settled(to_, new_));
  }
  // As it stands there now: the place may have given it another serial.
  static State Settled(const MovePlace& place, const PlacedAt& put) {
    auto stands = place.store.LoadPlace();
    return stands && IsLive(*stands) ? *std::move(stands->placed.state) : *put.placed.state;
  }
  Result<void> Tell(const State& state) {
    end_.moved = true;
    end_.lineage = state.lineage;
    end_.serial = state.serial;
    end_.records = state.records.size();
    return {};
  }

  Result<void> Resume() {
    if (Is(old_, Stage::kLeaving, to_.name) && old_.placed.state) return Send();
    if (!Is(old_, Stage::kGone, to_.name)) return NothingToEnd(from_, to_);
    const std::string& lineage = old_.placed.move->lineage;
    const bool there = new_.placed.state && new_.placed.state->lineage == lineage;
    if (there && Is(new_, Stage::kArriving, from_.name)) return Arrive();
    if (there && IsLive(new_)) {
      end_.was_moved = true;
      return Tell(*new_.placed.state);
    }
    return WhyMoved(*old_.placed.move, from_.store.Where());
  }

  Result<void> Abort() {
    if (Is(old_, Stage::kGone, to_.name)) {
      return MakeError(
          ErrorCode::kFailedPrecondition,
          fmt::format("the state has left {} already", from_.store.Where()),
          "`podctl state migrate --resume` ends the move; then it can be moved back as it came.");
    }
    if (!Is(old_, Stage::kLeaving, to_.name) || !old_.placed.state) return NothingToEnd(from_, to_);
    // What was on its way is whole here.
    if (to_lock_ != nullptr && Is(new_, Stage::kArriving, from_.name)) {
      if (auto put = Put(to_, {}, &new_); !put) return put;
    }
    if (auto put = Put(from_, {old_.placed.state, std::nullopt}, &old_); !put) return put;
    if (auto reported = Tell(Settled(from_, old_)); !reported) return reported;
    end_.moved = false;
    return {};
  }

  const MoveDoors& doors_;
  const MovePlace& from_;
  const MovePlace& to_;
  std::unique_ptr<StateLock> from_lock_;
  std::unique_ptr<StateLock> to_lock_;
  PlacedAt old_;
  PlacedAt new_;
  bool refused_ = false;  // the new place took nothing, and surely has nothing of it
  MoveEnd end_;
};

}  // namespace

Result<MoveEnd> MoveState(const MoveDoors& doors, const MovePlace& from, const MovePlace& to,
                          MoveHow how) {
  if (from.name == to.name) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("the state is at {} already", from.store.Where()));
  }
  return Mover(doors, from, to).Run(how);
}

}  // namespace podctl

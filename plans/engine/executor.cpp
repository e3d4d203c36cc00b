#include "plans/engine/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "plans/engine/call_pool.h"
#include "plans/engine/journal.h"
#include "plans/engine/kind.h"
#include "plans/engine/task.h"
#include "state/record.h"

namespace podctl {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kHeartbeat{10'000};  // between two "still creating" of one change
constexpr milliseconds kLongestWait{200};
// Above what an SSH connection gives a worker for it, and below what is left after a second Ctrl-C.
constexpr milliseconds kStepsHandOver{1'300};
constexpr std::size_t kMostSteps = 32;  // bootstrap steps at once; each has a thread of its own

enum class Stage { kWaiting, kReady, kCalling, kSleeping, kDone, kFailed, kSkipped, kUnfinished };

struct Item {
  const Change* change = nullptr;
  std::unique_ptr<Task> task;
  Stage stage = Stage::kWaiting;
  NextAction next_action;
  std::string note;        // for OnNote, with the start
  bool announced = false;  // OnStart
  bool step_running = false;
  bool step_stopped = false;  // it ran when the interrupt came
  bool acted = false;         // something was sent that acts
  Object before;              // of what makes something: what was there whole when it began
  std::size_t waits_left = 0;
  std::vector<std::size_t> followers;
  Clock::SteadyTime since{};
  Clock::SteadyTime wake{};
  Clock::SteadyTime next_beat{};
  Progress progress;
};

// It is there, and no creation of it is under way, whose end the next run would count.
bool IsWhole(const Record& record) {
  const auto pending = record.pending();
  return record.exists() && !(pending && pending->kind == PendingAction::Kind::kCreate);
}

class Loop {
 public:
  Loop(const Plan& plan, State& state, const Observation& observation, const Doors& doors,
       const ExecuteOptions& options, EventSink& events, std::stop_token drain,
       std::stop_token leave)
      : doors_(doors),
        options_(options),
        events_(events),
        drain_(std::move(drain)),
        leave_(std::move(leave)),
        journal_(state, doors.store, doors.generation, doors.clock, doors.random),
        context_{doors.provider,
                 doors.steps,
                 journal_,
                 doors.clock,
                 doors.random,
                 published_,
                 [this](const auto& address, const auto& text) { events_.OnNote(address, text); },
                 options.operation_timeout,
                 options.wait_for_capacity},
        pool_(std::make_unique<CallPool>(message_queue_, options.parallelism)) {
    Prepare(plan, observation);
  }

  ExecuteResult Run() {
    std::stop_callback wake_drain(drain_, [this] { message_queue_.Wake(); });
    std::stop_callback wake_leave(leave_, [this] { message_queue_.Wake(); });
    Save();
    if (result_.save_error) return std::move(result_);  // nothing was done that could be lost
    begun_ = true;
    // The first requests need not wait for that one.
    pace_ = SaveThrottle(doors_.store.LeastSavePace());
    while (active_ > 0 || HasReady()) {
      if (drain_.stop_requested()) Drain();
      if (leave_.stop_requested()) {
        LetStepsGo();
        break;
      }
      if (!draining_ && !result_.save_error) StartReady();
      Dispatch();
      if (active_ == 0 && (draining_ || result_.save_error || !HasReady())) break;
      WaitForSomething();
      Receive();
      Beat();
      SaveWhatIsDue();
    }
    return Finish();
  }

 private:
  Clock::SteadyTime Now() { return doors_.clock.Steady(); }
  milliseconds Since(Clock::SteadyTime time) {
    return std::chrono::duration_cast<milliseconds>(Now() - time);
  }

  const AnyRecord* RecordOf(const Address& address) const {
    const auto record = journal_.state().records.find(address);
    return record == journal_.state().records.end() ? nullptr : &record->second;
  }

  // nullptr: nothing is remembered of it that has objects.
  const Record* ObjectsOf(const Item& item) const {
    const AnyRecord* record = RecordOf(item.change->address);
    return record == nullptr ? nullptr : record->objects();
  }

  void Publish(const Address& address, Value value) {
    if (!value.is_null()) published_.insert_or_assign(address, std::move(value));
  }

  void Prepare(const Plan& plan, const Observation& observation) {
    if (plan.mode == PlanMode::kRefreshOnly) {
      // What is there is taken for right, so what the spec says is nobody's yet.
      for (const Drift& drift : plan.drift) {
        const Kind* kind = FindKind(doors_.kinds, drift.address.kind);
        kind->Accept(drift, observation, &journal_.EditState());
      }
      return;
    }
    for (const Change& change : plan.changes) {
      if (!LivesOn(change)) continue;
      Publish(change.address, change.payload.kind()->PublishedBefore(
                                  change, RecordOf(change.address), observation));
    }
    std::map<Address, std::size_t> index;
    for (const Change& change : plan.changes) {
      if (change.address.deposed.empty()) wholes_.insert(WholeOf(change.address));
      change.payload.kind()->Note(change, context_);
      if (IsKeep(change)) continue;
      index[change.address] = items_.size();
      Item item;
      item.change = &change;
      items_.push_back(std::move(item));
    }
    for (std::size_t i = 0; i < items_.size(); ++i) {
      for (const Address& address : items_[i].change->waits_for) {
        auto other = index.find(address);
        if (other == index.end()) continue;
        items_[other->second].followers.push_back(i);
        ++items_[i].waits_left;
      }
      if (items_[i].waits_left == 0) ready_.push_back(i);
    }
  }

  bool HasReady() const { return !ready_.empty(); }

  void StartReady() {
    if (HasReady()) CheckMayAct();
    if (result_.save_error) return;
    const std::vector<std::size_t> ready = std::exchange(ready_, {});
    for (std::size_t i : ready) {
      Item& item = items_[i];
      item.task = item.change->payload.kind()->MakeTask(*item.change, context_);
      item.since = Now();
      item.next_beat = item.since + kHeartbeat;
      item.progress.workers = item.task->Workers();
      ++active_;
      const Record* objects = Makes(*item.change) ? ObjectsOf(item) : nullptr;
      if (objects != nullptr && IsWhole(*objects)) item.before = objects->current;
      // What the record says before the task changes it.
      item.note = item.change->payload.kind()->NoteAtStart(*item.change, journal_.state());
      NextAction next_action = item.task->Begin();
      // What acts at once has begun when it is sent, and the state may have to be saved before.
      if (!next_action.acts) Announce(item);
      Take(i, std::move(next_action));
    }
  }

  void Announce(Item& item) {
    if (std::exchange(item.announced, true)) return;
    if (!IsValue(*item.change)) events_.OnStart(*item.change);
    if (!item.note.empty()) events_.OnNote(item.change->address, item.note);
  }

  // What a task says it needs next.
  void Take(std::size_t i, NextAction next_action) {
    Item& item = items_[i];
    switch (next_action.kind) {
      case NextAction::Kind::kDone:
        return End(i, next_action);
      case NextAction::Kind::kLater:
        return LeaveInQueue(i);
      case NextAction::Kind::kSleep:
        item.stage = Stage::kSleeping;
        item.wake = Now() + next_action.sleep;
        sleepers_.emplace(item.wake, i);
        if (draining_) Leave(i);
        return;
      case NextAction::Kind::kCall:
      case NextAction::Kind::kStep:
        if (draining_) return Leave(i);
        if (next_action.workers > 0) item.progress = {next_action.workers, 0, 0, 0, {}};
        item.stage = Stage::kReady;
        item.next_action = std::move(next_action);
        outgoing_.push_back(i);
        return;
    }
  }

  // Sends what the tasks asked for; what acts on the world only after its intent is on disk, for
  // which many intents share a save.
  void Dispatch() {
    if (!outgoing_.empty()) SaveIntents();
    Send();
  }

  void SaveIntents() {
    const bool acts = std::any_of(outgoing_.begin(), outgoing_.end(),
                                  [&](std::size_t i) { return items_[i].next_action.acts; });
    holds_acts_ = acts && journal_.dirty() && !result_.save_error && Now() < pace_.ForActs();
    if (acts && !holds_acts_) Save();
    const std::vector<std::size_t> outgoing = std::exchange(outgoing_, {});
    for (std::size_t i : outgoing) {
      const bool held = holds_acts_ && items_[i].next_action.acts && !result_.save_error;
      if (held) {
        outgoing_.push_back(i);
      } else {
        (IsStep(items_[i]) ? steps_to_send_ : calls_to_send_).push_back(i);
      }
    }
  }

  static bool IsStep(const Item& item) { return item.next_action.kind == NextAction::Kind::kStep; }

  // No more calls than are made at once: what waited for its turn elsewhere could not be held back
  // any more when another run takes over, or somebody interrupts this one.
  void Send() {
    const auto most_calls = static_cast<std::size_t>(options_.parallelism);
    while (!steps_to_send_.empty() && steps_running_ < kMostSteps) SendNextOf(&steps_to_send_);
    while (!calls_to_send_.empty() && (most_calls == 0 || calls_ - steps_running_ < most_calls)) {
      SendNextOf(&calls_to_send_);
    }
  }

  void SendNextOf(std::deque<std::size_t>* queue) {
    const std::size_t i = queue->front();
    queue->pop_front();
    Item& item = items_[i];
    if (item.stage != Stage::kReady) return;
    if (item.next_action.acts) CheckMayAct();
    if (item.next_action.acts && result_.save_error) return Leave(i);
    Announce(item);
    item.acted = item.acted || item.next_action.acts;
    item.stage = Stage::kCalling;
    ++calls_;
    if (!IsStep(item)) return pool_->Submit(i, std::move(item.next_action.call));
    item.step_running = true;
    ++steps_running_;
    pool_->SubmitStep(i, std::move(item.next_action.call));
  }

  void WaitForSomething() {
    milliseconds limit = kLongestWait;
    if (events_.TickInterval().count() > 0) limit = std::min(limit, events_.TickInterval());
    std::optional<Clock::SteadyTime> wake;
    if (!sleepers_.empty()) wake = sleepers_.begin()->first;
    if (holds_acts_ && (!wake || pace_.ForActs() < *wake)) wake = pace_.ForActs();
    if (calls_ > 0 && pool_->RunOne(doors_.random)) {
      // A simulation, in which nothing happens by itself.
    } else if (calls_ > 0) {
      if (wake) {
        limit = std::clamp(std::chrono::duration_cast<milliseconds>(*wake - Now()), milliseconds(1),
                           limit);
      }
      message_queue_.Wait(limit);
    } else if (wake && *wake > Now()) {
      // Nobody can write: only time passes, and a fake clock may make it pass at once.
      const auto until = std::chrono::duration_cast<milliseconds>(*wake - Now());
      doors_.clock.SleepFor(std::clamp(until, milliseconds(1), limit), drain_);
    }
    events_.OnTick();
  }

  void Receive() {
    for (Message& message : message_queue_.TakeAll()) {
      Item& item = items_[message.task];
      if (auto* line = std::get_if<StepLine>(&message.content)) {
        const std::string label =
            item.change->payload.kind()->WorkerLabel(*item.change, line->worker, context_.Lookup());
        events_.OnStepLine(*item.change, line->worker, label, line->line);
      } else if (auto* progress = std::get_if<StepProgress>(&message.content)) {
        item.progress.workers_ok = progress->ok;
        item.progress.workers_failed = progress->failed;
        item.progress.workers_retrying = progress->retrying;
        item.progress.why_retrying = std::move(progress->why_retrying);
        events_.OnProgress(*item.change, Since(item.since), item.progress);
      } else if (auto* applied = std::get_if<StepApplied>(&message.content)) {
        // Also of a task that was given up: it is true all the same.
        item.task->OnApplied(applied->worker, applied->learned_host_key);
      } else {
        // Who was told to leave at once may answer before this loop has seen the interrupt.
        if (drain_.stop_requested()) Drain();
        --calls_;
        steps_running_ -= std::exchange(item.step_running, false) ? 1 : 0;
        if (item.stage != Stage::kCalling) continue;
        Take(message.task, item.task->OnReply(std::get<Reply>(std::move(message.content))));
      }
    }
    WakeSleepers();
  }

  void WakeSleepers() {
    const Clock::SteadyTime now = Now();
    std::vector<std::size_t> due;
    while (!sleepers_.empty() && sleepers_.begin()->first <= now) {
      due.push_back(sleepers_.begin()->second);
      sleepers_.erase(sleepers_.begin());
    }
    std::sort(due.begin(), due.end());  // as the plan has them
    for (std::size_t i : due) Take(i, items_[i].task->OnWake());
  }

  // Looks at every item, so it does not look after every message.
  void Beat() {
    if (Now() < next_look_) return;
    next_look_ = Now() + kLongestWait;
    for (Item& item : items_) {
      const bool running = item.stage == Stage::kCalling || item.stage == Stage::kSleeping;
      if (!running || item.next_beat > Now()) continue;
      item.next_beat = Now() + kHeartbeat;
      item.progress.status = item.task->Status();
      events_.OnProgress(*item.change, Since(item.since), item.progress);
    }
  }

  void Save() {
    const Clock::SteadyTime began = Now();
    // The first failure stands, even if a later save succeeds: from then on nothing was begun.
    auto saved = journal_.Flush();
    pace_.Saved(began, Now());
    if (!saved && !result_.save_error) result_.save_error = saved.error();
    if (saved) {
      DropSpool();
    } else if (begun_) {
      Spool();
    }
    TakeWarnings();
  }

  // What is known and not stored lies beside the state as soon as a save has failed, so that it
  // outlives this process, however that ends. Once it is stored, it goes.
  void Spool() {
    if (!journal_.dirty() || spooled_ == journal_.state()) return;
    const Clock::SteadyTime began = Now();
    auto aside = doors_.store.SaveAside(journal_.state());
    spool_pace_.Saved(began, Now());
    if (!aside) {
      if (spool_.empty()) result_.aside_error = aside.error();
      return;
    }
    if (!spool_.empty()) doors_.store.DropAside(spool_);
    spool_ = *std::move(aside);
    spooled_ = journal_.state();
    result_.aside_error.reset();
  }
  void DropSpool() {
    if (!spool_.empty()) doors_.store.DropAside(std::exchange(spool_, {}));
    spooled_.reset();
    result_.aside_error.reset();
  }

  // What another run may do by now, this one must not begin any more.
  void CheckMayAct() {
    if (result_.save_error) return;
    auto may = doors_.store.MayAct();
    if (may) return;
    result_.save_error = may.error();
    result_.lock_failed = true;
  }

  // The last save. What it cannot put in its place is beside it: it knows of nodes that the stored
  // state does not.
  void SaveTheRest() {
    Save();
    // Everything is stored after all, by a run that was not overtaken: then that it was not for a
    // while is no verdict on the state.
    const bool passed = result_.save_error && !journal_.dirty() &&
                        result_.save_error->code != ErrorCode::kFailedPrecondition;
    if (passed) {
      Error outage = *std::exchange(result_.save_error, {});
      if (result_.ok()) {
        result_.warnings.push_back(
            fmt::format("the state could not be saved for a while, and was saved in the end ({})",
                        outage.message));
      } else {
        result_.outage = std::move(outage);
      }
    }
    if (!result_.save_error) return EndRun();
    if (!journal_.dirty()) return;
    result_.unsaved = true;
    result_.saved_aside = spool_;
  }

  void EndRun() {
    doors_.store.EndRun();
    TakeWarnings();
  }

  void TakeWarnings() {
    for (std::string& warning : doors_.store.TakeWarnings()) {
      result_.warnings.push_back(std::move(warning));
    }
  }

  void SaveWhatIsDue() {
    if (journal_.dirty() && Now() >= pace_.ForResults()) {
      Save();
    } else if (!spool_.empty() && Now() >= spool_pace_.ForResults()) {
      Spool();  // the next try to save may be minutes away
    }
  }

  void End(std::size_t i, NextAction& next_action) {
    Item& item = items_[i];
    --active_;
    const milliseconds elapsed = Since(item.since);
    // A step that was asked to end says so for each worker; that is no failure of its own.
    const bool stopped =
        draining_ && !next_action.result &&
        (next_action.result.error().code == ErrorCode::kCancelled || item.step_stopped);
    if (stopped) {
      if (item.step_stopped) {
        result_.stopped.push_back({item.change->address, next_action.result.error().message});
      }
      ++active_;
      return Leave(i);
    }
    if (!next_action.result) {
      item.stage = Stage::kFailed;
      if (!IsValue(*item.change)) {
        events_.OnError(*item.change, elapsed, next_action.result.error());
      }
      result_.failures.push_back(
          {*item.change, next_action.result.error(), std::move(next_action.last_lines)});
      SkipFollowers(i, [&](const Change& change) { Skip(change, item.change->address); });
      return;
    }
    item.stage = Stage::kDone;
    const bool is_value = IsValue(*item.change);
    // What only looked has run nothing.
    const bool looked = item.change->verb == Verb::kRun && !item.acted;
    if (!is_value && !looked) counts_.Add(item.change->verb);
    if (const AnyRecord* record = RecordOf(item.change->address)) {
      Publish(item.change->address, item.change->payload.kind()->Published(*record));
    }
    if (!is_value) events_.OnComplete(*item.change, elapsed, item.task->Id());
    for (std::size_t follower : item.followers) {
      if (--items_[follower].waits_left == 0 && items_[follower].stage == Stage::kWaiting) {
        ready_.push_back(follower);
      }
    }
  }

  // Everything that waits for it, however far away, is skipped: each is told to `skip`.
  void SkipFollowers(std::size_t root, const std::function<void(const Change&)>& skip) {
    std::vector<std::size_t> open = {root};
    for (std::size_t next = 0; next < open.size(); ++next) {
      for (std::size_t follower : items_[open[next]].followers) {
        Item& item = items_[follower];
        if (item.stage != Stage::kWaiting) continue;
        item.stage = Stage::kSkipped;
        skip(*item.change);
        open.push_back(follower);
      }
    }
  }
  // For the failure at the root, or because the run ends early (`cause` empty).
  void Skip(const Change& change, const Address& cause) {
    if (IsValue(change)) return;  // it is what it was
    events_.OnSkip(change, cause);
    result_.skipped.push_back({change.address, cause});
  }

  // Of what was to make something and did not come to its end: what it has made and deleted all the
  // same, as terraform counts it. No later run counts that: for it, that is how things are.
  void CountPart(const Item& item) {
    if (item.task == nullptr || !Makes(*item.change)) return;
    const auto is_before = [&](const Object& object) {
      return object.exists() && object.locator == item.before.locator &&
             (object.uid == item.before.uid || item.before.uid.empty());
    };
    const Record* now = ObjectsOf(item);
    const bool stays =
        now != nullptr && (is_before(now->current) ||
                           std::any_of(now->deposed.begin(), now->deposed.end(), is_before));
    const bool was_there = item.before.exists();
    if (was_there && !stays) ++counts_.destroy;
    const bool is_new = now != nullptr && IsWhole(*now) && !(was_there && is_before(now->current));
    if (is_new) ++counts_.add;
  }

  // Gives a task up for this run; what it has begun stands in the state.
  void Leave(std::size_t i) {
    Item& item = items_[i];
    if (item.stage == Stage::kSleeping) sleepers_.erase({item.wake, i});
    --active_;
    if (!item.announced) {  // it was about to send its first request
      item.stage = Stage::kSkipped;
      Skip(*item.change, {});
      return;
    }
    item.stage = Stage::kUnfinished;
    result_.unfinished.push_back(item.change->address);
  }

  // On purpose: what waits for it is not skipped for a failure.
  void LeaveInQueue(std::size_t i) {
    items_[i].stage = Stage::kUnfinished;
    result_.queued.push_back(items_[i].change->address);
    --active_;
    SkipFollowers(i, [&](const Change& change) {
      if (!IsValue(change)) result_.behind_queued.push_back(change.address);
    });
  }

  // The first interrupt: nothing new is started, sleepers are left, steps are asked to end, and
  // requests that are on their way get a moment to tell their operation's name.
  void Drain() {
    if (!draining_) {
      draining_ = true;
      result_.interrupted = true;
      events_.OnInterrupt();
      drain_since_ = Now();
      pool_->StopSteps();
      for (std::size_t i = 0; i < items_.size(); ++i) {
        items_[i].step_stopped = items_[i].step_running;
        if (items_[i].stage == Stage::kSleeping || items_[i].stage == Stage::kReady) Leave(i);
      }
      outgoing_.clear();
      steps_to_send_.clear();
      calls_to_send_.clear();
    }
    if (Now() - drain_since_ > options_.drain_limit) pool_->StopCalls();
  }

  // The workers are told to end their steps: a moment, so that this has reached them.
  void LetStepsGo() {
    if (!draining_) Drain();
    using RealTime = std::chrono::steady_clock;  // that of threads, whatever the clock is
    const RealTime::time_point until = RealTime::now() + kStepsHandOver;
    while (steps_running_ > 0 && options_.parallelism > 0 && RealTime::now() < until) {
      message_queue_.Wait(kLongestWait);
      Receive();
    }
  }

  Address WholeOf(const Address& address) const {
    return podctl::WholeOf(doors_.kinds, address.WithoutDeposed());
  }

  // Of what was lost, lives again, and has nothing of this plan left to do.
  void EndRecoveries() {
    std::set<Address> unfinished;
    for (const Item& item : items_) {
      if (item.stage != Stage::kDone) unfinished.insert(WholeOf(item.change->address));
    }
    for (const Address& whole : wholes_) {
      const Kind* kind = FindKind(doors_.kinds, whole.kind);
      if (!unfinished.contains(whole) && kind->Conclude(whole, context_)) ++result_.recovered;
    }
  }

  ExecuteResult Finish() {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      Item& item = items_[i];
      if (item.stage == Stage::kWaiting) {
        Skip(*item.change, {});
      } else if (item.stage == Stage::kCalling || item.stage == Stage::kSleeping ||
                 item.stage == Stage::kReady) {
        result_.unfinished.push_back(item.change->address);
      }
      if (item.stage != Stage::kDone) CountPart(item);
    }
    EndRecoveries();
    result_.added = counts_.add;
    result_.changed = counts_.change;
    result_.destroyed = counts_.destroy;
    result_.steps = counts_.steps;
    SaveTheRest();
    message_queue_.Close();
    // A second interrupt does not wait for threads that hang in a call; the process is about to
    // end.
    if (leave_.stop_requested()) static_cast<void>(pool_.release());
    return std::move(result_);
  }

  const Doors doors_;
  const ExecuteOptions options_;
  EventSink& events_;
  const std::stop_token drain_;
  const std::stop_token leave_;
  std::map<Address, Value> published_;
  Journal journal_;
  TaskContext context_;
  std::vector<Item> items_;
  std::set<Address> wholes_;  // of which the plan says how they are to be
  std::vector<std::size_t> ready_;
  std::vector<std::size_t> outgoing_;      // to be sent, once what they are about to do is stored
  std::deque<std::size_t> steps_to_send_;  // as soon as there is room
  std::deque<std::size_t> calls_to_send_;
  std::set<std::pair<Clock::SteadyTime, std::size_t>> sleepers_;  // by the time they wake
  Clock::SteadyTime next_look_{};                                 // for who has run for long
  MessageQueue message_queue_;
  std::unique_ptr<CallPool> pool_;  // after the message queue: its threads write into it
  std::size_t active_ = 0;
  std::size_t calls_ = 0;
  std::size_t steps_running_ = 0;
  bool draining_ = false;
  Clock::SteadyTime drain_since_{};
  SaveThrottle pace_;
  bool begun_ = false;  // something may have been done
  std::string spool_;   // where what could not be saved lies meanwhile; empty: nowhere
  std::optional<State> spooled_;
  SaveThrottle spool_pace_;
  bool holds_acts_ = false;  // requests wait for the next save
  PlanCounts counts_;        // of what is done
  ExecuteResult result_;
};

}  // namespace

ExecuteResult Execute(const Plan& plan, State& state, const Observation& observation,
                      const Doors& doors, const ExecuteOptions& options, EventSink& events,
                      std::stop_token drain, const std::stop_token& leave) {
  auto loop = std::make_unique<Loop>(plan, state, observation, doors, options, events,
                                     std::move(drain), leave);
  ExecuteResult result = loop->Run();
  // After a second interrupt threads may still hold on to the loop: it is left to the process's
  // end.
  if (leave.stop_requested()) static_cast<void>(loop.release());
  return result;
}

}  // namespace podctl

#include "plans/fleet/logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "providers/base/error.h"
#include "providers/base/json.h"

namespace podctl {
namespace {

// A line of this length may be a piece of a longer one (ssh::Observer::OnLine).
constexpr std::size_t kLogPiece = std::size_t{64} * 1024;
constexpr std::chrono::milliseconds kLogTick{200};
constexpr std::chrono::milliseconds kFirstPause{500};
constexpr std::chrono::milliseconds kLongestPause{15'000};
constexpr std::chrono::milliseconds kTurnPause{3'000};  // where logs are followed in turn
// What is true of many is told of many: they are lost, and come back, within a moment.
constexpr std::chrono::milliseconds kGatherTime{1'000};
// How often the service is asked about a pod of which workers are silent: for those that have just
// fallen silent, and as long as they are.
constexpr std::chrono::seconds kNewsPace{5};
constexpr std::chrono::seconds kStandingPace{30};
// Workers that are lost one by one are taken up together, so that there are few threads.
constexpr std::size_t kMostReaders = 32;

// Of workers that are tried again.
bool IsSilence(const LogRemark& remark) {
  return remark.kind == LogRemark::Kind::kBroke || remark.kind == LogRemark::Kind::kTrouble;
}

bool TellsWhoIsLeft(const LogRemark& remark) {
  return remark.kind == LogRemark::Kind::kDied || remark.kind == LogRemark::Kind::kFailed ||
         remark.kind == LogRemark::Kind::kGone || remark.kind == LogRemark::Kind::kAnew;
}

bool IsConnectionTrouble(ssh::Outcome outcome) {
  switch (outcome) {
    case ssh::Outcome::kLost:
    case ssh::Outcome::kUnreachable:
    case ssh::Outcome::kTimedOut:
    case ssh::Outcome::kSignaled:  // whoever ended the reader there did not end the job
      return true;
    default:
      return false;
  }
}

}  // namespace

// The observer of one Run of the transport.
class LogFollower::Round final : public ssh::Observer {
 public:
  Round(LogFollower& follower, const std::vector<std::size_t>& indexes)
      : follower_(follower), indexes_(indexes) {}
  void OnLine(std::size_t job, ssh::Stream stream, std::string_view line) override {
    follower_.OnLine(indexes_[job], stream, line);
  }
  void OnPhase(std::size_t, ssh::Phase) override {}
  void OnResult(std::size_t job, const ssh::WorkerResult& result) override {
    follower_.OnResult(indexes_[job], result);
  }

 private:
  LogFollower& follower_;
  const std::vector<std::size_t>& indexes_;
};

LogFollower::LogFollower(ssh::Transport& transport, Clock& clock, workers::LogRequest request,
                         std::chrono::milliseconds patience, AskForPod ask, LogWatcher& watcher)
    : transport_(transport),
      clock_(clock),
      request_(std::move(request)),
      patience_(patience),
      ask_(std::move(ask)),
      watcher_(watcher) {}

LogFollower::~LogFollower() = default;

std::vector<LogEnd> LogFollower::Run(const std::vector<WorkerAccess>& workers,
                                     const LogPlaces& from, const std::stop_token& stop) {
  in_turn_ = workers.size() > transport_.MostAtOnce(workers);
  std::vector<std::size_t> due;
  {
    const std::lock_guard lock(mutex_);
    for (const WorkerAccess& worker : workers) {
      due.push_back(places_.size());
      Place& place = places_.emplace_back();
      place.worker = worker;
      place.heard = clock_.Steady();
      place.reading = true;
      if (const auto known = from.find(worker.index); known != from.end()) {
        place.run = known->second.run;
        place.before = known->second.seen;
      }
    }
  }
  Launch(std::move(due), stop);
  while (StillOpen(&due)) {
    if (!due.empty()) Launch(std::move(due), stop);
    AskIfSilent(stop);
    TellGathered(false);
    if (!clock_.SleepFor(kLogTick, stop)) break;
  }
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  readers_.clear();  // joins: each ends within seconds of `stop`
  if (!stop.stop_requested()) TellGathered(true);
  std::vector<LogEnd> ends;
  for (const Place& place : places_) ends.push_back(place.end);
  return ends;
}

LogPlaces LogFollower::Places() {
  const std::lock_guard lock(mutex_);
  LogPlaces places;
  for (const Place& place : places_) {
    if (!place.run.empty()) places[place.worker.index] = {place.run, place.Seen()};
  }
  return places;
}

// Whether somebody is still to be read; `due`: who is to be taken up now.
bool LogFollower::StillOpen(std::vector<std::size_t>* due) {
  due->clear();
  std::lock_guard lock(mutex_);
  std::erase_if(readers_, [](const Reader& reader) { return reader.done; });
  const Clock::SteadyTime now = clock_.Steady();
  bool open = false;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    open = open || place.open;
    if (!place.open || place.reading || place.again > now || readers_.size() >= kMostReaders) {
      continue;
    }
    place.reading = true;
    due->push_back(i);
  }
  return open;
}

void LogFollower::Launch(std::vector<std::size_t> indexes, const std::stop_token& stop) {
  if (indexes.empty()) return;
  std::lock_guard lock(mutex_);
  Reader& reader = readers_.emplace_back();
  reader.thread = std::jthread([this, &reader, indexes = std::move(indexes), stop] {
    Read(indexes, stop);
    std::lock_guard done(mutex_);
    // Once the follower is being torn down its list is left alone.
    if (!stopping_) reader.done = true;
  });
}

void LogFollower::Read(const std::vector<std::size_t>& indexes, const std::stop_token& stop) {
  std::vector<ssh::Job> jobs;
  {
    std::lock_guard lock(mutex_);
    const std::string followed = FollowedRun();
    for (const std::size_t index : indexes) {
      Place& place = places_[index];
      workers::LogRequest request = request_;
      place.before = place.Seen();
      place.since = 0;
      place.begin.reset();
      place.note.reset();
      if (!place.run.empty()) request.tail.reset();
      request.seen = place.before;
      request.run = place.run;
      request.only = request.follow && place.bound;
      if (request.follow && !place.bound && !followed.empty()) {
        // Who is reached late may have another one by now, which is none of the others'.
        if (place.run != followed) request.seen = 0;
        request.run = followed;
        request.only = true;
      }
      request.follow = request.follow && !in_turn_;
      jobs.push_back({place.worker, workers::LogCommand(request), nullptr});
    }
  }
  ssh::Limits limits;
  limits.retry = std::chrono::seconds(20);
  // A log that is followed keeps its connection, so none may wait for another's.
  if (!in_turn_) limits.max_open = std::max(limits.max_open, static_cast<int>(jobs.size()));
  Round round(*this, indexes);
  transport_.Run(jobs, limits, round, stop);
}

void LogFollower::OnLine(std::size_t index, ssh::Stream stream, std::string_view line) {
  std::lock_guard lock(mutex_);
  Place& place = places_[index];
  place.heard = clock_.Steady();
  place.failures = 0;
  if (stream == ssh::Stream::kErr) {
    auto note = workers::ReadLogNote(line);
    if (!note) return;
    if (note->kind == workers::LogNote::Kind::kBegin) {
      place.begin = note->offset;
      place.run = note->run;
      place.bound = true;
      if (std::exchange(place.lost, false)) Note(place, {});
      if (!request_.tail && note->offset > place.before) {
        Note(place, {.kind = LogRemark::Kind::kCut});
      }
    } else {
      place.note = std::move(note);
    }
    return;
  }
  place.since += line.size() + (line.size() == kLogPiece ? 0 : 1);
  watcher_.OnLine(place.worker, line);
}

void LogFollower::OnResult(std::size_t index, const ssh::WorkerResult& result) {
  std::lock_guard lock(mutex_);
  Place& place = places_[index];
  place.reading = false;
  if (result.learned_host_key) {
    learned_[place.worker.index] = *result.learned_host_key;
    place.worker.host_keys = {*result.learned_host_key};
  }
  if (result.outcome == ssh::Outcome::kCancelled) {
    place.open = false;
    return;
  }
  if (result.outcome == ssh::Outcome::kExited && result.exit_code == workers::kNoSuchJob) {
    place.open = false;
    place.end.kind = LogEnd::Kind::kNoSuchJob;
    return;
  }
  if (result.ok() && place.note) {
    const bool runs_on = place.note->kind == workers::LogNote::Kind::kRunning;
    if (runs_on && request_.follow) return Retry(&place, result);
    return Close(&place, *place.note);
  }
  Retry(&place, result);
}

// With the lock held. The one run that all of those have who were reached; empty: none, or several.
std::string LogFollower::FollowedRun() const {
  std::string run;
  for (const Place& place : places_) {
    if (!place.bound || place.run == run) continue;
    if (!run.empty()) return {};
    run = place.run;
  }
  return run;
}

// With the lock held.
void LogFollower::Close(Place* place, const workers::LogNote& note) {
  using Note = workers::LogNote::Kind;
  place->open = false;
  LogEnd& end = place->end;
  const bool replaced = note.kind == Note::kReplaced;
  if (replaced && !note.former && !place->bound) {
    end.kind = LogEnd::Kind::kNoSuchJob;  // what the others run was never there
    return;
  }
  if (replaced && !note.former) {
    end.kind = LogEnd::Kind::kReplaced;
  } else {
    const Note how = note.former.value_or(note.kind);
    end.kind = how == Note::kRunning ? LogEnd::Kind::kOpen
               : how == Note::kEnded ? LogEnd::Kind::kEnded
                                     : LogEnd::Kind::kDied;
  }
  end.exit_code = note.exit_code;
  end.ended_by = note.ended_by;
  if (replaced) end.next_run = note.run;
  if (request_.follow) NoteDeath(*place);
}

// With the lock held. At once, not when all have ended: the others may wait for this one for hours.
void LogFollower::NoteDeath(const Place& place) {
  if (!place.end.next_run.empty()) {
    return Note(place, {.kind = LogRemark::Kind::kAnew, .message = place.end.next_run});
  }
  const bool died = place.end.kind == LogEnd::Kind::kDied;
  if (!died && place.end.exit_code == 0) return;
  Note(place, {.kind = died ? LogRemark::Kind::kDied : LogRemark::Kind::kFailed,
               .exit_code = place.end.exit_code});
}

// With the lock held. Nothing of a worker is told before what came earlier of it.
void LogFollower::Note(const Place& place, LogRemark remark) {
  for (auto group = gathered_.rbegin(); group != gathered_.rend(); ++group) {
    const auto& known = group->workers;
    const bool has_it = std::any_of(known.begin(), known.end(), [&](const WorkerAccess& each) {
      return each.index == place.worker.index;
    });
    if (has_it) break;
    const LogRemark& other = group->remark;
    if (other.kind != remark.kind || other.message != remark.message ||
        other.exit_code != remark.exit_code) {
      continue;
    }
    group->workers.push_back(place.worker);
    return;
  }
  gathered_.push_back({std::move(remark), {place.worker}, clock_.Steady()});
}

std::size_t LogFollower::CountOpen() const {
  return static_cast<std::size_t>(
      std::count_if(places_.begin(), places_.end(), [](const Place& each) { return each.open; }));
}

// What is ripe, or all of it.
void LogFollower::TellGathered(bool all) {
  const std::lock_guard lock(mutex_);
  while (!gathered_.empty() && (all || clock_.Steady() - gathered_.front().since >= kGatherTime)) {
    Gathered group = std::move(gathered_.front());
    gathered_.pop_front();
    LogRemark& remark = group.remark;
    if (IsSilence(remark)) {
      if (news_.loss) continue;  // they are not tried again
      remark.pod = news_.trouble;
    }
    remark.followed = CountOpen();
    if (TellsWhoIsLeft(remark) && remark.followed == 0) continue;  // the end tells it
    std::sort(group.workers.begin(), group.workers.end(),
              [](const auto& a, const auto& b) { return a.index < b.index; });
    watcher_.OnRemark(group.workers, remark);
  }
}

// On the thread of Run, which has nothing else to do as long as nobody answers.
void LogFollower::AskIfSilent(const std::stop_token& stop) {
  if (!ask_) return;
  {
    const std::lock_guard lock(mutex_);
    const bool silent = std::any_of(places_.begin(), places_.end(),
                                    [](const Place& place) { return place.open && place.lost; });
    const bool news = std::any_of(gathered_.begin(), gathered_.end(),
                                  [](const Gathered& group) { return IsSilence(group.remark); });
    const auto pace = news ? kNewsPace : kStandingPace;
    if (!silent || (asked_at_ && clock_.Steady() - *asked_at_ < pace)) return;
    asked_at_ = clock_.Steady();
  }
  TakeNews(ask_(stop));
}

void LogFollower::TakeNews(PodNews news) {
  const std::lock_guard lock(mutex_);
  const bool changed = news.trouble != news_.trouble && !news.trouble.empty();
  news_ = std::move(news);
  for (Place& place : places_) {
    if (!place.open || !place.lost) continue;
    if (news_.loss && !place.reading) Fail(&place, news_.loss->message);
    if (!changed || news_.loss) continue;
    const bool comes = std::any_of(gathered_.begin(), gathered_.end(), [&](const Gathered& group) {
      return IsSilence(group.remark) &&
             std::any_of(group.workers.begin(), group.workers.end(),
                         [&](const auto& worker) { return worker.index == place.worker.index; });
    });
    if (!comes) Note(place, {.kind = LogRemark::Kind::kPod, .message = news_.trouble});
  }
}

// With the lock held.
void LogFollower::Fail(Place* place, std::string why) {
  place->open = false;
  place->end.kind = LogEnd::Kind::kFailed;
  place->end.message = std::move(why);
  if (news_.loss) Note(*place, {.kind = LogRemark::Kind::kGone, .message = place->end.message});
}

// With the lock held.
void LogFollower::Retry(Place* place, const ssh::WorkerResult& result) {
  const bool worth_it = result.ok() || IsConnectionTrouble(result.outcome);
  if (!result.ok() && worth_it && news_.loss) return Fail(place, news_.loss->message);
  const auto silent = clock_.Steady() - place->heard;
  if (!request_.follow || !worth_it || silent > patience_) {
    return Fail(place, result.message.empty() ? fmt::format("the log cannot be read: {}",
                                                            ExitCodeText(result.exit_code))
                                              : result.message);
  }
  if (!result.ok() && !std::exchange(place->lost, true)) {
    const bool broke = result.outcome == ssh::Outcome::kLost;
    Note(*place, {.kind = broke ? LogRemark::Kind::kBroke : LogRemark::Kind::kTrouble,
                  .message = broke ? "" : result.message});
  }
  auto pause = in_turn_ ? kTurnPause : kFirstPause;
  for (int i = 0; i < place->failures && pause < kLongestPause; ++i) pause *= 2;
  ++place->failures;
  place->again = clock_.Steady() + std::min(pause, kLongestPause);
}

namespace {

// A laptop that slept, a network that comes back: nobody wants to type it again.
constexpr std::chrono::minutes kLogPatience{30};

// How often it is written down how far the logs were shown: after a kill no more than that comes
// again.
constexpr std::chrono::seconds kLogKeepPace{2};

std::string PlacesText(const LogPlaces& places) {
  Value document = Value::Map{{"format_version", "1.0"}};
  Value list = Value::EmptyList();
  for (const auto& [worker, place] : places) {
    list.MutableList().push_back(
        Value::Map{{"worker", worker}, {"run", place.run}, {"seen", place.seen}});
  }
  document.Set("workers", std::move(list));
  return ToJson(document) + "\n";
}

// What cannot be read is a log that was never shown.
LogPlaces ReadPlaces(const KeptFile& file) {
  LogPlaces places;
  const auto text = file.Load();
  const auto document = text ? ParseJson(*text) : Result<Value>(text.error());
  if (!document || !(*document)["format_version"].AsString().starts_with("1.")) return places;
  for (const Value& entry : (*document)["workers"].AsList()) {
    const std::int64_t seen = entry["seen"].AsInt(-1);
    if (seen < 0 || entry["run"].AsString().empty()) continue;
    places[static_cast<int>(entry["worker"].AsInt(-1))] = {entry["run"].AsString(),
                                                           static_cast<std::uint64_t>(seen)};
  }
  return places;
}

// Writes down now and then, and at its end, how far the logs were shown. Of workers that were not
// asked this time it stays as it was.
class PlaceRecorder {
 public:
  PlaceRecorder(KeptFile& file, LogFollower& follower, Clock& clock)
      : file_(file), follower_(follower), places_(ReadPlaces(file)) {
    thread_ = std::jthread([this, &clock](const std::stop_token& end) {
      while (clock.SleepFor(kLogKeepPace, end)) Keep();
      Keep();
    });
  }
  const LogPlaces& before() const { return before_; }

 private:
  void Keep() {
    for (auto& [worker, place] : follower_.Places()) {
      LogPlace& known = places_[worker];
      if (known.run != place.run || known.seen < place.seen) known = place;
    }
    std::string text = PlacesText(places_);
    if (text == kept_) return;
    file_.Save(text);
    kept_ = std::move(text);
  }

  KeptFile& file_;
  LogFollower& follower_;
  LogPlaces places_;
  const LogPlaces before_ = places_;
  std::string kept_ = PlacesText(places_);
  std::jthread thread_;  // the last member: it uses the others
};

}  // namespace

int LogsReport::ExitCode() const {
  std::set<int> codes;
  for (const LogEnd& end : ends) {
    if (end.kind == LogEnd::Kind::kEnded) {
      codes.insert(end.exit_code);
    } else {
      codes.insert(end.kind == LogEnd::Kind::kOpen ? 0 : -1);
    }
  }
  return codes.size() == 1 && *codes.begin() >= 0 ? *codes.begin() : 1;
}

std::string LogsReport::NextRun() const {
  for (const LogEnd& end : ends) {
    if (!end.next_run.empty()) return end.next_run;
  }
  return {};
}

void LogsReport::LeaveOutOthers(std::vector<WorkerAccess>* workers) {
  const bool anybody = std::any_of(ends.begin(), ends.end(), [](const LogEnd& end) {
    return end.kind != LogEnd::Kind::kNoSuchJob && end.kind != LogEnd::Kind::kFailed;
  });
  if (!anybody) return;
  for (std::size_t i = ends.size(); i-- > 0;) {
    if (ends[i].kind != LogEnd::Kind::kNoSuchJob) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    ends.erase(ends.begin() + at);
    workers->erase(workers->begin() + at);
  }
}

LogsReport ReadLogs(ssh::Transport& transport, Clock& clock, KeptFile& places,
                    const std::vector<WorkerAccess>& workers, const workers::LogRequest& request,
                    bool resume, const AskForPod& ask, LogWatcher& watcher,
                    const std::stop_token& stop) {
  LogFollower follower(transport, clock, request, kLogPatience, ask, watcher);
  const PlaceRecorder recorder(places, follower, clock);
  auto ends = follower.Run(workers, resume ? recorder.before() : LogPlaces(), stop);
  return {std::move(ends), follower.learned()};
}

}  // namespace podctl

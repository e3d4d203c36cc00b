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
// Workers that are lost one by one are taken up together, so that there are few threads.
constexpr std::size_t kMostReaders = 32;

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
                         std::chrono::milliseconds patience, LogWatcher& watcher)
    : transport_(transport),
      clock_(clock),
      request_(std::move(request)),
      patience_(patience),
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
    if (!clock_.SleepFor(kLogTick, stop)) break;
  }
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  readers_.clear();  // joins: each ends within seconds of `stop`
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
      if (std::exchange(place.lost, false)) watcher_.OnRemark(place.worker, {});
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
    place.open = false;
    place.end.kind = runs_on                                              ? LogEnd::Kind::kOpen
                     : place.note->kind == workers::LogNote::Kind::kEnded ? LogEnd::Kind::kEnded
                                                                          : LogEnd::Kind::kDied;
    place.end.exit_code = place.note->exit_code;
    place.end.ended_by = place.note->ended_by;
    if (request_.follow) TellDeath(place);
    return;
  }
  Retry(&place, result);
}

// With the lock held. At once, not when all have ended: the others may wait for this one for hours.
void LogFollower::TellDeath(const Place& place) {
  const bool died = place.end.kind == LogEnd::Kind::kDied;
  if (!died && place.end.exit_code == 0) return;
  const auto left = static_cast<std::size_t>(
      std::count_if(places_.begin(), places_.end(), [](const Place& each) { return each.open; }));
  if (left == 0) return;  // the end tells it
  watcher_.OnRemark(place.worker, {died ? LogRemark::Kind::kDied : LogRemark::Kind::kFailed, "",
                                   place.end.exit_code, left});
}

// With the lock held.
void LogFollower::Retry(Place* place, const ssh::WorkerResult& result) {
  const bool worth_it = result.ok() || IsConnectionTrouble(result.outcome);
  const auto silent = clock_.Steady() - place->heard;
  if (!request_.follow || !worth_it || silent > patience_) {
    place->open = false;
    place->end.kind = LogEnd::Kind::kFailed;
    place->end.message = result.message.empty() ? fmt::format("the log cannot be read: {}",
                                                              ExitCodeText(result.exit_code))
                                                : result.message;
    return;
  }
  if (!result.ok() && !std::exchange(place->lost, true)) {
    const bool broke = result.outcome == ssh::Outcome::kLost;
    watcher_.OnRemark(place->worker, {broke ? LogRemark::Kind::kBroke : LogRemark::Kind::kTrouble,
                                      broke ? "" : result.message, 0, 0});
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
                    bool resume, LogWatcher& watcher, const std::stop_token& stop) {
  LogFollower follower(transport, clock, request, kLogPatience, watcher);
  const PlaceRecorder recorder(places, follower, clock);
  auto ends = follower.Run(workers, resume ? recorder.before() : LogPlaces(), stop);
  return {std::move(ends), follower.learned()};
}

}  // namespace podctl

#include "plans/fleet/kept_logs.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <future>
#include <list>
#include <queue>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "plans/fleet/pod_target.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

using std::chrono::milliseconds;

// As ship.py names and fills them.
constexpr std::string_view kPieceEnd = ".log";
constexpr std::size_t kNameParts = 8;
constexpr std::string_view kNameTime = "20261127T091222.500Z";
constexpr std::string_view kRowTime = "2026-11-27T09:12:22.500Z";
constexpr std::string_view kWholeRow = " stdout F ";
constexpr std::string_view kPartRow = " stdout P ";
constexpr int kHighestWorker = 99'999;
constexpr int kHighestAttempt = 1'000'000;
constexpr std::size_t kLongestRunName = 100;
constexpr std::uint64_t kLongestLog = std::uint64_t{1} << 62;
// What a piece holds was written within this time (ship.py's SPAN, and some more).
constexpr std::chrono::minutes kLongestSpan{1};

constexpr std::size_t kMostPieces = 2'000'000;
constexpr std::uint64_t kLongestPiece = std::uint64_t{2} << 20;  // of the log, in bytes
constexpr std::size_t kMostOpenBytes = std::size_t{256} << 20;   // of pieces that are told at once
constexpr std::size_t kAhead = 8;                                // pieces that are read ahead
constexpr std::size_t kLongestKeptLine = std::size_t{64} << 10;  // longer ones come in parts

// The time of a pattern in which each digit of `like` stands for one.
std::optional<LogTime> ReadTimeLike(std::string_view like, std::string_view text) {
  if (text.size() != like.size()) return std::nullopt;
  std::string digits;
  for (std::size_t i = 0; i < like.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (like[i] >= '0' && like[i] <= '9') {
      if (!is_digit) return std::nullopt;
      digits += text[i];
    } else if (text[i] != like[i]) {
      return std::nullopt;
    }
  }
  const auto number = [&](std::size_t at, std::size_t count) {
    return ParseNumber<int>(std::string_view(digits).substr(at, count)).value_or(0);
  };
  const std::chrono::year_month_day day{std::chrono::year(number(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(number(4, 2))),
                                        std::chrono::day(static_cast<unsigned>(number(6, 2)))};
  // Of another century it is no time of a log; and clocks that count nanoseconds end in 2262.
  if (day.year() < std::chrono::year(1970) || day.year() >= std::chrono::year(2200)) {
    return std::nullopt;
  }
  if (!day.ok() || number(8, 2) > 23 || number(10, 2) > 59 || number(12, 2) > 60) {
    return std::nullopt;
  }
  return std::chrono::sys_days(day) + std::chrono::hours(number(8, 2)) +
         std::chrono::minutes(number(10, 2)) + std::chrono::seconds(number(12, 2)) +
         milliseconds(number(14, 3));
}

std::string NameTime(LogTime time) {
  std::string text = FormatLogTime(time);
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text;
}

bool IsRunName(std::string_view text) {
  return !text.empty() && text.size() <= kLongestRunName &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '.'; });
}

// A row of a piece's content.
struct KeptRow {
  LogTime time;
  bool whole = true;  // else its line goes on in the next one
  std::string_view text;
};

// Takes one from `rest`. What is no row is told as a line, at the time of the one before.
KeptRow TakeRow(std::string_view* rest, LogTime before) {
  const std::size_t end = std::min(rest->find('\n'), rest->size());
  const std::string_view line = rest->substr(0, end);
  rest->remove_prefix(std::min(end + 1, rest->size()));
  const std::size_t head = kRowTime.size() + kWholeRow.size();
  const auto time = ReadTimeLike(kRowTime, line.substr(0, kRowTime.size()));
  if (!time || line.size() < head) return {before, true, line};
  const std::string_view mark = line.substr(kRowTime.size(), kWholeRow.size());
  if (mark != kWholeRow && mark != kPartRow) return {before, true, line};
  return {std::max(*time, before), mark == kWholeRow, line.substr(head)};
}

// ---- The pieces, read in their order and a few of them ahead.

class PieceFeed {
 public:
  PieceFeed(KeptObjects& objects, const std::vector<KeptPiece>& pieces, const std::stop_token& stop)
      : objects_(objects), pieces_(pieces), stop_(stop) {}

  Result<std::string> Next() {
    while (next_ < pieces_.size() && ahead_.size() < kAhead) ahead_.push_back(Begin());
    Result<std::string> text = ahead_.front().get();
    ahead_.pop_front();
    return text;
  }

 private:
  std::future<Result<std::string>> Begin() {
    const std::string& name = pieces_[next_++].name;
    const auto read = [this, &name] { return objects_.Read(name, stop_); };
    try {
      return std::async(std::launch::async, read);
    } catch (const std::system_error&) {  // no thread can be had: it is read when it is its turn
      return std::async(std::launch::deferred, read);
    }
  }

  KeptObjects& objects_;
  const std::vector<KeptPiece>& pieces_;
  const std::stop_token& stop_;
  std::size_t next_ = 0;
  std::deque<std::future<Result<std::string>>> ahead_;
};

// ---- One story out of all pieces.

class KeptStory {
 public:
  KeptStory(const KeptLogRequest& request, std::map<int, std::uint64_t> skip,
            KeptLogWatcher& watcher)
      : request_(request), skip_(std::move(skip)), watcher_(watcher) {}

  // All that was written before this moment, and more where too much is open.
  void TellBefore(LogTime time) {
    while (!queue_.empty() && (queue_.top().time < time || open_bytes_ > kMostOpenBytes)) TellOne();
  }

  void Open(const KeptPiece& piece, std::string text) {
    std::uint64_t known = 0;  // bytes at its beginning that were told already
    const auto [place, is_first] = ends_.try_emplace({piece.worker, piece.run}, Begins(piece));
    if (piece.offset > place->second) {
      gaps_[piece.name] = piece.offset - place->second;
    } else {
      known = place->second - piece.offset;
    }
    place->second = std::max(place->second, piece.end());
    open_bytes_ += text.size();
    const auto opened = open_.insert(open_.end(), {&piece, std::move(text), {}, {}, known});
    opened->rest = opened->text;
    Turn turn{piece.first, piece.worker, piece.sequence, opened};
    Advance(turn);
  }

  void TellRest() {
    while (!queue_.empty()) TellOne();
    for (auto& [whose, part] : parts_) TellPart(whose.first, &part);
  }

 private:
  struct OpenPiece {
    const KeptPiece* piece;
    std::string text;
    std::string_view rest;
    KeptRow row;
    std::uint64_t known;  // bytes of the log that are passed over
  };
  struct Turn {
    LogTime time;
    int worker;
    std::uint64_t sequence;
    std::list<OpenPiece>::iterator piece;
    bool operator<(const Turn& other) const {  // the queue's top is its greatest
      return std::tie(other.time, other.worker, other.sequence) < std::tie(time, worker, sequence);
    }
  };
  using Whose = std::pair<int, std::string>;  // worker, run
  // A line of which more is to come.
  struct Part {
    std::string text;
    LogTime time;
    int attempt = 0;
    bool any = false;
  };

  // Where the log of this worker is to begin; of a part of it that cannot be told.
  std::uint64_t Begins(const KeptPiece& piece) const {
    const bool whole = !request_.since && !request_.attempt && !request_.tail;
    return whole ? 0 : piece.offset;
  }

  // To the piece's next row that is not known, or away with it.
  void Advance(Turn turn) {
    OpenPiece& open = *turn.piece;
    while (!open.rest.empty()) {
      open.row = TakeRow(&open.rest, turn.time);
      turn.time = open.row.time;
      const std::uint64_t bytes = open.row.text.size() + (open.row.whole ? 1 : 0);
      if (open.known < bytes) {
        open.known = 0;
        queue_.push(turn);
        return;
      }
      open.known -= bytes;
    }
    open_bytes_ -= open.text.size();
    open_.erase(turn.piece);
  }

  void TellOne() {
    const Turn turn = queue_.top();
    queue_.pop();
    const OpenPiece& open = *turn.piece;
    const KeptPiece& piece = *open.piece;
    Part& part = parts_[{piece.worker, piece.run}];
    if (part.any && part.attempt != piece.attempt) TellPart(piece.worker, &part);
    if (seen_.emplace(piece.run, piece.attempt).second) watcher_.OnAttempt(piece);
    if (const auto gap = gaps_.find(piece.name); gap != gaps_.end()) {
      watcher_.OnMissing(piece.worker, gap->second);
      gaps_.erase(gap);
    }
    if (open.row.whole && !part.any) {
      TellLine(piece.worker, open.row.time, open.row.text);
    } else {
      if (!part.any) part = {"", open.row.time, piece.attempt, true};
      part.text += open.row.text;
      if (open.row.whole || part.text.size() >= kLongestKeptLine) TellPart(piece.worker, &part);
    }
    Advance(turn);
  }

  void TellPart(int worker, Part* part) {
    if (!part->any) return;
    TellLine(worker, part->time, part->text);
    *part = {};
  }

  void TellLine(int worker, LogTime time, std::string_view line) {
    if (request_.since && time < *request_.since) return;
    if (const auto skip = skip_.find(worker); skip != skip_.end() && skip->second > 0) {
      --skip->second;
      return;
    }
    watcher_.OnLine(worker, time, line);
  }

  const KeptLogRequest& request_;
  std::map<int, std::uint64_t> skip_;  // lines of each worker that are not wanted
  KeptLogWatcher& watcher_;
  std::list<OpenPiece> open_;
  std::size_t open_bytes_ = 0;
  std::priority_queue<Turn> queue_;
  std::map<Whose, std::uint64_t> ends_;        // of what was opened, in its log
  std::map<std::string, std::uint64_t> gaps_;  // before a piece, until it is told
  std::map<Whose, Part> parts_;
  std::set<std::pair<std::string, int>> seen_;  // run, attempt
};

// ---- Which pieces are wanted.

// By time; those of one worker and run as they were written, also where its clock was set back.
void Order(std::vector<KeptPiece>* pieces) {
  std::sort(pieces->begin(), pieces->end(), [](const KeptPiece& a, const KeptPiece& b) {
    return std::tie(a.worker, a.run, a.sequence, a.name) <
           std::tie(b.worker, b.run, b.sequence, b.name);
  });
  for (std::size_t i = 1; i < pieces->size(); ++i) {
    const KeptPiece& before = (*pieces)[i - 1];
    KeptPiece& piece = (*pieces)[i];
    if (piece.worker != before.worker || piece.run != before.run) continue;
    piece.first = std::max(piece.first, before.first);
  }
  std::stable_sort(pieces->begin(), pieces->end(),
                   [](const KeptPiece& a, const KeptPiece& b) { return a.first < b.first; });
}

Result<std::vector<KeptPiece>> FindPieces(KeptObjects& objects, const KeptLogRequest& request,
                                          const std::stop_token& stop) {
  const std::string start =
      request.since ? request.folder + NameTime(*request.since - kLongestSpan) : "";
  auto names = objects.List(request.folder, start, stop);
  if (!names) return names.error();
  std::vector<KeptPiece> pieces;
  for (const std::string& name : *names) {
    auto piece = ReadPieceName(request.folder, name);
    if (!piece || (request.attempt && piece->attempt != *request.attempt)) continue;
    if (request.since && piece->last < *request.since) continue;
    if (pieces.size() == kMostPieces) {
      return MakeError(ErrorCode::kOutOfRange,
                       fmt::format("more than {} pieces of the log are kept", kMostPieces),
                       "`--since 2h` reads the last of them.");
    }
    pieces.push_back(*std::move(piece));
  }
  Order(&pieces);
  return pieces;
}

std::vector<int> NumbersIn(const std::vector<KeptPiece>& pieces) {
  std::set<int> workers;
  for (const KeptPiece& piece : pieces) workers.insert(piece.worker);
  return {workers.begin(), workers.end()};
}

// Leaves those of workers that the pod has.
void DropStrangers(const KeptLogRequest& request, std::vector<KeptPiece>* pieces,
                   KeptLogWatcher& watcher) {
  if (!request.count || pieces->empty()) return;
  const int highest = NumbersIn(*pieces).back();
  const std::size_t dropped = std::erase_if(
      *pieces, [&](const KeptPiece& piece) { return piece.worker >= *request.count; });
  if (dropped > 0) watcher.OnStrangers(dropped, highest);
}

// Leaves those of the workers that are meant.
Result<void> ChooseWorkers(const KeptLogRequest& request, std::vector<KeptPiece>* pieces) {
  if (pieces->empty()) return {};
  const std::string pod = BarePodName(request.pod);
  const bool all = request.workers.empty() && (request.pod == pod || request.pod == "pod." + pod);
  if (all) return {};
  PodTarget target{PodAddress(pod).Text(), {}, {}};
  // As many as there must have been.
  target.workers.resize(static_cast<std::size_t>(NumbersIn(*pieces).back()) + 1);
  for (std::size_t i = 0; i < target.workers.size(); ++i) {
    target.workers[i].pod = pod;
    target.workers[i].index = static_cast<int>(i);
  }
  TakeNamedWorkers(request.pod, &target);
  const auto chosen = SelectWorkers(target, request.workers, "all");
  if (!chosen) return chosen.error();
  std::set<int> wanted;
  for (const WorkerAccess& worker : *chosen) wanted.insert(worker.index);
  std::erase_if(*pieces, [&](const KeptPiece& piece) { return !wanted.contains(piece.worker); });
  return {};
}

std::uint64_t CountLines(std::string_view text, const std::optional<LogTime>& since) {
  std::uint64_t lines = 0;
  LogTime time{};
  while (!text.empty()) {
    const KeptRow row = TakeRow(&text, time);
    time = row.time;
    if (row.whole && (!since || time >= *since)) ++lines;
  }
  return lines;
}

// Leaves of each worker the pieces with its last lines. Returns how many lines at their beginning
// are too many, by worker.
Result<std::map<int, std::uint64_t>> ChooseTail(KeptObjects& objects, const KeptLogRequest& request,
                                                std::vector<KeptPiece>* pieces,
                                                const std::stop_token& stop) {
  std::map<int, std::uint64_t> lines;
  std::vector<KeptPiece> chosen;
  for (auto piece = pieces->rbegin(); piece != pieces->rend(); ++piece) {
    std::uint64_t& count = lines[piece->worker];
    if (count >= *request.tail) continue;
    const auto text = objects.Read(piece->name, stop);
    if (!text && text.error().code != ErrorCode::kNotFound) return text.error();
    if (text) count += CountLines(*text, request.since);
    chosen.push_back(std::move(*piece));
  }
  std::reverse(chosen.begin(), chosen.end());
  *pieces = std::move(chosen);
  for (auto& [worker, count] : lines) count = count > *request.tail ? count - *request.tail : 0;
  return lines;
}

}  // namespace

std::optional<gcp::StoragePlace> KeptLogsOf(const JobSpec& job) {
  if (job.logs.empty()) return std::nullopt;
  const auto place = gcp::ParseStoragePlace(job.logs);
  return place ? std::optional(*place) : std::nullopt;
}

std::string KeptLogFolder(const gcp::StoragePlace& place, const std::string& pod,
                          const std::string& job) {
  return fmt::format("{}{}{}/{}/", place.prefix, place.prefix.empty() ? "" : "/", pod, job);
}

std::string FormatLogTime(LogTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                     (time - seconds).count());
}

std::optional<KeptPiece> ReadPieceName(std::string_view folder, const std::string& name) {
  std::string_view rest = name;
  if (!rest.starts_with(folder) || !rest.ends_with(kPieceEnd)) return std::nullopt;
  rest.remove_prefix(folder.size());
  if (rest.size() < kPieceEnd.size()) return std::nullopt;
  rest.remove_suffix(kPieceEnd.size());
  const std::vector<std::string_view> parts = Split(rest, "_");
  if (parts.size() != kNameParts || !IsRunName(parts[2])) return std::nullopt;
  const auto first = ReadTimeLike(kNameTime, parts[0]);
  const auto last = ReadTimeLike(kNameTime, parts[1]);
  const auto attempt = ParseNumber<int>(parts[3]);
  const auto worker = ParseNumber<int>(parts[4]);
  const auto sequence = ParseNumber<std::uint64_t>(parts[5]);
  const auto offset = ParseNumber<std::uint64_t>(parts[6]);
  const auto length = ParseNumber<std::uint64_t>(parts[7]);
  if (!first || !last || *last < *first || !attempt || *attempt < 1 || *attempt > kHighestAttempt ||
      !worker || *worker < 0 || *worker > kHighestWorker || !sequence || !offset ||
      *offset > kLongestLog || !length || *length == 0 || *length > kLongestPiece) {
    return std::nullopt;
  }
  return KeptPiece{name,      *first,  *last,  std::string(parts[2]), *attempt, *worker,
                   *sequence, *offset, *length};
}

Error BucketObjects::OfLogs(Error error) const {
  if (error.code == ErrorCode::kPermissionDenied) {
    error.hint = fmt::format(
        "Who reads kept logs needs roles/storage.objectViewer: `gcloud storage buckets "
        "add-iam-policy-binding gs://{} --member=user:YOU@example.com "
        "--role=roles/storage.objectViewer`",
        bucket_);
  } else if (error.code == ErrorCode::kNotFound) {
    error.hint = "The bucket of a job's `logs` is made by you, not by podctl.";
  }
  return error;
}

Result<std::vector<std::string>> BucketObjects::List(const std::string& prefix,
                                                     const std::string& start,
                                                     const std::stop_token& stop) {
  auto found = client_.List(bucket_, prefix, start, stop);
  if (!found) return OfLogs(found.error());
  std::vector<std::string> names;
  names.reserve(found->size());
  for (gcp::StorageObject& object : *found) names.push_back(std::move(object.name));
  return names;
}

Result<std::string> BucketObjects::Read(const std::string& name, const std::stop_token& stop) {
  auto found = client_.Get(bucket_, name, stop);
  if (!found) return OfLogs(found.error());
  if (!*found) return MakeError(ErrorCode::kNotFound, "it is gone");
  return std::move((*found)->bytes);
}

Result<std::size_t> ReadKeptLog(KeptObjects& objects, const KeptLogRequest& request,
                                KeptLogWatcher& watcher, const std::stop_token& stop) {
  auto pieces = FindPieces(objects, request, stop);
  if (!pieces) return pieces.error();
  DropStrangers(request, &*pieces, watcher);
  if (const auto chosen = ChooseWorkers(request, &*pieces); !chosen) return chosen.error();
  std::map<int, std::uint64_t> skip;
  if (request.tail) {
    auto counted = ChooseTail(objects, request, &*pieces, stop);
    if (!counted) return counted.error();
    skip = *std::move(counted);
  }
  watcher.OnWorkers(NumbersIn(*pieces));
  PieceFeed feed(objects, *pieces, stop);
  KeptStory story(request, std::move(skip), watcher);
  for (const KeptPiece& piece : *pieces) {
    if (stop.stop_requested()) return MakeError(ErrorCode::kCancelled, "stopped");
    story.TellBefore(piece.first);
    Result<std::string> text = feed.Next();
    // A row for each byte is the most that a piece can hold.
    constexpr std::size_t kRowHead = kRowTime.size() + kWholeRow.size() + 2;
    if (text && text->size() > piece.length * kRowHead) {
      text = MakeError(ErrorCode::kDataLoss, "it is larger than a piece of a log can be");
    }
    if (text) {
      story.Open(piece, *std::move(text));
    } else if (text.error().code == ErrorCode::kNotFound ||
               text.error().code == ErrorCode::kDataLoss) {
      watcher.OnBroken(piece.name, text.error());
    } else {
      return text.error();
    }
  }
  if (stop.stop_requested()) return MakeError(ErrorCode::kCancelled, "stopped");
  story.TellRest();
  return pieces->size();
}

}  // namespace podctl

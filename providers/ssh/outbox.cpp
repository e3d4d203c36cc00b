#include "providers/ssh/outbox.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "providers/base/error.h"
#include "providers/ssh/line_splitter.h"

namespace podctl::ssh {
namespace {

constexpr std::size_t kHead = 5;        // a packed piece: the stream, its size, its bytes
constexpr std::size_t kMaxPhases = 16;  // of a job that the reader has not come to for long
// How long what has come may wait for more. Nobody sees it, not even in a terminal.
constexpr std::chrono::milliseconds kCollect{10};
constexpr std::size_t kHandful = 64;  // jobs with news, which are worth a wake-up

void AppendPiece(std::string& packed, Stream stream, std::string_view bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  char head[kHead];
  head[0] = stream == Stream::kOut ? 0 : 1;
  std::memcpy(head + 1, &size, sizeof(size));
  packed.append(head, kHead);
  packed.append(bytes);
}

}  // namespace

Outbox::Outbox(std::size_t jobs, Sizes sizes, std::function<void()> on_capacity)
    : sizes_(sizes), on_capacity_(std::move(on_capacity)), scratch_(sizes.far_all), boxes_(jobs) {}

void Outbox::Enqueue(std::size_t job) {
  Box& box = boxes_[job];
  if (box.queued) return;
  box.queued = true;
  ready_.push_back(job);
}

void Outbox::PutPhase(std::size_t job, Phase phase) {
  if (phase == Phase::kDone) return;  // the reader's to tell, after the result
  const std::lock_guard lock(mutex_);
  std::vector<Phase>& phases = boxes_[job].phases;
  if (phases.size() == kMaxPhases) phases.pop_back();
  phases.push_back(phase);
  Enqueue(job);
}

void Outbox::PutTrouble(std::size_t job, Cause why) {
  const std::lock_guard lock(mutex_);
  boxes_[job].trouble = std::move(why);
  Enqueue(job);
}

bool Outbox::Fits(const Box& box, std::size_t bytes) const {
  const std::size_t size = bytes + kHead;
  return box.far.empty() && box.last.empty() && box.near.size() + size <= sizes_.near_job &&
         near_bytes_ + size <= sizes_.near_all;
}

void Outbox::PutOutput(std::size_t job, Stream stream, std::string_view bytes) {
  PODCTL_CHECK(bytes.size() <= kChunk);
  const std::lock_guard lock(mutex_);
  Box& box = boxes_[job];
  Enqueue(job);
  if (Fits(box, bytes.size())) {
    near_bytes_ += bytes.size() + kHead;
    AppendPiece(box.near, stream, bytes);
    return;
  }
  if (dropped_) return;
  const std::size_t written = box.last.empty() ? PutFar(box, stream, bytes) : 0;
  if (written == bytes.size()) return;
  // The disk is full, so it stays in memory: one chunk a job at most, as the job is Full now.
  AppendPiece(box.last, stream, bytes.substr(written));
}

// Appends to the job's last block on disk, and to a new one where that is full. Returns how much
// found room.
std::size_t Outbox::PutFar(Box& box, Stream stream, std::string_view bytes) {
  std::string packed;
  std::size_t done = 0;
  while (done < bytes.size()) {
    if (box.far.empty() || box.far.back().end + kHead >= ScratchFile::kBlock) {
      const auto number = scratch_.Take();
      if (!number.has_value()) break;
      box.far.push_back(Block{*number, 0, 0});
    }
    Block& block = box.far.back();
    const std::size_t room = ScratchFile::kBlock - block.end - kHead;
    const std::string_view piece = bytes.substr(done, room);
    packed.clear();
    AppendPiece(packed, stream, piece);
    if (!scratch_.Write(block.number, block.end, packed)) {
      disk_full_ = true;
      break;
    }
    block.end += packed.size();
    done += piece.size();
  }
  return done;
}

void Outbox::PutResult(std::size_t job, WorkerResult result) {
  const std::lock_guard lock(mutex_);
  boxes_[job].result = std::make_unique<WorkerResult>(std::move(result));
  Enqueue(job);
}

bool Outbox::HasCapacity(const Box& box, std::uint32_t far_limit) const {
  if (box.near.empty() && box.far.empty() && box.last.empty()) return true;
  if (Fits(box, kChunk) || dropped_) return true;
  return !disk_full_ && box.last.empty() && box.far.size() < far_limit;
}

bool Outbox::Full(std::size_t job) {
  const std::lock_guard lock(mutex_);
  Box& box = boxes_[job];
  box.waits_for_capacity = !HasCapacity(box, sizes_.far_job);
  return box.waits_for_capacity;
}

std::vector<std::size_t> Outbox::TakeResumable() {
  const std::lock_guard lock(mutex_);
  return std::exchange(resumable_, {});
}

void Outbox::Flush() {
  const std::lock_guard lock(mutex_);
  if (!ready_.empty() && (!collecting_ || ready_.size() >= kHandful)) arrived_.notify_one();
}

void Outbox::DropBacklog() {
  const std::lock_guard lock(mutex_);
  dropped_ = true;
}

void Outbox::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  arrived_.notify_one();
}

void Outbox::WaitForNews(std::unique_lock<std::mutex>& lock) {
  if (closed_ || !ready_.empty()) return;
  arrived_.wait(lock, [this] { return closed_ || !ready_.empty(); });
  if (closed_ || boxes_.size() == 1) return;
  collecting_ = true;
  arrived_.wait_for(lock, kCollect, [this] { return closed_ || ready_.size() >= kHandful; });
  collecting_ = false;
}

bool Outbox::Take(Turn& turn) {
  turn.phases.clear();
  turn.output.clear();
  turn.result.reset();
  std::unique_lock lock(mutex_);
  WaitForNews(lock);
  if (ready_.empty()) return false;
  turn.job = ready_.front();
  ready_.pop_front();
  Box& box = boxes_[turn.job];
  turn.trouble = std::exchange(box.trouble, {});
  turn.phases.swap(box.phases);
  if (!box.near.empty()) {
    near_bytes_ -= box.near.size();
    turn.output = std::exchange(box.near, {});
  } else if (!box.far.empty()) {
    TakeFar(box, turn, lock);
  } else {
    turn.output = std::exchange(box.last, {});
  }
  if (box.near.empty() && box.far.empty() && box.last.empty()) turn.result = std::move(box.result);
  box.queued = !box.near.empty() || !box.far.empty() || !box.last.empty() || !box.phases.empty() ||
               box.result != nullptr;
  if (box.queued) ready_.push_back(turn.job);
  if (!box.waits_for_capacity || !HasCapacity(box, sizes_.far_job / 2)) return true;
  box.waits_for_capacity = false;
  resumable_.push_back(turn.job);
  lock.unlock();
  on_capacity_();
  return true;
}

// What the first block on disk holds. It is read without the lock: the writer only adds behind it.
void Outbox::TakeFar(Box& box, Turn& turn, std::unique_lock<std::mutex>& lock) {
  while (dropped_ && !box.far.empty()) {
    scratch_.GiveBack(box.far.front().number);
    box.far.pop_front();
  }
  if (box.far.empty()) return;
  const Block block = box.far.front();
  lock.unlock();
  turn.output.resize(block.end - block.begin);
  const bool good =
      scratch_.Read(block.number, block.begin, turn.output.data(), turn.output.size());
  lock.lock();
  if (!good) turn.output.clear();
  Block& now = box.far.front();
  now.begin = block.end;
  // The last block may have more by now. A block that is read to its end makes room for another.
  if (now.begin < now.end) return;
  scratch_.GiveBack(now.number);
  box.far.pop_front();
  disk_full_ = false;
}

void Outbox::Unpack(std::string_view output,
                    const std::function<void(Stream, std::string_view)>& take) {
  while (output.size() > kHead) {
    std::uint32_t size = 0;
    std::memcpy(&size, output.data() + 1, sizeof(size));
    const Stream stream = output.front() == 0 ? Stream::kOut : Stream::kErr;
    take(stream, output.substr(kHead, size));
    output.remove_prefix(std::min(output.size(), kHead + size));
  }
}

std::vector<WorkerResult> Deliver(Outbox& outbox, std::size_t jobs, Observer& observer) {
  std::vector<WorkerResult> results(jobs);
  std::vector<std::array<LineSplitter, 2>> splitters(jobs);
  const bool as_bytes = observer.TakesBytes();
  Outbox::Turn turn;
  while (outbox.Take(turn)) {
    const std::size_t job = turn.job;
    auto& pair = splitters[job];
    if (turn.trouble) observer.OnTryAgain(job, turn.trouble);
    for (const Phase phase : turn.phases) observer.OnPhase(job, phase);
    const auto tell = [&](Stream stream) {
      return [&, stream](std::string_view line, bool ends) {
        if (!ends) observer.OnOpenLine(job, stream);
        observer.OnLine(job, stream, line);
      };
    };
    Outbox::Unpack(turn.output, [&](Stream stream, std::string_view bytes) {
      if (as_bytes) return observer.OnBytes(job, stream, bytes);
      pair[static_cast<std::size_t>(stream)].Add(bytes, tell(stream));
    });
    if (turn.result == nullptr) continue;
    for (const Stream stream : {Stream::kOut, Stream::kErr}) {
      pair[static_cast<std::size_t>(stream)].Finish(tell(stream));
    }
    results[job] = std::move(*turn.result);
    observer.OnResult(job, results[job]);
    observer.OnPhase(job, Phase::kDone);
  }
  return results;
}

}  // namespace podctl::ssh

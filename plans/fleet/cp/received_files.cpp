#include "plans/fleet/cp/received_files.h"

#include <algorithm>
#include <utility>

namespace podctl {
namespace {

constexpr std::size_t kMostWords = 4096;  // bytes of standard error that are kept of a worker

// A name that cannot be written here, like an archive that is none, is that worker's own trouble.
bool IsOurs(const Error& error) {
  return error.code == ErrorCode::kIo;
}

}  // namespace

ReceivedFiles::ReceivedFiles(const std::vector<Place>& places, const tar::RequestedNames& asked,
                             std::stop_source stop)
    : stop_(std::move(stop)) {
  for (const Place& place : places) workers_.push_back(std::make_unique<Worker>(place, asked));
  wanted_ = workers_.size();
}

void ReceivedFiles::Fail(Worker& worker, const Error& error) {
  if (worker.problem) return;
  worker.problem = error;
  if (!worker.ended) --wanted_;
  StopWaitingForFailed();
  if (!IsOurs(error) || trouble_) return;
  trouble_ = error;
  stop_.request_stop();
}

// A worker that sent what was not asked for may go on sending, or say nothing more, for ever.
void ReceivedFiles::StopWaitingForFailed() {
  if (wanted_ == 0 && ended_ < workers_.size()) stop_.request_stop();
}

void ReceivedFiles::OnBytes(std::size_t job, ssh::Stream stream, std::string_view bytes) {
  Worker& worker = *workers_[job];
  worker.heard = true;
  if (stream == ssh::Stream::kErr) {
    worker.words += bytes.substr(0, kMostWords - std::min(kMostWords, worker.words.size()));
    return;
  }
  if (worker.problem) return;
  const std::uint64_t before = worker.unpacker.bytes();
  if (auto taken = worker.unpacker.Take(bytes); !taken) Fail(worker, taken.error());
  bytes_ += worker.unpacker.bytes() - before;
}

void ReceivedFiles::OnEnd(std::size_t job, const ssh::WorkerResult& result) {
  Worker& worker = *workers_[job];
  worker.ended = true;
  ++ended_;
  if (!worker.problem) --wanted_;
  StopWaitingForFailed();
  if (!result.ok() || worker.problem) return;
  if (auto whole = worker.unpacker.Finish(); !whole) Fail(worker, whole.error());
}

std::uint64_t ReceivedFiles::files() const {
  std::uint64_t count = 0;
  for (const auto& worker : workers_) count += worker->unpacker.files();
  return count;
}

}  // namespace podctl

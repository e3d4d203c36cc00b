#include "plans/fleet/exec/output_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/base/text.h"
#include "providers/os/file_system.h"

namespace podctl {
namespace {

constexpr std::size_t kPiece = std::size_t{64} << 10;

std::size_t EqualBytes(std::string_view a, std::string_view b) {
  const std::size_t size = std::min(a.size(), b.size());
  if (a.substr(0, size) == b.substr(0, size)) return size;  // at the speed of memcmp
  return static_cast<std::size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(size), b.begin()).first -
      a.begin());
}

}  // namespace

OutputStore::OutputStore(std::string scratch_folder, Limits limits)
    : scratch_folder_(std::move(scratch_folder)), limits_(limits), branches_(1) {
  buffer_.resize(kPiece);
}

void OutputStore::Fail(const Error& error) {
  if (!trouble_) trouble_ = error;
  branches_.assign(1, {});
  scratch_.reset();
  in_memory_ = 0;
}

// What stands in `branch` from `at` on, at most `most` bytes; empty at its end, and after trouble.
std::string_view OutputStore::Piece(const Branch& branch, std::uint64_t at,
                                    std::size_t most) const {
  if (at >= branch.in_file()) {
    const std::size_t begin = static_cast<std::size_t>(at - branch.in_file());
    return std::string_view(branch.memory).substr(std::min(begin, branch.memory.size()), most);
  }
  const auto extent =
      std::upper_bound(branch.extents.begin(), branch.extents.end(), at,
                       [](std::uint64_t offset, const Extent& each) { return offset < each.end; });
  const std::uint64_t begin = extent == branch.extents.begin() ? 0 : std::prev(extent)->end;
  const auto size =
      static_cast<std::size_t>(std::min<std::uint64_t>({extent->end - at, most, buffer_.size()}));
  if (auto read = scratch_->Read(extent->at_file + (at - begin), buffer_.data(), size); !read) {
    if (!trouble_) trouble_ = read.error();
    return {};
  }
  return std::string_view(buffer_).substr(0, size);
}

void OutputStore::Add(Place& place, std::string_view bytes) {
  while (!bytes.empty() && !trouble_) {
    Branch& branch = branches_[place.branch];
    if (place.at == branch.size) {  // the first to come so far
      place.at += bytes.size();
      return Append(branch, bytes);
    }
    const std::string_view known = Piece(branch, place.at, bytes.size());
    const std::size_t equal = EqualBytes(known, bytes);
    place.at += equal;
    bytes.remove_prefix(equal);
    if (equal == known.size() || bytes.empty()) continue;
    const auto [fork, fresh] =
        branch.forks.try_emplace({place.at, bytes.front()}, branches_.size());
    const std::size_t next = fork->second;
    if (fresh) branches_.push_back({place, 0, {}, {}, {}});
    place = {next, 0};
  }
}

void OutputStore::Append(Branch& branch, std::string_view bytes) {
  branch.memory.append(bytes);
  branch.size += bytes.size();
  in_memory_ += bytes.size();
  if (in_memory_ > limits_.memory) Spill();
}

std::uint64_t OutputStore::LastSize(const std::vector<Extent>& extents) {
  return extents.back().end - (extents.size() == 1 ? 0 : extents[extents.size() - 2].end);
}

void OutputStore::Spill() {
  if (!scratch_) {
    auto made = SpillFile::Make(scratch_folder_);
    if (!made) return Fail(made.error());
    scratch_.emplace(*std::move(made));
  }
  if (scratch_->size() + in_memory_ > limits_.scratch) {
    return Fail(
        MakeError(ErrorCode::kResourceExhausted,
                  fmt::format("the outputs differ in more than {} GiB", limits_.scratch >> 30)));
  }
  for (Branch& branch : branches_) {
    if (branch.memory.empty()) continue;
    auto at = scratch_->Append(branch.memory);
    if (!at) return Fail(at.error());
    const std::uint64_t end = branch.in_file() + branch.memory.size();
    if (!branch.extents.empty() &&
        branch.extents.back().at_file + LastSize(branch.extents) == *at) {
      branch.extents.back().end = end;
    } else {
      branch.extents.push_back({end, *at});
    }
    branch.memory = std::string();
  }
  in_memory_ = 0;
}

std::uint64_t OutputStore::SizeOf(Place place) const {
  std::uint64_t size = place.at;
  while (place.branch != 0) {
    place = branches_[place.branch].from;
    size += place.at;
  }
  return size;
}

Result<void> OutputStore::Read(Place place,
                               const std::function<bool(std::string_view)>& take) const {
  std::vector<Place> way;  // from the last branch to the first
  for (way.push_back(place); way.back().branch != 0;) {
    way.push_back(branches_[way.back().branch].from);
  }
  for (auto end = way.rbegin(); end != way.rend() && !trouble_; ++end) {
    for (std::uint64_t at = 0; at < end->at;) {
      const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(end->at - at, kPiece));
      const std::string_view piece = Piece(branches_[end->branch], at, most);
      if (piece.empty()) break;
      if (!take(piece)) return {};
      at += piece.size();
    }
  }
  if (trouble_) return *trouble_;
  return {};
}

namespace {

constexpr std::size_t kPendingOfFile = std::size_t{64} << 10;  // bytes
constexpr std::size_t kPendingOfAll = std::size_t{8} << 20;    // bytes

}  // namespace

OutputFolder::OutputFolder(const std::vector<ssh::Job>& jobs, std::unique_ptr<HeldFolder> folder)
    : folder_(std::move(folder)) {
  for (const ssh::Job& job : jobs) {
    const std::string name = fmt::format("{}-{}", job.worker.pod, job.worker.index);
    workers_.push_back({{name + ".out", {}, false}, {name + ".err", {}, false}});
  }
}

Result<std::unique_ptr<OutputFolder>> OutputFolder::Open(const std::vector<ssh::Job>& jobs,
                                                         FileSystem& files, const std::string& path,
                                                         Found found, const std::string& below) {
  auto folder = files.HoldFolder(path, below, true);
  if (!folder) return folder.error();
  // Where it was made just now, its name is to last as well; what that says is told by the saves.
  static_cast<void>(files.SyncFolder(below.empty() ? FolderOf(path) : path).has_value());
  const auto names = (*folder)->List();
  if (!names) return names.error();
  if (found == Found::kRefuse && !names->empty()) {
    return MakeError(
        ErrorCode::kAlreadyExists,
        fmt::format("the folder {} holds something already ({})",
                    below.empty() ? path : path + "/" + below, VisibleControls(names->front())),
        "Name a new or empty folder, or give `--overwrite` to replace the results "
        "that are there.");
  }
  return std::unique_ptr<OutputFolder>(new OutputFolder(jobs, *std::move(folder)));
}

void OutputFolder::Fail(const Error& error) {
  if (!trouble_) trouble_ = error;
}

void OutputFolder::Write(File& file) {
  const auto written = folder_->Append(file.name, file.pending, !file.made);
  if (!written) Fail(written.error());
  file.made = true;
  pending_ -= file.pending.size();
  file.pending.clear();
}

void OutputFolder::WriteAll() {
  for (Worker& worker : workers_) {
    for (File* file : {&worker.out, &worker.err}) {
      if (!file->pending.empty()) Write(*file);
      file->pending.shrink_to_fit();
    }
  }
}

void OutputFolder::OnBytes(std::size_t job, ssh::Stream stream, std::string_view bytes) {
  if (trouble_) return;
  Worker& worker = workers_.at(job);
  File& file = stream == ssh::Stream::kOut ? worker.out : worker.err;
  file.pending.append(bytes);
  pending_ += bytes.size();
  if (file.pending.size() >= kPendingOfFile) Write(file);
  if (pending_ > kPendingOfAll) WriteAll();
}

void OutputFolder::OnEnd(std::size_t job, const ssh::WorkerResult& result) {
  using ssh::Outcome;
  Worker& worker = workers_.at(job);
  const bool ran = result.outcome == Outcome::kExited || result.outcome == Outcome::kSignaled ||
                   result.outcome == Outcome::kTimedOut || result.outcome == Outcome::kLost;
  for (File* file : {&worker.out, &worker.err}) {
    if (trouble_) return;
    if (!file->pending.empty() || (ran && !file->made)) Write(*file);
    file->pending.shrink_to_fit();
  }
}

void OutputFolder::Name(std::size_t job, WorkerEntry& entry) const {
  const Worker& worker = workers_.at(job);
  if (worker.out.made) entry.out_file = worker.out.name;
  if (worker.err.made) entry.err_file = worker.err.name;
}

void OutputFolder::Save(const ExecRecord& record) {
  const auto saved = ReplaceDurably(*folder_, kRecord, ExecRecordText(record), 0666);
  if (!saved) Fail(saved.error());
}

}  // namespace podctl

#include "plans/fleet/exec/output_folder.h"

#include <fmt/format.h>

#include <utility>

#include "providers/os/durable_file.h"
#include "providers/os/output_file.h"

namespace podctl {
namespace {

constexpr std::size_t kPendingOfFile = std::size_t{64} << 10;  // bytes
constexpr std::size_t kPendingOfAll = std::size_t{8} << 20;    // bytes

}  // namespace

OutputFolder::OutputFolder(const std::vector<ssh::Job>& jobs, FileSystem& files, std::string path)
    : files_(files), path_(std::move(path)) {
  for (const ssh::Job& job : jobs) {
    const std::string name = fmt::format("{}-{}", job.worker.pod, job.worker.index);
    workers_.push_back({{name + ".out", {}, false}, {name + ".err", {}, false}});
  }
}

Result<std::unique_ptr<OutputFolder>> OutputFolder::Open(const std::vector<ssh::Job>& jobs,
                                                         FileSystem& files, const std::string& path,
                                                         Found found) {
  if (auto made = files.MakeFolders(path); !made) return made.error();
  // Where it was made just now, its name is to last as well; what that says is told by the saves.
  static_cast<void>(files.SyncFolder(FolderOf(path)).has_value());
  const auto names = files.List(path);
  if (!names) return names.error();
  if (found == Found::kRefuse && !names->empty()) {
    return MakeError(
        ErrorCode::kAlreadyExists,
        fmt::format("the folder {} holds something already ({})", path, names->front()),
        "Name a new or empty folder, or give `--overwrite` to replace the results "
        "that are there.");
  }
  return std::unique_ptr<OutputFolder>(new OutputFolder(jobs, files, path));
}

void OutputFolder::Fail(const Error& error) {
  if (!trouble_) trouble_ = error;
}

void OutputFolder::Write(File& file) {
  const auto written = WriteToFile(path_ + "/" + file.name, file.pending, !file.made);
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
  const auto saved = ReplaceDurably(files_, RecordPath(path_), ExecRecordText(record), 0666);
  if (!saved) Fail(saved.error());
}

}  // namespace podctl

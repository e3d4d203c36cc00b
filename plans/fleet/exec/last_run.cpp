#include "plans/fleet/exec/last_run.h"

#include <fmt/format.h>

#include <string_view>

#include "plans/fleet/exec/output_folder.h"

namespace podctl {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

Result<ExecRecord> Parse(std::string_view text, const std::string& path) {
  auto record = ParseExecRecord(text);
  if (!record) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{} holds no results of `podctl exec`: {}", path, record.error().message));
  }
  return record;
}

}  // namespace

LastRun::LastRun(FileSystem& files, const Environment& environment, const std::string& state_path,
                 const std::string& address)
    : pod_(address), file_(files, environment, "exec", state_path, address) {}

void LastRun::Save(const ExecRecord& record) {
  file_.Save(ExecRecordText(record));
}

Result<ExecRecord> LastRun::Load() const {
  const auto text = file_.Load();
  if (!text && text.error().code == ErrorCode::kNotFound) {
    return MakeError(ErrorCode::kNotFound, fmt::format("nothing was run on {} from here yet", pod_),
                     "`--retry-failed DIR` takes the results that `--output-dir DIR` wrote.");
  }
  if (!text) return text.error();
  return Parse(*text, file_.path());
}

Result<ExecRecord> LoadExecRecord(FileSystem& files, const std::string& folder) {
  const std::string path = OutputFolder::RecordPath(folder);
  const auto text = files.Read(path, kMostBytes);
  if (!text && text.error().code == ErrorCode::kNotFound) {
    return MakeError(ErrorCode::kNotFound, fmt::format("there is no results.json in {}", folder),
                     "`--output-dir` writes one; `--retry-failed last` takes the last run.");
  }
  if (!text) return text.error();
  return Parse(*text, path);
}

}  // namespace podctl

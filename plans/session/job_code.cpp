#include "plans/session/job_code.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "providers/os/git.h"

namespace podctl {
namespace {

constexpr std::size_t kShownCommit = 12;

// The folder that git is asked about, and what of it is meant; empty: all of it.
struct InFolder {
  std::string folder;
  std::string name;
};
InFolder FolderOfSource(FileSystem& files, const std::string& source) {
  InFolder in{source, ""};
  // What is gone by now may be in the commit all the same: it is asked for from above.
  while (true) {
    const auto info = files.Stat(in.folder);
    if (info && info->kind == FileInfo::Kind::kFolder) return in;
    const std::size_t slash = in.folder.rfind('/');
    const std::string name = in.folder.substr(slash == std::string::npos ? 0 : slash + 1);
    in.name = in.name.empty() ? name : name + "/" + in.name;
    if (slash == std::string::npos || slash == 0) return {slash == 0 ? "/" : ".", in.name};
    in.folder.erase(slash);
  }
}

bool Holds(const CodeDoors& doors, const JobSync& sync, const CopiedCode& code) {
  const auto content = ReadSync(doors.sync, sync);
  return content && content->digest == code.digest;
}

Error CodeIsGone(const JobSpec& job, const JobSync& sync, const std::string& why) {
  return MakeError(ErrorCode::kFailedPrecondition,
                   fmt::format("what {} was started with is not there any more: {} {}", job.name,
                               sync.source, why),
                   fmt::format("`podctl run {} --detach` starts it with what is there now. What is "
                               "committed before a job is started can be found again.",
                               job.name));
}

}  // namespace

Result<std::vector<CopiedCode>> CodeOf(const CodeDoors& doors, const JobSpec& job) {
  std::vector<CopiedCode> all;
  for (const JobSync& sync : job.sync) {
    const auto content = ReadSync(doors.sync, sync);
    if (!content) return content.error();
    const InFolder where = FolderOfSource(doors.sync.files, sync.source);
    CopiedCode code{content->digest, ""};
    GitFolder git(doors.processes, where.folder, doors.stop);
    if (const auto commit = git.Commit()) code.commit = commit->id;
    all.push_back(std::move(code));
  }
  return all;
}

Result<SameCode> SameCode::Find(const CodeDoors& doors, const JobSpec& job,
                                const std::vector<CopiedCode>& code) {
  SameCode same;
  if (code.size() != job.sync.size()) {
    return MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("`sync` of {} has other entries than when it was started", job.name),
        fmt::format("`podctl run {} --detach` starts it as the spec is now.", job.name));
  }
  for (std::size_t i = 0; i < code.size(); ++i) {
    JobSync sync = job.sync[i];
    if (Holds(doors, sync, code[i])) {
      same.sync_.push_back(std::move(sync));
      continue;
    }
    if (code[i].commit.empty()) return CodeIsGone(job, sync, "holds something else");
    const InFolder where = FolderOfSource(doors.sync.files, sync.source);
    auto folder = TemporaryFolder::Make(doors.scratch);
    if (!folder) return folder.error();
    GitFolder git(doors.processes, where.folder, doors.stop);
    const std::string commit = code[i].commit.substr(0, kShownCommit);
    const auto exported = git.Export(code[i].commit, folder->path());
    if (!exported) {
      return CodeIsGone(job, sync,
                        fmt::format("holds something else, and its commit {} cannot be had ({})",
                                    commit, exported.error().message));
    }
    sync.shown = fmt::format("{} of commit {}", sync.source, commit);
    sync.source = *exported + (where.name.empty() ? "" : "/" + where.name);
    if (!Holds(doors, sync, code[i])) {
      return CodeIsGone(job, job.sync[i],
                        fmt::format("holds something else, and so does its commit {}: it had "
                                    "changes that were not committed, or git writes it otherwise "
                                    "than it lay there (`.gitattributes`)",
                                    commit));
    }
    same.sync_.push_back(std::move(sync));
    same.folders_.push_back(*std::move(folder));
  }
  return same;
}

}  // namespace podctl

// What a job copies to its workers (`sync`), known again later: when it comes back it is started
// with what it was started with, not with what lies in the folder by then.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "plans/fleet/run/prepare.h"
#include "plans/kinds/pod/record.h"
#include "plans/spec/job_spec.h"
#include "providers/base/error.h"
#include "providers/os/process.h"
#include "providers/os/temporary_folder.h"

namespace podctl {

// All of it is lent.
struct CodeDoors {
  SyncDoors sync;
  ProcessRunner& processes;  // for git
  std::string scratch;       // where what a commit has is put for as long as it is copied
  std::stop_token stop;
};

// As it is now, for each entry of `sync`. Errors as those of ReadSync.
Result<std::vector<CopiedCode>> CodeOf(const CodeDoors& doors, const JobSpec& job);

// The same content once more.
class SameCode {
 public:
  // From where the spec says it lies, or else from the commit that was checked out there then.
  // kFailedPrecondition where neither has it: then the job cannot be started as it was.
  static Result<SameCode> Find(const CodeDoors& doors, const JobSpec& job,
                               const std::vector<CopiedCode>& code);

  // `sync` of the job, with sources that are there for as long as this is.
  const std::vector<JobSync>& sync() const { return sync_; }

 private:
  std::vector<JobSync> sync_;
  std::vector<TemporaryFolder> folders_;
};

}  // namespace podctl

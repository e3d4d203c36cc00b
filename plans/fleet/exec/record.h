// What came of one `podctl exec`, worker by worker, as results.json keeps it for people, for tools
// and for --retry-failed. Names of variables are in it, never their values.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plans/fleet/kept_file.h"
#include "providers/base/error.h"
#include "providers/base/value.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"
#include "providers/ssh/transport.h"

namespace podctl {

struct WorkerEntry {
  std::string outcome;  // ssh::OutcomeName
  std::optional<int> exit_code;
  std::string signal;
  std::string message;
  int attempts = 0;
  std::chrono::milliseconds waited{0};
  std::chrono::milliseconds ran{0};
  std::uint64_t out_bytes = 0;
  std::uint64_t err_bytes = 0;
  std::string out_file;  // beside results.json; empty: none was written
  std::string err_file;

  bool ok() const { return exit_code == 0; }
};
WorkerEntry EntryOf(const ssh::WorkerResult& result);
// As results.json and the events of --json have it.
Value EntryValue(const WorkerEntry& entry);

struct ExecRecord {
  std::string pod;                   // its address
  std::string job;                   // of `podctl run`; empty: it was `podctl exec`
  std::vector<std::string> command;  // the words after --
  std::vector<std::string> env;      // names
  bool input = false;                // the workers were given standard input
  std::string started;               // RFC 3339
  std::string ended;                 // empty: it goes on, or podctl was killed
  std::vector<int> workers;          // that were chosen
  std::map<int, WorkerEntry> results;

  // The chosen workers whose command did not end with 0: failed, skipped, lost or never heard of.
  std::vector<int> NotOk() const;
};

std::string ExecRecordText(const ExecRecord& record);
// kInvalidArgument for anything that ExecRecordText did not write, or a later format.
Result<ExecRecord> ParseExecRecord(std::string_view text);

// ---- Where --retry-failed finds what came of an earlier run: in a folder that --output-dir wrote,
// or, for `last`, in $XDG_STATE_HOME/podctl/exec (~/.local/state where that is not set): one file
// for each pod of each state file, readable by its owner only, whole at any moment, also after a
// power cut. The newest 100 are kept.

class LastRun {
 public:
  // For the pod at `address` in the state at `state_path`. The doors are lent.
  LastRun(FileSystem& files, const Environment& environment, const std::string& state_path,
          const std::string& address);

  // Best effort: where it cannot be kept, `--retry-failed last` will say that there is none.
  void Save(const ExecRecord& record);
  // kNotFound when nothing was run yet.
  Result<ExecRecord> Load() const;

 private:
  const std::string pod_;
  KeptFile file_;
};

// What an earlier `--output-dir` left in `folder`.
Result<ExecRecord> LoadExecRecord(FileSystem& files, const std::string& folder);

}  // namespace podctl

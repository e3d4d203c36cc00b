// Looks a worker over: one shell text that is run on it, the reader of its answer, and what the
// answer says about the worker's fitness. Prints nothing, connects to nothing.
//
// The answer comes from a machine that may be broken or hostile: it is read strictly, bounded in
// lines and lengths, and texts of others in it (names, commands) lose their control characters.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "providers/base/error.h"

namespace podctl::workers {

struct ProbeRequest {
  // How long a tpu-runtime that is starting is waited for; it is probed when that is over.
  std::chrono::seconds runtime_patience{0};
  // Names of variables ([A-Za-z_][A-Za-z0-9_]*) of the runtime's environment to be told about, as
  // digests: values may be secret. Others are left out.
  std::vector<std::string> variables;
  std::string root;  // the folder below which /dev and /tmp are looked for: "" but in tests
};

// One command for the remote shell.
std::string ProbeCommand(const ProbeRequest& request);

// A process that holds the TPU or libtpu's lock file.
struct Holder {
  enum class Owner {
    kNobody,         // no one that podctl knows of: left over, or somebody's run
    kRuntime,        // tpu-runtime itself
    kStartupScript,  // the node's startup-script, or what it started
    kJob,            // a job of `podctl exec --detach`
  };
  int pid = 0;
  std::uint64_t start = 0;  // ticks since boot: tells it from a later process of the same number
  std::string user;
  std::chrono::seconds age{0};
  Owner owner = Owner::kNobody;
  std::string job;                 // of kJob
  std::string job_user;            // of kJob: the user whose home keeps it; empty: it does not tell
  std::vector<std::string> files;  // "/dev/accel0", "/tmp/libtpu_lockfile"
  std::string command;
};

struct ProbeReport {
  enum class Runtime { kNoUnit, kNoSystemd, kUnit };
  struct Disk {
    std::string mount;
    int used_percent = 0;
    std::uint64_t left_kib = 0;
  };

  std::string user;
  bool home_writable = false;
  std::int64_t clock = 0;  // seconds since 1970, there
  std::vector<Disk> disks;
  Runtime runtime = Runtime::kNoUnit;
  std::string runtime_state;  // of kUnit: "active", "failed", …
  int chips = 0;              // TPU chips on the PCI bus
  int devices = 0;            // /dev/accel*, /dev/vfio/N
  bool saw_all = true;        // false: processes of other users could not be looked at
  std::vector<Holder> holders;
  std::string lock_owner;  // of libtpu's lock file; empty: there is none
  // By name: SHA-256 in hex; "" where the runtime has no such variable; absent where it could not
  // be seen.
  std::map<std::string, std::string> variables;
};

// `lines` of standard output; what comes before the answer's first line (a login message) is passed
// over. kDataLoss when it is not a whole answer.
Result<ProbeReport> ParseProbe(const std::vector<std::string>& lines);

// "holder …" as kScanHolders writes it, added to `holders`; false when it is none.
bool TakeHolder(const std::string& line, std::vector<Holder>* holders);
// The numbers of the TPU chips that it holds: /dev/accelN, /dev/vfio/N.
std::set<int> ChipsOf(const Holder& holder);
// "pid 4711 of alice, /dev/accel0, for 2h5m".
std::string DescribeHolder(const Holder& holder);

// One thing that is wrong with a worker. Workers with the same summary have the same trouble.
struct Finding {
  std::string code;     // for tools: "tpu-held", "runtime-inactive", …
  std::string summary;  // a clause: "the TPU is held by `python3 train.py`"
  std::string detail;   // what differs from worker to worker; may be empty
  std::string to_do;    // a sentence or a command, with {pod} and {workers} to be filled in
  // A word of the worker's that ends the command of `to_do`; who shows it quotes it. May be empty.
  std::string argument = {};
};

struct Expectation {
  std::int64_t clock = 0;                        // seconds since 1970, here; 0: not compared
  std::map<std::string, std::string> variables;  // SHA-256 of what the runtime should have
};

std::vector<Finding> Judge(const ProbeReport& report, const Expectation& expected);

}  // namespace podctl::workers

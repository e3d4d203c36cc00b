// What the command line said, as plain structs: the seam between arguments.cpp and the commands.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace podctl {

inline constexpr std::string_view kVersion = PODCTL_VERSION;

struct GlobalOptions {
  std::string command_line;        // as others may read it (command_line.h)
  std::vector<std::string> files;  // -f; empty: podctl.yaml
  bool recursive = false;          // -R: folders of `files` with all below them
  std::string state;               // --state; empty: what the spec says
  std::optional<std::string> project;
  std::optional<std::string> zone;
  std::optional<std::string> endpoint;
  std::map<std::string, std::string> vars;
  std::vector<std::string> var_files;
  int parallelism = 10;
  int state_history = 5;  // generations of the state that are kept
  std::chrono::milliseconds lock_timeout{0};
  bool json = false;
  bool no_color = false;
  bool input = true;  // --input=false: never ask
};

struct ApplyOptions {  // plan, apply and destroy
  bool auto_approve = false;
  bool detailed_exitcode = false;
  bool destroy = false;
  bool refresh_only = false;
  bool refresh = true;               // --refresh=false: the state alone tells what there is
  std::vector<std::string> targets;  // --target
  std::vector<std::string> replace;  // --replace
  std::string plan_file;             // apply and show: a saved plan; empty: none
  std::string out;                   // plan: where to save it; empty: nowhere
  bool wait = true;                  // apply --no-wait: leave requests in the queue
  bool markdown = false;             // plan and show: as a comment for a pull request
};

struct WatchOptions {
  std::chrono::milliseconds interval{60'000};
  bool once = false;
  bool detailed_exitcode = false;
  std::vector<std::string> targets;
};

struct PodOptions {  // exec, ssh, tunnel
  std::string pod;
  std::string workers;               // --worker
  std::vector<std::string> command;  // after --
  std::vector<std::string> ports;    // tunnel: [LOCAL:]REMOTE, or a name of the spec's
  std::string open;                  // tunnel --open: "browser" or "url"; empty: no
  bool tty = false;                  // exec, ssh: a pty also for a command
};

struct CpOptions {
  std::vector<std::string> paths;  // SRC… DST
  std::string workers;             // --worker
  bool recursive = false;          // -r, as scp wants it: folders are copied anyway
};

// A number of workers, or a share of those that are chosen.
struct CountOrShare {
  int number = 0;
  bool percent = false;

  // Rounded down; a share of something may be none.
  int Of(std::size_t workers) const {
    return percent ? static_cast<int>(workers * static_cast<std::size_t>(number) / 100) : number;
  }
};

struct ExecOptions {                     // exec, beside PodOptions
  std::chrono::milliseconds timeout{0};  // of the command; 0: none
  std::vector<std::string> env;          // "NAME=VALUE", or "NAME" from the environment
  bool no_stdin = false;                 // standard input is left alone
  bool gather = false;
  bool diff = false;
  std::string output_dir;  // empty: none
  bool overwrite = false;
  std::string retry_failed;           // "last", a folder, or empty
  std::optional<CountOrShare> batch;  // how many run the command at a time
  std::optional<CountOrShare> max_failures;
  bool fail_fast = false;
  std::string detach;  // name of the job to start; empty: stay and watch
};

struct FleetOptions {  // doctor, drain, jobs, logs, kill
  std::string pod;
  std::string workers;  // --worker; empty: all
  std::string job;
  std::optional<std::chrono::milliseconds> grace;  // drain, kill: between TERM and KILL
  bool dry_run = false;                            // drain
  bool auto_approve = false;                       // drain
  bool with_jobs = false;                          // drain: jobs of podctl too
  bool follow = false;                             // logs
  bool resume = false;                             // logs: from where they stopped
  int tail = 0;                                    // logs: so many last lines; 0: all
};

struct RunOptions {
  std::string job;
  std::string workers;                 // --worker; empty: as the job says
  std::vector<std::string> arguments;  // after --
  bool local = false;                  // on this machine
  bool print = false;                  // only show what would run
  bool detach = false;
  bool list = false;
  bool drain = true;
  bool drain_jobs = false;  // jobs of podctl that are in the way too
  bool sync = true;
  bool tell = true;  // says what was started, and how to watch it
};

struct EmulatorOptions {
  std::string listen = "127.0.0.1:8470";
  std::string data;
  std::string workers = "sshd";
  std::chrono::milliseconds operation_delay{2000};
  std::string worker_network;  // "private", "host"; empty: private where it can be had
  int ssh_port = 0;            // 0: 22 where that may be bound, else 2222
  // Rules, as docs/emulator.md writes them.
  std::vector<std::string> capacity;
  std::vector<std::string> quotas;
  std::vector<std::string> reservations;
  std::string faults;  // a file
};

struct InitArguments {
  std::string template_name = "minimal";
  std::string folder = ".";
  bool list = false;
  std::string from_command;     // a line of another tool; empty: none
  bool legacy_request = false;  // with it
};

struct ImportOptions {
  std::string address;     // "pod.research"
  std::string id;          // of the node
  std::string write_spec;  // a file; empty: to stdout
};

struct StateOptions {
  std::vector<std::string> addresses;  // list, show, rm
  std::string from;                    // mv
  std::string to;                      // mv
  bool dry_run = false;                // mv, rm
  std::string file;                    // push: a path, or "-"
  bool force = false;                  // push; rm --force-forget
  std::uint64_t serial = 0;            // restore
};

struct Invocation {
  std::string command;  // "plan", "state list", "help", …
  GlobalOptions global;
  ApplyOptions apply;
  WatchOptions watch;
  PodOptions pod;
  ExecOptions exec;
  CpOptions cp;
  FleetOptions fleet;
  RunOptions run;
  EmulatorOptions emulator;
  InitArguments init;
  ImportOptions import;
  StateOptions state;
  std::string topic;  // help COMMAND, completion SHELL
};

}  // namespace podctl

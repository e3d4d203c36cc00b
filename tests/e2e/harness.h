// What the end-to-end tests need to be a user: a folder and a home of their own, an emulator, the
// built binary, terminals, and a look at what the emulator was asked.
//
// Knows nothing of podctl's insides but the JSON reader and the HTTP client. Every wait ends by a
// condition or by a generous limit, never by time alone. Everything that was started dies with its
// object, whole process groups at once, and with the thread that started it. Each object belongs to
// one thread.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "providers/base/value.h"
#include "providers/http/curl_transport.h"

namespace podctl::testing {

using Arguments = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

// A guard against what never ends, and no measure of speed: a sanitized podctl takes several times
// the CPU, and dozens of them run side by side.
#ifdef __SANITIZE_ADDRESS__
inline constexpr std::chrono::seconds kPatience{180};
#else
inline constexpr std::chrono::seconds kPatience{60};
#endif

// Looks every 20 ms; false when the condition did not come true within the limit.
bool Eventually(const std::function<bool()>& condition,
                std::chrono::milliseconds limit = kPatience);

struct RunResult {
  int code = -1;  // 128 + N when signal N ended it; -1 when it did not end in time
  std::string out;
  std::string err;
};

// Shows everything when an expectation about a run fails.
std::ostream& operator<<(std::ostream& out, const RunResult& run);

// More than what podctl takes for one signal.
inline constexpr std::chrono::milliseconds kTwoSignals{300};

// A running program in a process group of its own, its output in files.
class Process {
 public:
  Process(const Arguments& words, const Variables& environment, const std::string& folder,
          const std::string& output_base);
  ~Process();  // kills the group
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  std::string out() const;
  std::string err() const;
  void Signal(int signal) const;
  // As a person presses a key again: what comes at once counts as one (cmd/interrupt.h).
  void SignalOnceMore(int signal) const;
  bool WaitForOut(const std::string& text) const;
  bool WaitForErr(const std::string& text) const;
  // Its exit code (see RunResult) once it has ended; nullopt when it runs on after `limit`.
  std::optional<int> Wait(std::chrono::milliseconds limit = kPatience);
  RunResult Result();  // waits

 private:
  pid_t pid_ = -1;
  std::optional<int> code_;
  std::string output_base_;
};

// A running program on a terminal of its own.
class Pty {
 public:
  Pty(const Arguments& words, const Variables& environment, const std::string& folder);
  ~Pty();
  Pty(const Pty&) = delete;
  Pty& operator=(const Pty&) = delete;

  pid_t pid() const { return pid_; }
  // Whether keys go to the program as they are typed, without a line being edited here.
  bool IsRaw() const;
  void SendKeys(const std::string& keys);
  void Resize(int columns, int rows);
  // Waits until `text` stands in what was shown since the last Forget.
  bool WaitForText(const std::string& text);
  void Forget() { forgotten_ = shown_.size(); }
  // Everything shown so far, escape sequences included.
  const std::string& shown() const { return shown_; }
  std::optional<int> Wait(std::chrono::milliseconds limit = kPatience);

 private:
  void Read();

  pid_t pid_ = -1;
  int terminal_ = -1;
  std::string shown_;
  std::size_t forgotten_ = 0;
  std::optional<int> code_;
};

struct Reply {
  int status = 0;  // 0: no answer
  Value body;
};

// What a state remembers of an address: its record's payload.
Value Remembered(const Value& state, const std::string& address);
// The intent of what is under way with one of its objects, and that object's `life`; null for none.
Value UnderWay(const Value& state, const std::string& address);

class Sandbox {
 public:
  Sandbox();
  ~Sandbox();  // ends everything, removes the folder
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  // Its data folder outlives StopEmulator, so that the next start finds the same nodes.
  void StartEmulator(const std::string& workers = "sshd", const std::string& delay = "0.3s");
  void StopEmulator();
  // False where workers share this machine's users, ports and processes: light ones, and where no
  // namespaces can be made.
  bool WorkersAreMachines() const { return workers_are_machines_; }
  // The processes on its workers whose command line holds `words`: those below the emulator, and
  // those with its folder in their environment, as on plain workers a daemon's parent is init. Only
  // these are a test's to kill: a plain worker's `pkill` finds whatever its user runs here.
  std::vector<pid_t> OnWorkers(const std::string& words) const;
  // Talks to the emulator of `other`, which must outlive this one's last request.
  void UseEmulatorOf(const Sandbox& other);
  const std::string& url() const { return url_; }
  pid_t emulator_pid() const { return emulator_->pid(); }

  // What a spec needs to reach the workers: `defaults` where they are not on port 22, or where
  // there are none, else "".
  std::string SpecDefaults() const;
  // "project", "zone" and SpecDefaults, then `pods`.
  void WriteSpec(const std::string& pods);
  void WriteFile(const std::string& name, const std::string& text) const;
  std::string ReadFile(const std::string& name) const;  // "" when it is not there
  bool Exists(const std::string& name) const;
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  Value State() const;  // podctl.state.json; null when it is not there or is no JSON

  // For the programs started from now on.
  void SetVariable(const std::string& name, const std::string& value) { variables_[name] = value; }
  void UnsetVariable(const std::string& name) { variables_.erase(name); }

  // podctl itself, in the sandbox's folder.
  RunResult Run(const Arguments& arguments);
  std::unique_ptr<Process> Start(const Arguments& arguments);
  std::unique_ptr<Pty> RunInPty(const Arguments& arguments);
  // Other programs from PATH; for a shell, "$PODCTL" is podctl itself.
  RunResult RunProgram(const Arguments& words);
  std::unique_ptr<Process> StartProgram(const Arguments& words);
  std::unique_ptr<Pty> RunProgramInPty(const Arguments& words);
  // `apply --auto-approve`, which must succeed.
  RunResult Apply();

  // Raw requests to the emulator; `path` begins with a slash.
  Reply Http(const std::string& method, const std::string& path, const std::string& body = "");
  // What the emulator was asked since it began to count.
  Value Requests() { return Http("GET", "/emulator/requests").body; }
  std::int64_t Calls(const std::string& call);  // "nodes.create"
  void CountAnew() { Http("DELETE", "/emulator/requests"); }
  void OrderFault(const std::string& json);
  // How many of the ordered faults have not been met yet, each counted as often as it is to happen.
  std::int64_t FaultsLeft();
  void ForgetFaults() { Http("DELETE", "/emulator/faults"); }
  Reply GetNode(const std::string& id);
  // Sends an unsafe request and waits for its operation.
  void Change(const std::string& method, const std::string& path, const std::string& body = "");

 private:
  std::string OutputBase();

  std::string folder_;
  std::string url_;
  int ssh_port_ = 22;
  bool has_workers_ = true;
  bool workers_are_machines_ = false;
  int started_ = 0;
  Variables variables_;
  std::unique_ptr<Process> emulator_;
  http::CurlTransport http_;
};

// Where the nodes of the tests' specs are.
inline constexpr const char* kNodes = "/v2/projects/my-project/locations/europe-west4-a/nodes";

// The processes below `root`, whatever became of their parents in between.
std::vector<pid_t> Descendants(pid_t root);

std::string Replace(std::string text, const std::string& from, const std::string& to);
// How many lines of `text` begin with `start` and end with `end`.
int CountLines(const std::string& text, const std::string& start, const std::string& end = "");
// Each line of `text` as JSON; a line that is none is a failure of the test.
std::vector<Value> JsonLines(const std::string& text);

}  // namespace podctl::testing

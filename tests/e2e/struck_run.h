// A small run of the real binary that is struck at one of its system calls (syscall_fault.cpp), and
// what must hold afterwards whatever the call was.
//
// Each trial has a folder, a home and a project of its own, so that trials share one emulator and
// many can be under way at once: they mostly wait for operations.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/e2e/harness.h"

namespace podctl::testing {

// A run under the sanitizers takes many times as long, and comes to the same calls: there a
// shortened enumeration takes only every so manieth of its points.
#ifdef __SANITIZE_ADDRESS__
inline constexpr int kThinning = 17;
#else
inline constexpr int kThinning = 1;
#endif

// What a run is to do: from pods that stand there already to pods that are wanted.
struct Scenario {
  std::string name;
  std::string before = "";  // below `pods:`; empty: nothing has ever been applied
  std::string after = "";
  Arguments prepare = {};  // run before
  Arguments run = {"apply", "--auto-approve"};
  Arguments recover = {};                            // run after death; empty: the same again
  Arguments plan = {"plan", "--detailed-exitcode"};  // 0 when nothing is left to do
  int nodes = 1;                                     // that there are in the end
  int creates = 1;       // that the service accepts, those for `before` included
  int stride = 1;        // by default only every so manieth call is struck
  bool workers = false;  // needs an emulator with workers; the step `mark` is run on them

  friend void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }
};
const std::vector<Scenario>& Scenarios();

struct Strike {
  long at = 0;  // 0: nowhere, only count
  std::string what = "kill";
  bool sticky = false;
  bool acting = false;      // count only calls that can change the world
  bool state_only = false;  // count only calls on the state's folder
};

class StruckRun {
 public:
  // `world` runs the emulator. Sets up what the scenario begins with.
  StruckRun(const Scenario& scenario, const Sandbox& world);
  ~StruckRun();

  RunResult Run(const Strike& strike);
  // The same run, started by other words in place of a strike: {"prlimit", "--nofile=9"}.
  RunResult RunUnder(const Arguments& words);
  long counted() const { return counted_; }
  const std::string& struck() const { return struck_; }  // empty: the run ended before

  // Each adds failures to the test.
  void ExpectStateTellsOfEveryNode();
  void ExpectRecovery();  // the run once more, then an empty plan, one create each, nothing left
  // After a run that met a broken disk: done means done; a run that is not done says why, and what
  // it says about a state that could not be saved is true.
  void ExpectHonesty(const RunResult& run);
  Sandbox& box() { return box_; }
  std::vector<std::string> LiveNodes();
  Value StateNow() const;  // null when it is not there or is no JSON

 private:
  void Write(const std::string& pods);
  bool StepIsApplied() const;
  std::string Nodes() const;

  const Scenario scenario_;
  const std::string project_;
  Sandbox box_;
  std::int64_t serial_before_ = 0;
  long counted_ = 0;
  std::string struck_;
};

// Runs `trial` for 0 <= i < count, many at once; gives up after a few failures.
void InLanes(int count, const std::function<void(int)>& trial);

// `./dev test --all`: the whole of what is shortened by default.
bool WholeEnumeration();

}  // namespace podctl::testing

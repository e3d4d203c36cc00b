// The points of a run at which signals_test.cpp sends signals: how each is reached, what hangs
// there, and how the next run goes on.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tests/e2e/harness.h"

namespace podctl::testing {

// Accepts connections, as the kernel does for who listens, and never answers.
class SilentServer {
 public:
  SilentServer();
  ~SilentServer();
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  bool Called() const;  // somebody has connected; he is kept waiting to the end of the test

 private:
  int socket_;
  int port_ = 0;
};

// Where one run meets one signal. Every wait that fails adds a failure to the test.
struct Stage {
  Sandbox box;
  SilentServer silent;
  std::unique_ptr<Process> other;  // that stands in the way
  std::unique_ptr<Process> run;
  Arguments recovery = {"apply", "--auto-approve"};
  std::vector<pid_t> stopped;  // SIGSTOP was sent to them
  int unread = -1;             // the reading end of a pipe

  ~Stage();
  std::string Pending(const std::string& key) const;  // of pod.research in the state
  void Start(const Arguments& arguments) { run = box.Start(arguments); }
  void ExpectReached(const std::function<bool()>& there) const;
  void ExpectSaid(const std::string& text) const;
  void StopWorkers();
  void GoOn();  // what was stopped or ordered to fail works again
};

struct Point {
  std::string name;
  std::function<void(Stage&)> reach;
  bool hangs = false;     // something there does not end by itself
  int code = 130;         // it ends with
  bool converges = true;  // the recovery, then an empty plan, is worth a look

  friend void PrintTo(const Point& point, std::ostream* out) { *out << point.name; }
};

const std::vector<Point>& SignalPoints();

}  // namespace podctl::testing

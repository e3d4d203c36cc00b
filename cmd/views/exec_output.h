// What a command on many workers shows while it runs: its output line by line, each with its
// worker's name, or as events for tools; and on a terminal the progress below it.
//
// Lines are written together, up to 20 times a second, so that a flood of them costs no system call
// each. A full pipe makes the caller wait, and through it the workers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/streams.h"
#include "cmd/views/exec_progress.h"
#include "cmd/views/live_block.h"
#include "cmd/views/paint.h"
#include "providers/base/value.h"
#include "providers/ssh/transport.h"

namespace podctl {

// Where lines and the live block meet on one terminal. One thread at a time.
class ExecConsole {
 public:
  // `progress` is lent; null: none is shown.
  ExecConsole(Streams& streams, ExecProgress* progress, Clock& clock);
  ~ExecConsole() { Finish(); }
  ExecConsole(const ExecConsole&) = delete;
  ExecConsole& operator=(const ExecConsole&) = delete;

  // A line without its newline.
  void Out(std::string_view line) { Add(&streams_.out, line); }
  void Err(std::string_view line) { Add(&streams_.err, line); }
  // Writes what waits, and brings the progress up to date; to be called some 20 times a second.
  void Tick();
  // The last of the lines; the progress is gone.
  void Finish();
  // Whether somebody takes what is written to standard output.
  bool heard() const { return static_cast<bool>(streams_.out); }

 private:
  void Add(std::ostream* stream, std::string_view line);
  void Write();
  void ShowProgress();

  Streams& streams_;
  ExecProgress* progress_;
  Clock& clock_;
  const Clock::SteadyTime began_;
  std::ostream* target_ = nullptr;  // of what waits
  std::string waiting_;
  LiveBlock block_;
  Clock::SteadyTime drawn_at_;
  Clock::SteadyTime told_at_;
  bool told_trouble_ = false;  // in a log
};

// "research/3 | line", the names in one column, control characters made visible.
class PrefixedLines {
 public:
  PrefixedLines(const Streams& streams, const std::vector<ssh::Job>& jobs);
  std::string Line(std::size_t job, ssh::Stream stream, std::string_view line) const;

 private:
  std::vector<std::string> out_prefixes_;
  std::vector<std::string> err_prefixes_;
};

// Events of --json, each one line.
Value ExecOutputEvent(const ssh::Job& job, ssh::Stream stream, std::string_view line);
Value ExecPhaseEvent(const ssh::Job& job, ssh::Phase phase);
Value ExecResultEvent(const ssh::Job& job, const ssh::WorkerResult& result);

}  // namespace podctl

#include "cmd/views/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>
#include <vector>

#include "cmd/interrupt.h"
#include "cmd/views/paint.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostLines = 12;

std::string WorkersText(const Progress& progress) {
  if (progress.workers == 0) return {};
  std::string text = fmt::format("workers {}/{} ok", progress.workers_ok, progress.workers);
  if (progress.workers_failed > 0) text += fmt::format(", {} failed", progress.workers_failed);
  if (progress.workers_retrying > 0) {
    text += fmt::format(", {} retrying", progress.workers_retrying);
  }
  return text;
}

struct Size {
  int columns;
  int rows;  // 0: not known
};

Size TerminalSize(const Streams& streams) {
  winsize size{};
  if (&streams.err == &std::cerr && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 &&
      size.ws_col > 0) {
    return {size.ws_col, size.ws_row};
  }
  return {streams.width, 0};
}

// Counting a UTF-8 character as one.
int Columns(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// Cuts to `width` columns, counting a UTF-8 character as one.
std::string Clip(std::string_view text, int width) {
  int columns = 0;
  std::size_t end = 0;
  while (end < text.size()) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80 && ++columns > width) break;
    ++end;
  }
  return std::string(text.substr(0, end));
}

class ProgressView final : public EventSink {
 public:
  ProgressView(Streams& streams, Clock& clock)
      : streams_(streams), clock_(clock), paint_(streams.color && streams.err_is_terminal) {}
  ~ProgressView() override { Erase(); }
  ProgressView(const ProgressView&) = delete;
  ProgressView& operator=(const ProgressView&) = delete;

  void OnStart(const Change& change) override {
    running_[change.address] = {&change, clock_.Steady(), {}};
    std::string line = fmt::format("{}: {}", change.address, WordsFor(change).start);
    if (const auto* run = std::get_if<RunStep>(&change.action)) {
      if (run->workers) line += " on " + Plural(run->workers->size(), "worker");
    }
    if (!live()) Print(line + "...");
    Draw();
  }

  void OnProgress(const Change& change, Elapsed elapsed, const Progress& progress) override {
    auto it = running_.find(change.address);
    if (it == running_.end()) return;
    it->second.progress = progress;
    if (live()) return Draw();
    // A plain log gets one line at a sensible pace, not one for each worker.
    const auto seconds = elapsed.count() / 1000;
    if (seconds < it->second.told + 10) return;
    it->second.told = seconds;
    const std::string workers = WorkersText(progress);
    Print(fmt::format("{}: {}... [{} elapsed]{}", change.address, WordsFor(change).still,
                      FormatDuration(elapsed), workers.empty() ? "" : " " + workers));
  }

  void OnComplete(const Change& change, Elapsed elapsed, const std::string& id) override {
    running_.erase(change.address);
    Print(fmt::format("{}: {} after {}{}", paint_(Ink::kBold, change.address),
                      WordsFor(change).complete, FormatDuration(elapsed),
                      id.empty() ? "" : fmt::format(" [id={}]", id)));
  }

  void OnError(const Change& change, Elapsed elapsed, const Error& error) override {
    running_.erase(change.address);
    // Why is told at the end, with the place in the spec; but a log that is cut must hold it too.
    const std::string why = live() ? "" : ": " + error.message;
    Print(fmt::format("{}: {} after {}{}", change.address, paint_(Ink::kRed, "failed"),
                      FormatDuration(elapsed), why));
  }

  // On a terminal the end of the run tells it, by cause; a log holds every one.
  void OnSkip(const Change& change, const std::string& cause) override {
    if (live() && !cause.empty()) return;
    Print(cause.empty() ? fmt::format("{}: not started, since the run ended early", change.address)
                        : fmt::format("{}: skipped, because {} failed", change.address, cause));
  }

  void OnStepLine(const Change& change, int worker, std::string_view line) override {
    const std::string text = streams_.err_is_terminal ? VisibleControls(line) : std::string(line);
    Print(
        fmt::format("{} {}", paint_(Ink::kCyan, fmt::format("{}/{} |", change.pod, worker)), text));
  }

  void OnInterrupt() override {
    Print("Interrupted: nothing new is started. A second Ctrl-C leaves at once.");
  }

  void OnNote(const std::string& address, const std::string& text) override {
    Print(fmt::format("{}: {}", address, text));
  }

  milliseconds TickInterval() const override { return milliseconds(live() ? 100 : 0); }
  void OnTick() override { Draw(); }

 private:
  struct Running {
    const Change* change;
    Clock::SteadyTime since;
    Progress progress;
    std::int64_t told = 0;  // seconds, of the last plain line
  };

  bool live() const { return streams_.err_is_terminal; }

  void Print(const std::string& line) {
    Erase();
    streams_.err << line << '\n' << std::flush;
    drawn_at_ = {};
    Draw();
  }

  // The rows that the live lines take now: a terminal that was made narrower has folded them.
  int RowsDrawn() const {
    const int width = TerminalSize(streams_).columns;
    int rows = 0;
    for (const int columns : drawn_) rows += std::max(1, (columns + width - 1) / width);
    return rows;
  }

  void Erase() {
    // After Ctrl-Z and fg the shell's own lines stand below what was drawn: that is left alone.
    const int resumed = Interrupt::Resumed();
    if (std::exchange(resumed_, resumed) != resumed) drawn_.clear();
    if (drawn_.empty()) return;
    streams_.err << fmt::format("\x1b[{}A\r\x1b[J", RowsDrawn()) << std::flush;
    drawn_.clear();
  }

  std::string LineOf(const std::string& address, const Running& running,
                     Clock::SteadyTime now) const {
    constexpr const char* kSpinner[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
    const auto frame = static_cast<std::size_t>(now.time_since_epoch() / milliseconds(100)) % 10;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now - running.since);
    const std::string workers = WorkersText(running.progress);
    return fmt::format("{} {}: {} {}{}", kSpinner[frame], address, WordsFor(*running.change).start,
                       FormatDuration(seconds), workers.empty() ? "" : ", " + workers);
  }

  void Draw() {
    if (!live()) return;
    const auto now = clock_.Steady();
    if (!drawn_.empty() && now - drawn_at_ < milliseconds(80)) return;
    drawn_at_ = now;
    const Size size = TerminalSize(streams_);
    // What scrolls out of the window cannot be erased: one row is the cursor's, one for the rest.
    std::size_t most = kMostLines;
    if (size.rows > 0)
      most = std::clamp<std::size_t>(static_cast<std::size_t>(size.rows), 3, kMostLines + 2) - 2;
    std::vector<std::string> lines;
    for (const auto& [address, running] : running_) {
      if (lines.size() == most) break;
      lines.push_back(LineOf(address, running, now));
    }
    if (running_.size() > lines.size()) {
      lines.push_back(fmt::format("  … and {} more", running_.size() - lines.size()));
    }
    Erase();
    std::string block;
    for (const std::string& line : lines) {
      const std::string shown = Clip(line, size.columns - 1);
      drawn_.push_back(Columns(shown));
      block += shown + "\n";
    }
    streams_.err << block << std::flush;
  }

  Streams& streams_;
  Clock& clock_;
  Paint paint_;
  std::map<std::string, Running> running_;
  std::vector<int> drawn_;  // the columns of each live line on the screen now
  int resumed_ = Interrupt::Resumed();
  Clock::SteadyTime drawn_at_{};
};

}  // namespace

ProgressWords WordsFor(const Change& change) {
  if (std::holds_alternative<Create>(change.action)) {
    return {"Creating", "Still creating", "Creation complete"};
  }
  if (std::holds_alternative<Patch>(change.action)) {
    return {"Modifying", "Still modifying", "Modifications complete"};
  }
  if (std::holds_alternative<Replace>(change.action)) {
    return {"Replacing", "Still replacing", "Replacement complete"};
  }
  if (std::holds_alternative<Delete>(change.action)) {
    return {"Destroying", "Still destroying", "Destruction complete"};
  }
  const auto* run = std::get_if<RunStep>(&change.action);
  if (run != nullptr && run->step.kind == Step::Kind::kRestartRuntime) {
    return {"Restarting tpu-runtime", "Still restarting", "Restart complete"};
  }
  return {"Running", "Still running", "Step complete"};
}

std::unique_ptr<EventSink> MakeProgressView(Streams& streams, Clock& clock) {
  return std::make_unique<ProgressView>(streams, clock);
}

}  // namespace podctl

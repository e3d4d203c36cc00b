#include "cmd/views/progress.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "cmd/views/live_block.h"
#include "cmd/views/paint.h"
#include "plans/engine/kind.h"
#include "providers/base/foreign_text.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

using std::chrono::milliseconds;

std::string WorkersText(const Progress& progress) {
  if (progress.workers == 0) return progress.status;
  std::string text = fmt::format("workers {}/{} ok", progress.workers_ok, progress.workers);
  if (progress.workers_failed > 0) text += fmt::format(", {} failed", progress.workers_failed);
  if (progress.workers_retrying > 0) {
    text += fmt::format(", {} retrying", progress.workers_retrying);
  }
  return text;
}

class ProgressView final : public EventSink {
 public:
  ProgressView(Streams& streams, Clock& clock)
      : streams_(streams),
        clock_(clock),
        paint_(streams.color && streams.err_is_terminal),
        block_(streams) {}

  void OnStart(const Change& change) override {
    running_[change.address] = {&change, clock_.Steady(), {}};
    std::string line = fmt::format("{}: {}", change.address, WordsFor(change).start);
    if (const auto workers = WordsOf(change).workers) {
      line += " on " + Plural(workers->size(), "worker");
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
    Print(fmt::format("{}: {} after {}{}", paint_(Ink::kBold, change.address.Text()),
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
  void OnSkip(const Change& change, const Address& cause) override {
    if (live() && !cause.empty()) return;
    Print(cause.empty() ? fmt::format("{}: not started, since the run ended early", change.address)
                        : fmt::format("{}: skipped, because {} failed", change.address, cause));
  }

  void OnStepLine(const Change&, int, const std::string& label, std::string_view line) override {
    const std::string text = VisibleLine(line);
    Print(fmt::format("{} {}", paint_(Ink::kCyan, label + " |"), text));
  }

  void OnInterrupt() override {
    Print("Interrupted: nothing new is started. A second Ctrl-C leaves at once.");
  }

  void OnNote(const Address& address, const std::string& text) override {
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
    block_.Erase();
    streams_.err << line << '\n' << std::flush;
    drawn_at_ = {};
    Draw();
  }

  std::string LineOf(const Address& address, const Running& running, Clock::SteadyTime now) const {
    const auto frame = static_cast<std::size_t>(now.time_since_epoch() / milliseconds(100));
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now - running.since);
    const std::string workers = WorkersText(running.progress);
    return fmt::format("{} {}: {} {}{}", SpinnerFrame(frame), address,
                       WordsFor(*running.change).start, FormatDuration(seconds),
                       workers.empty() ? "" : ", " + workers);
  }

  void Draw() {
    if (!live()) return;
    const auto now = clock_.Steady();
    if (block_.drawn() && now - drawn_at_ < milliseconds(80)) return;
    drawn_at_ = now;
    const std::size_t most = block_.MostLines();
    std::vector<std::string> lines;
    for (const auto& [address, running] : running_) {
      if (lines.size() == most) break;
      lines.push_back(LineOf(address, running, now));
    }
    if (running_.size() > lines.size()) {
      lines.push_back(fmt::format("  … and {} more", running_.size() - lines.size()));
    }
    block_.Draw(lines);
  }

  Streams& streams_;
  Clock& clock_;
  Paint paint_;
  std::map<Address, Running> running_;
  LiveBlock block_;
  Clock::SteadyTime drawn_at_{};
};

}  // namespace

ProgressWords WordsFor(const Change& change) {
  if (const ChangeWords words = WordsOf(change); !words.doing.empty()) {
    return {words.doing, words.still, words.done};
  }
  switch (change.verb) {
    case Verb::kCreate:
      return {"Creating", "Still creating", "Creation complete"};
    case Verb::kUpdate:
      return {"Modifying", "Still modifying", "Modifications complete"};
    case Verb::kDeleteThenCreate:
    case Verb::kCreateThenDelete:
      return {"Replacing", "Still replacing", "Replacement complete"};
    case Verb::kForget:
    case Verb::kDelete:
      return {"Destroying", "Still destroying", "Destruction complete"};
    case Verb::kKeep:
    case Verb::kRun:
      break;
  }
  return {"Running", "Still running", "Step complete"};
}

std::unique_ptr<EventSink> MakeProgressView(Streams& streams, Clock& clock) {
  return std::make_unique<ProgressView>(streams, clock);
}

}  // namespace podctl

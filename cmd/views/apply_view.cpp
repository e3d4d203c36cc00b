#include "cmd/views/apply_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cmd/views/live_block.h"
#include "cmd/views/paint.h"
#include "plans/engine/kind.h"
#include "providers/base/foreign_text.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// What was not done, by the failure at the root of it. `reported`: a log has had a line for each
// that was not begun when the run ended early.
std::string SkippedText(const ExecuteResult& result, bool reported) {
  constexpr std::size_t kMostNamed = 100;
  std::vector<Address> causes;  // in the order in which they came
  std::map<Address, std::vector<std::string>> skipped;
  for (const auto& skip : result.skipped) {
    if (reported && skip.cause.empty()) continue;
    std::vector<std::string>& addresses = skipped[skip.cause];
    if (addresses.empty()) causes.push_back(skip.cause);
    addresses.push_back(skip.address.Text());
  }
  std::string text;
  for (const Address& cause : causes) {
    std::vector<std::string>& addresses = skipped[cause];
    const std::size_t count = addresses.size();
    std::string more;
    if (count > kMostNamed) {
      more = fmt::format(", … and {} more", count - kMostNamed);
      addresses.resize(kMostNamed);
    }
    const std::string names = Join(addresses, ", ") + more;
    const std::string why = cause.empty() ? "the run ended early" : fmt::format("{} failed", cause);
    text += count == 1
                ? fmt::format("{} was skipped, because {}.\n", names, why)
                : fmt::format("{} changes were skipped, because {}: {}.\n", count, why, names);
  }
  return text;
}

// What waits in the queue, as the user wished.
std::string QueuedText(const ExecuteResult& result) {
  if (result.queued.empty()) return {};
  std::string text = fmt::format(
      "Asked for, and left in the queue: {}. The next `podctl apply` goes "
      "on from there; `podctl status` shows how it stands.\n",
      fmt::join(result.queued, ", "));
  if (!result.behind_queued.empty()) {
    text += fmt::format("{} on it.\n",
                        result.behind_queued.size() == 1
                            ? "1 change waits"
                            : fmt::format("{} changes wait", result.behind_queued.size()));
  }
  return text;
}

}  // namespace

std::string UnfinishedText(const ExecuteResult& result, bool destroy) {
  const std::string_view again = destroy ? "podctl destroy" : "podctl apply";
  std::vector<Address> under_way = result.unfinished;
  std::string steps;
  for (const ExecuteResult::Stop& stop : result.stopped) {
    std::erase(under_way, stop.address);
    steps += fmt::format("\n{}: {}. The next `{}` goes on where that was not through.",
                         stop.address, stop.outcome, again);
  }
  std::string text = result.interrupted ? "Interrupted. " : "";
  if (result.unsaved) {
    // The intent of a request is saved before it is sent.
    if (!under_way.empty()) {
      text += fmt::format(
          "Not done: {}. Nothing was sent that the state, as it was last saved, does not tell of.",
          fmt::join(under_way, ", "));
    }
  } else if (!under_way.empty()) {
    text += fmt::format("Under way, and written down in the state: {}. The next `{}` takes it up.",
                        fmt::join(under_way, ", "), again);
  } else if (result.interrupted) {
    text += "The state is saved.";
  }
  return text + steps;
}

std::string EndWords(const ExecuteResult& result, bool destroy) {
  const std::string_view what = destroy ? "Destroy" : "Apply";
  if (!result.ok()) return fmt::format("{} incomplete.", what);
  if (result.queued.empty()) return fmt::format("{} complete!", what);
  return fmt::format("{} not complete yet: {} in the queue.", what,
                     result.queued.size() == 1
                         ? fmt::format("{} waits", result.queued.front())
                         : fmt::format("{} things wait", result.queued.size()));
}

std::string CountWords(const ExecuteResult& result, bool destroy) {
  return destroy ? fmt::format("Resources: {} destroyed.", result.destroyed)
                 : fmt::format("Resources: {} added, {} changed, {} destroyed.", result.added,
                               result.changed, result.destroyed);
}

void ShowApplied(Streams& streams, const ExecuteResult& result, bool destroy) {
  streams.err << SkippedText(result, !streams.live()) << QueuedText(result);
  if (const std::string text = UnfinishedText(result, destroy); !text.empty())
    streams.err << text << "\n";
  const Paint paint(streams.color && streams.out_is_terminal);
  const std::string steps =
      result.steps > 0 ? fmt::format(" Bootstrap: {} run.", Plural(result.steps, "step")) : "";
  const Ink ink = !result.ok() ? Ink::kRed : result.queued.empty() ? Ink::kGreen : Ink::kYellow;
  streams.out << paint(ink, EndWords(result, destroy)) << " " << CountWords(result, destroy)
              << steps << "\n"
              << std::flush;
}

namespace {

using std::chrono::milliseconds;

// Of a failure that the end of the run tells in full: what has failed, without why.
std::string_view FirstClause(std::string_view message) {
  std::string_view clause = message.substr(0, message.find(": "));
  // Not what only begins there: "… in zone a. [EID: 0x1f]".
  if (const auto open = clause.rfind('['); open != std::string_view::npos) {
    if (clause.find(']', open) == std::string_view::npos) clause = clause.substr(0, open);
  }
  while (clause.ends_with(' ')) clause.remove_suffix(1);
  return clause;
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
    if (seconds < it->second.reported + 10) return;
    it->second.reported = seconds;
    const std::string workers = ProgressText(progress);
    Print(fmt::format("{}: {}... [{} elapsed]{}", change.address, WordsFor(change).still,
                      FormatDuration(elapsed), workers.empty() ? "" : " " + workers));
  }

  void OnComplete(const Change& change, Elapsed elapsed, const std::string& id) override {
    running_.erase(change.address);
    Print(fmt::format("{}: {} after {}{}", paint_(Ink::kBold, change.address.Text()),
                      WordsFor(change).complete, FormatDuration(elapsed),
                      id.empty() ? "" : fmt::format(" [id={}]", VisibleLine(id))));
  }

  void OnError(const Change& change, Elapsed elapsed, const Error& error) override {
    running_.erase(change.address);
    // Why is told at the end, with the place in the spec, and once is enough.
    Print(fmt::format("{}: {} after {}: {}", change.address, paint_(Ink::kRed, "failed"),
                      FormatDuration(elapsed), VisibleLine(FirstClause(error.message))));
  }

  // On a terminal the end of the run tells it, by cause; a log holds every one.
  void OnSkip(const Change& change, const Address& cause) override {
    if (live()) return;
    Print(cause.empty() ? fmt::format("{}: not started, since the run ended early", change.address)
                        : fmt::format("{}: skipped, because {} failed", change.address, cause));
  }

  void OnStepLine(const Change& change, int worker, const std::string& label,
                  std::string_view line) override {
    const std::string text = VisibleLine(line);
    const auto it = running_.find(change.address);
    const std::size_t workers = it == running_.end() ? 0 : it->second.progress.workers;
    const std::string padded = labels_.Padded(change.address, worker, label, workers);
    Print(fmt::format("{} {}", paint_(Ink::kCyan, padded + " |"), text));
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
    std::int64_t reported = 0;  // seconds, of the last plain line
  };

  bool live() const { return streams_.live(); }

  void Print(const std::string& line) {
    block_.Erase();
    streams_.err << line << '\n' << std::flush;
    drawn_at_ = {};
    Draw();
  }

  std::string LineOf(const Address& address, const Running& running, Clock::SteadyTime now) const {
    const auto frame = static_cast<std::size_t>(now.time_since_epoch() / milliseconds(100));
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now - running.since);
    const std::string workers = ProgressText(running.progress);
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
  LabelColumn labels_;
  LiveBlock block_;
  Clock::SteadyTime drawn_at_{};
};

}  // namespace

std::string ProgressText(const Progress& progress) {
  if (progress.workers == 0) return progress.status;
  std::string text = fmt::format("workers {}/{} ok", progress.workers_ok, progress.workers);
  if (progress.workers_failed > 0) text += fmt::format(", {} failed", progress.workers_failed);
  if (progress.workers_retrying == 0) return text;
  text += fmt::format(", {} retrying", progress.workers_retrying);
  if (!progress.why_retrying.empty()) text += ": " + VisibleLine(progress.why_retrying);
  return text;
}

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

std::string LabelColumn::Padded(const Address& step, int worker, const std::string& label,
                                std::size_t workers) {
  const std::string number = fmt::format("/{}", worker);
  std::size_t& width = widths_[step];
  width = std::max(width, label.size());
  // Of a multislice the label has the number within the slice.
  const bool plain = label.ends_with(number) && label.find('[') == std::string::npos;
  if (plain && workers > 0) {
    const std::size_t last = fmt::formatted_size("/{}", workers - 1);
    width = std::max(width, label.size() - number.size() + last);
  }
  return fmt::format("{:<{}}", label, width);
}

std::unique_ptr<EventSink> MakeProgressView(Streams& streams, Clock& clock) {
  return std::make_unique<ProgressView>(streams, clock);
}

}  // namespace podctl

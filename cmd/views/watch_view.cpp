#include "cmd/views/watch_view.h"

#include <fmt/format.h>

#include <vector>

#include "cmd/views/apply_view.h"
#include "providers/base/foreign_text.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstLine{60'000};  // "still …" in a log: after a minute, 2, 4, 8 …

std::string After(const std::string& status) {
  return status.empty() ? "" : ", " + status;
}

}  // namespace

WatchView::WatchView(Streams& streams, Clock& clock)
    : streams_(streams), clock_(clock), block_(streams) {}

void WatchView::Say(const std::string& text) {
  if (live()) block_.Erase();
  streams_.out << FormatTimestamp(clock_.Now()) << ' ' << text << '\n' << std::flush;
  drawn_at_ = {};
  Draw();
}

void WatchView::SayNews(const std::string& news, const std::string& text) {
  constexpr std::size_t kMostKept = 10'000;
  if (said_.size() > kMostKept) said_.clear();
  if (said_.insert(news).second) Say(text);
}

void WatchView::ShowPause(const std::string& text) {
  if (live()) block_.Draw({text});
}

void WatchView::Settle() {
  running_.clear();
  if (live()) block_.Erase();
}

void WatchView::OnStart(const Change& change) {
  const ProgressWords words = WordsFor(change);
  running_[change.address] = {std::string(words.start), clock_.Steady(), {}, kFirstLine};
  const std::string text = fmt::format("{}: {}", change.address, words.start);
  SayNews(text, text);
}

void WatchView::OnProgress(const Change& change, Elapsed elapsed, const Progress& progress) {
  const auto it = running_.find(change.address);
  if (it == running_.end()) return;
  Running& running = it->second;
  running.status = ProgressText(progress);
  running.workers = progress.workers;
  if (live()) return Draw();
  if (elapsed < running.next_line) return;
  running.next_line = elapsed * 2;
  Say(fmt::format("{}: {} [{} elapsed]{}", change.address, WordsFor(change).still,
                  FormatDuration(elapsed), After(running.status)));
}

void WatchView::OnComplete(const Change& change, Elapsed elapsed, const std::string&) {
  running_.erase(change.address);
  Say(fmt::format("{}: {} after {}", change.address, WordsFor(change).complete,
                  FormatDuration(elapsed)));
}

void WatchView::OnError(const Change& change, Elapsed elapsed, const Error& error) {
  running_.erase(change.address);
  SayNews(fmt::format("{}: {}", change.address, error.message),
          fmt::format("{}: failed after {}: {}", change.address, FormatDuration(elapsed),
                      error.message));
}

void WatchView::OnSkip(const Change& change, const Address& cause) {
  const std::string text =
      cause.empty() ? fmt::format("{}: not started", change.address)
                    : fmt::format("{}: skipped, because {} failed", change.address, cause);
  SayNews(text, text);
}

void WatchView::OnStepLine(const Change& change, int worker, const std::string& label,
                           std::string_view line) {
  const auto it = running_.find(change.address);
  const std::size_t workers = it == running_.end() ? 0 : it->second.workers;
  Say(fmt::format("{} | {}", labels_.Padded(change.address, worker, label, workers),
                  VisibleLine(line)));
}

void WatchView::OnNote(const Address& address, const std::string& text) {
  const std::string line = fmt::format("{}: {}", address, text);
  SayNews(line, line);
}

void WatchView::OnInterrupt() {
  Say("interrupted: nothing new is started");
}

milliseconds WatchView::TickInterval() const {
  return milliseconds(live() ? 100 : 0);
}

void WatchView::Draw() {
  if (!live() || running_.empty()) return;
  const auto now = clock_.Steady();
  if (block_.drawn() && now - drawn_at_ < milliseconds(80)) return;
  drawn_at_ = now;
  const auto frame = static_cast<std::size_t>(now.time_since_epoch() / milliseconds(100));
  std::vector<std::string> lines;
  for (const auto& [address, running] : running_) {
    if (lines.size() == block_.MostLines()) break;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now - running.since);
    lines.push_back(fmt::format("{} {}: {} {}{}", SpinnerFrame(frame), address, running.words,
                                FormatDuration(seconds), After(running.status)));
  }
  block_.Draw(lines);
}

}  // namespace podctl

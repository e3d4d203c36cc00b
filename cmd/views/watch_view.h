// What `podctl watch` tells people: lines with times, and on a terminal one live line for each
// thing under way, or for the pause.
//
// Lines are the command's result and go to `streams.out`; the live ones to `streams.err`. Calm: a
// round in which nothing happens leaves no line.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>

#include "cmd/output_filter.h"
#include "cmd/reporter.h"
#include "cmd/views/apply_view.h"
#include "cmd/views/live_block.h"
#include "plans/engine/executor.h"
#include "providers/os/clock.h"

namespace podctl {

class WatchView final : public WatchAccount {
 public:
  WatchView(Streams& streams, Clock& clock);

  void Say(const std::string& text) override;
  void ShowPause(const std::string& text) override;
  void Settle() override;
  void ForgetNews() override { said_.clear(); }

  void OnStart(const Change& change) override;
  void OnProgress(const Change& change, Elapsed elapsed, const Progress& progress) override;
  void OnComplete(const Change& change, Elapsed elapsed, const std::string& id) override;
  void OnError(const Change& change, Elapsed elapsed, const Error& error) override;
  void OnSkip(const Change& change, const Address& cause) override;
  void OnStepLine(const Change& change, int worker, const std::string& label,
                  std::string_view line) override;
  void OnNote(const Address& address, const std::string& text) override;
  void OnInterrupt() override;
  std::chrono::milliseconds TickInterval() const override;
  void OnTick() override { Draw(); }

 private:
  struct Running {
    std::string words;  // "Replacing"
    Clock::SteadyTime since;
    std::string status;
    std::chrono::milliseconds next_line;  // elapsed, when a log is told again
    std::size_t workers = 0;              // as Progress has them
  };

  // Of an address: not again what an earlier round said of it.
  void SayNews(const std::string& news, const std::string& text);
  bool live() const { return streams_.live(); }
  void Draw();

  Streams& streams_;
  Clock& clock_;
  LiveBlock block_;
  LabelColumn labels_;
  std::map<Address, Running> running_;  // by address
  std::set<std::string> said_;
  Clock::SteadyTime drawn_at_{};
};

}  // namespace podctl

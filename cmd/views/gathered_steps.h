// apply --gather: what a step has written is shown when it has ended, equal outputs once with the
// workers that wrote them, the biggest group first; everything else as it comes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "plans/engine/executor.h"
#include "plans/fleet/exec/output_store.h"

namespace podctl {

class GatheredSteps final : public EventSink {
 public:
  // `shown` is told all of it in the end. `scratch`: a folder for what is too much for the memory;
  // what is too much for that as well is shown as it comes.
  GatheredSteps(std::unique_ptr<EventSink> shown, std::string scratch);
  ~GatheredSteps() override;  // shows what steps have written that were not told to end
  GatheredSteps(const GatheredSteps&) = delete;
  GatheredSteps& operator=(const GatheredSteps&) = delete;

  void OnStart(const Change& change) override { shown_->OnStart(change); }
  void OnProgress(const Change& change, Elapsed elapsed, const Progress& progress) override {
    shown_->OnProgress(change, elapsed, progress);
  }
  void OnComplete(const Change& change, Elapsed elapsed, const std::string& id) override;
  void OnError(const Change& change, Elapsed elapsed, const Error& error) override;
  void OnSkip(const Change& change, const Address& cause) override {
    shown_->OnSkip(change, cause);
  }
  void OnStepLine(const Change& change, int worker, const std::string& label,
                  std::string_view line) override;
  void OnNote(const Address& address, const std::string& text) override {
    shown_->OnNote(address, text);
  }
  void OnInterrupt() override { shown_->OnInterrupt(); }
  std::chrono::milliseconds TickInterval() const override { return shown_->TickInterval(); }
  void OnTick() override { shown_->OnTick(); }

 private:
  struct Outputs {
    Change change;
    OutputStore store;
    std::map<int, OutputStore::Place> workers;
  };
  void Show(const Outputs& outputs);
  void ShowEnded(const Address& address);

  std::unique_ptr<EventSink> shown_;
  const std::string scratch_;
  std::map<Address, Outputs> steps_;  // that go on
};

}  // namespace podctl

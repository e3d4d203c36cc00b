#include "cmd/run_account.h"

#include <utility>

#include "cmd/views/plan_view.h"

namespace podctl {
namespace {

class KeepingReporter final : public Reporter {
 public:
  KeepingReporter(std::unique_ptr<Reporter> inner, Streams& streams, std::stop_token interrupted,
                  RunAccount* account)
      : Reporter(streams, std::move(interrupted)), inner_(std::move(inner)), account_(*account) {}

  void Show(const Diagnostics& diagnostics) override {
    inner_->Show(diagnostics);
    for (const Diagnostic& diagnostic : diagnostics.items()) {
      account_.problems.Add(diagnostic);
      if (account_.on_problem) account_.on_problem(diagnostic);
    }
  }
  void Note(const std::string& text) override {
    account_.notes.push_back(text);
    inner_->Note(text);
  }
  void TellInterrupted(const std::string& text) override {
    account_.interrupted = true;
    inner_->TellInterrupted(text);
  }
  void Begin() override { inner_->Begin(); }
  void ShowPlan(const Plan& plan, const State& base, bool failed,
                const std::vector<std::string>& jobs) override {
    account_.plan = plan;
    for (std::string& note : JobNotes(jobs)) account_.notes.push_back(std::move(note));
    inner_->ShowPlan(plan, base, failed, jobs);
  }
  void TellDigest(const std::function<std::string()>& digest) override {
    account_.digest = digest();
    inner_->TellDigest([this] { return account_.digest; });
  }
  void TellSaved(const std::string& path, const std::vector<std::string>& again,
                 const std::string& digest) override {
    inner_->TellSaved(path, again, digest);
  }
  std::unique_ptr<EventSink> Progress() override { return inner_->Progress(); }
  void ShowSummary(const ExecuteResult& result, bool destroy) override {
    account_.result = result;
    account_.interrupted = account_.interrupted || result.interrupted;
    inner_->ShowSummary(result, destroy);
  }
  void ShowOutputs(const State& state) override { inner_->ShowOutputs(state); }
  std::unique_ptr<WatchAccount> Watch() override { return inner_->Watch(); }
  void End() override { inner_->End(); }

 private:
  const std::unique_ptr<Reporter> inner_;
  RunAccount& account_;
};

}  // namespace

std::unique_ptr<Reporter> MakeKeepingReporter(std::unique_ptr<Reporter> inner, Streams& streams,
                                              std::stop_token interrupted, RunAccount* account) {
  return std::make_unique<KeepingReporter>(std::move(inner), streams, std::move(interrupted),
                                           account);
}

}  // namespace podctl

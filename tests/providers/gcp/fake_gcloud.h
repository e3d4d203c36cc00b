// A ProcessRunner that plays gcloud from a script.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "providers/os/process.h"

namespace podctl::testing {

class FakeGcloud final : public ProcessRunner {
 public:
  // What `gcloud config config-helper` prints for a login that has this token.
  void Print(const std::string& token, const std::string& expiry = {}) {
    Exit(0,
         R"({"configuration":{"properties":{"core":{"account":"alice@example.com"}}},)"
         R"("credential":{"access_token":")" +
             token + R"(","token_expiry":")" + expiry + R"("}})",
         {});
  }
  void Exit(int code, std::string out, std::string err) {
    script_.push_back(ProcessResult{code, std::move(out), std::move(err)});
  }
  void Fail(Error error) { script_.push_back(std::move(error)); }

  Result<ProcessResult> Run(const std::vector<std::string>& arguments, std::chrono::milliseconds,
                            std::stop_token) override {
    std::lock_guard lock(mutex_);
    ++runs_;
    arguments_ = arguments;
    if (script_.empty()) return MakeError(ErrorCode::kNotFound, "no gcloud in this test");
    Result<ProcessResult> result = script_.front();
    script_.pop_front();
    return result;
  }
  int runs() const { return runs_; }
  const std::vector<std::string>& arguments() const { return arguments_; }

 private:
  std::mutex mutex_;
  std::deque<Result<ProcessResult>> script_;
  std::vector<std::string> arguments_;
  int runs_ = 0;
};

}  // namespace podctl::testing

// An http::Transport that answers from a script and records what it was asked.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "providers/http/transport.h"

namespace podctl::testing {

// Answers come first in, first out; with none left the last one is given again.
class FakeTransport final : public http::Transport {
 public:
  using Answer = std::function<Result<http::Response>(const http::Request&)>;

  FakeTransport& Then(int status, std::string body = "{}",
                      std::vector<std::pair<std::string, std::string>> headers = {}) {
    return Then([=](const http::Request&) -> Result<http::Response> {
      return http::Response{status, headers, body};
    });
  }
  FakeTransport& Then(ErrorCode code, std::string message = "scripted") {
    return Then(
        [=](const http::Request&) -> Result<http::Response> { return MakeError(code, message); });
  }
  FakeTransport& Then(Answer answer) {
    std::lock_guard lock(mutex_);
    script_.push_back(std::move(answer));
    return *this;
  }

  Result<http::Response> Send(const http::Request& request, std::stop_token stop) override {
    Answer answer;
    {
      std::lock_guard lock(mutex_);
      if (stop.stop_requested()) return MakeError(ErrorCode::kCancelled, "stopped");
      requests_.push_back(request);
      PODCTL_CHECK(!script_.empty());
      answer = script_.front();
      if (script_.size() > 1) script_.pop_front();
    }
    return answer(request);
  }

  std::vector<http::Request> requests() const {
    std::lock_guard lock(mutex_);
    return requests_;
  }
  // The value of a header of the k-th request; "" when it has none.
  std::string Header(std::size_t k, const std::string& name) const {
    std::lock_guard lock(mutex_);
    for (const auto& [key, value] : requests_.at(k).headers) {
      if (key == name) return value;
    }
    return {};
  }

 private:
  mutable std::mutex mutex_;
  std::deque<Answer> script_;
  std::vector<http::Request> requests_;
};

}  // namespace podctl::testing

// An ssh::Observer that remembers.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "providers/ssh/transport.h"

namespace podctl::testing {

// Keeps what it is told. `on_line` runs on every line.
class RecordingObserver final : public ssh::Observer {
 public:
  void OnLine(std::size_t job, ssh::Stream stream, std::string_view line) override {
    if (std::this_thread::get_id() != thread_) foreign_thread = true;
    auto& lines = stream == ssh::Stream::kOut ? out[job] : err[job];
    lines.emplace_back(line);
    if (on_line) on_line(job, line);
  }
  void OnPhase(std::size_t job, ssh::Phase phase) override { phases[job].push_back(phase); }
  void OnResult(std::size_t job, const ssh::WorkerResult& result) override {
    results[job].push_back(result);
  }

  std::map<std::size_t, std::vector<std::string>> out;
  std::map<std::size_t, std::vector<std::string>> err;
  std::map<std::size_t, std::vector<ssh::Phase>> phases;
  std::map<std::size_t, std::vector<ssh::WorkerResult>> results;
  std::function<void(std::size_t job, std::string_view line)> on_line;
  bool foreign_thread = false;

 private:
  std::thread::id thread_ = std::this_thread::get_id();
};

}  // namespace podctl::testing

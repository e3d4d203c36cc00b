// What happens while a plan is carried out, for whoever shows it.
//
// Events are delivered on the thread that called Executor::Run, in order.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "plans/engine/change.h"
#include "providers/base/error.h"

namespace podctl {

struct Progress {
  std::size_t workers = 0;  // of a step; 0 for a pod
  std::size_t workers_ok = 0;
  std::size_t workers_failed = 0;
  std::size_t workers_retrying = 0;
  std::string status;  // of a pod: what is waited for, "WAITING_FOR_RESOURCES"; may be empty
};

class EventSink {
 public:
  using Elapsed = std::chrono::milliseconds;

  virtual ~EventSink() = default;
  virtual void OnStart(const Change& change) = 0;
  // Now and then while a change is under way (about every 10 s), and at each change of `progress`.
  virtual void OnProgress(const Change& change, Elapsed elapsed, const Progress& progress) = 0;
  virtual void OnComplete(const Change& change, Elapsed elapsed, const std::string& id) = 0;
  virtual void OnError(const Change& change, Elapsed elapsed, const Error& error) = 0;
  // Never started, because `cause` (an address) failed, on which it builds, however indirectly; or
  // because the run ended early (`cause` empty): an interrupt, or a state that cannot be saved.
  virtual void OnSkip(const Change& change, const Address& cause) = 0;
  // A line of a worker's output; `label` is how people call the worker: "research/3".
  virtual void OnStepLine(const Change& change, int worker, const std::string& label,
                          std::string_view line) = 0;
  // A remark for the user about an address.
  virtual void OnNote(const Address& address, const std::string& text) = 0;
  // The first interrupt came: nothing new is started, and the run ends within seconds.
  virtual void OnInterrupt() {}
  // Called at this pace while the executor waits, for live displays; zero: never.
  virtual std::chrono::milliseconds TickInterval() const { return std::chrono::milliseconds(0); }
  virtual void OnTick() {}
};

}  // namespace podctl

// What becomes of the bytes that commands write on the workers: shown line by line, gathered, or
// written to files.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "providers/base/error.h"
#include "providers/ssh/transport.h"

namespace podctl {

class OutputSink {
 public:
  virtual ~OutputSink() = default;
  // As they come: pieces of any length, of one stream in their order.
  virtual void OnBytes(std::size_t job, ssh::Stream stream, std::string_view bytes) = 0;
  // Once for each job; nothing of it comes afterwards.
  virtual void OnEnd(std::size_t job, const ssh::WorkerResult& result) = 0;
  // Why not everything could be kept; nullopt: it could.
  virtual std::optional<Error> trouble() const = 0;
};

// Two sinks that take the same. Lent.
class SinkPair final : public OutputSink {
 public:
  SinkPair(OutputSink& first, OutputSink& second) : first_(first), second_(second) {}
  void OnBytes(std::size_t job, ssh::Stream stream, std::string_view bytes) override {
    first_.OnBytes(job, stream, bytes);
    second_.OnBytes(job, stream, bytes);
  }
  void OnEnd(std::size_t job, const ssh::WorkerResult& result) override {
    first_.OnEnd(job, result);
    second_.OnEnd(job, result);
  }
  std::optional<Error> trouble() const override {
    return first_.trouble() ? first_.trouble() : second_.trouble();
  }

 private:
  OutputSink& first_;
  OutputSink& second_;
};

}  // namespace podctl

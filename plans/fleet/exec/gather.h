// --gather: equal outputs once, with the workers that wrote them.
//
// A group is who wrote the same on both streams and ended the same way. Memory is bounded
// (output_store.h), whatever the outputs are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plans/fleet/exec/output_sink.h"
#include "plans/fleet/exec/output_store.h"

namespace podctl {

class Gatherer final : public OutputSink {
 public:
  // `jobs` is lent.
  Gatherer(const std::vector<ssh::Job>& jobs, std::string scratch_folder);

  void OnBytes(std::size_t job, ssh::Stream stream, std::string_view bytes) override;
  void OnEnd(std::size_t job, const ssh::WorkerResult& result) override;
  std::optional<Error> trouble() const override { return store_.trouble(); }

  struct Group {
    OutputStore::Place out;
    OutputStore::Place err;
    std::string end;  // "" for exit code 0
    std::vector<int> workers;
  };
  // When all have ended: the biggest first. Workers on which the command was never started are in
  // none.
  std::vector<Group> Groups() const;
  const OutputStore& store() const { return store_; }
  const WorkerAccess& any_worker() const { return jobs_.front().worker; }

 private:
  struct Worker {
    OutputStore::Place out;
    OutputStore::Place err;
    std::string end;
    bool started = false;
  };

  const std::vector<ssh::Job>& jobs_;
  OutputStore store_;
  std::vector<Worker> workers_;
};

}  // namespace podctl

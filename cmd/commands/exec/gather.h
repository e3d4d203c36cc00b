// --gather: equal outputs once, with the workers that wrote them, the biggest group first; --diff:
// the other groups as differences from the biggest.
//
// A group is who wrote the same on both streams and ended the same way. Memory is bounded
// (output_store.h), whatever the outputs are.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cmd/streams.h"
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

  // When all have ended. Workers on which the command was never started are in no group. `enough`
  // is asked at each line; false when it ended the showing.
  bool Show(Streams& streams, bool diff, const std::function<bool()>& enough) const;

 private:
  struct Worker {
    OutputStore::Place out;
    OutputStore::Place err;
    std::string end;  // "" for exit code 0
    bool started = false;
  };
  struct Group {
    Worker like;  // any of them
    std::vector<int> workers;
  };
  class GroupWriter;
  std::vector<Group> Groups() const;
  std::string Name(const Group& group) const;
  bool ShowDifference(GroupWriter& writer, const Group& first, const Group& group) const;

  const std::vector<ssh::Job>& jobs_;
  OutputStore store_;
  std::vector<Worker> workers_;
};

}  // namespace podctl

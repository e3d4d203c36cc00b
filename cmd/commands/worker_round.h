// Asks all workers of a pod the same question at once, and keeps their answers: what doctor, drain
// and the commands about jobs do. For answers of a page, not for output of any size.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/wiring.h"
#include "providers/ssh/transport.h"
#include "providers/worker.h"

namespace podctl {

// For ssh::Job::ending of a text that goes on to its own end when nobody waits for it any more.
inline constexpr const char* kEndsByItself = "exit 0";

struct WorkerAnswer {
  WorkerAccess worker;
  ssh::WorkerResult result;
  std::vector<std::string> lines;  // of standard output, the first 2,000
  std::string last_words;          // the last line of standard error that says something
};

// What wants to hear of the workers before all have answered. All may be empty; `job` is the index
// in the jobs given.
struct AskHooks {
  std::function<void(std::size_t job, std::string_view line)> on_error_line;
  std::function<void(std::size_t job, const ssh::WorkerResult& result)> on_result;
  // Told once where it takes more than two seconds, but not with --json.
  std::string waits_for = {};
};

// One answer for each job, in their order. Host keys that were seen for the first time are
// remembered. A job whose worker has no address is not tried. Where it takes long the progress is
// shown as exec shows it, but not beside the document of --json.
std::vector<WorkerAnswer> AskWorkers(
    Wiring& wiring, const std::string& address, const std::vector<ssh::Job>& jobs,
    std::chrono::milliseconds command_limit = std::chrono::minutes(5), const AskHooks& hooks = {});
std::vector<WorkerAnswer> AskWorkers(Wiring& wiring, const std::string& address,
                                     const std::vector<WorkerAccess>& workers,
                                     const std::string& command);

// Why no more than `most` of these workers can wait for one another: a sentence without its end.
std::string TooFewAtOnce(const std::vector<WorkerAccess>& workers, std::size_t most);

// Why there is no answer, with the worker's own last words; one cause of many workers reads the
// same.
std::string CauseOfSilence(const WorkerAnswer& answer);

// Workers that share something, in the order in which it was first seen.
class WorkerGroups {
 public:
  void Add(const std::string& what, int worker);
  bool empty() const { return groups_.empty(); }
  struct Group {
    std::string what;
    std::vector<int> workers;
  };
  const std::vector<Group>& groups() const { return groups_; }

 private:
  std::vector<Group> groups_;
  std::map<std::string, std::size_t> index_;
};

// Workers of whom there is no answer, on standard error: "2 of 4 workers did not answer: …".
void ShowSilent(Wiring& wiring, const std::vector<WorkerAnswer>& answers);

}  // namespace podctl

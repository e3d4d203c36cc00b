#include "cmd/views/gathered_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/change.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"
#include "providers/ssh/line_splitter.h"

namespace podctl {
namespace {

// Workers that have written the same, the most first.
std::vector<std::pair<OutputStore::Place, std::vector<int>>> GroupsOf(
    const std::map<int, OutputStore::Place>& workers) {
  std::map<OutputStore::Place, std::vector<int>> by_output;
  for (const auto& [worker, place] : workers) by_output[place].push_back(worker);
  std::vector<std::pair<OutputStore::Place, std::vector<int>>> groups(by_output.begin(),
                                                                      by_output.end());
  std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
    if (a.second.size() != b.second.size()) return a.second.size() > b.second.size();
    return a.second.front() < b.second.front();
  });
  return groups;
}

}  // namespace

GatheredSteps::GatheredSteps(std::unique_ptr<EventSink> shown, std::string scratch)
    : shown_(std::move(shown)), scratch_(std::move(scratch)) {}

GatheredSteps::~GatheredSteps() {
  for (const auto& [address, outputs] : steps_) Show(outputs);
}

void GatheredSteps::OnComplete(const Change& change, Elapsed elapsed, const std::string& id) {
  ShowEnded(change.address);
  shown_->OnComplete(change, elapsed, id);
}

void GatheredSteps::OnError(const Change& change, Elapsed elapsed, const Error& error) {
  ShowEnded(change.address);
  shown_->OnError(change, elapsed, error);
}

// What is said while a pod is made, of workers that boot, is no output of theirs.
void GatheredSteps::OnStepLine(const Change& change, int worker, const std::string& label,
                               std::string_view line) {
  if (AsStep(change) == nullptr) return shown_->OnStepLine(change, worker, label, line);
  auto found = steps_.find(change.address);
  if (found == steps_.end()) {
    found = steps_.emplace(change.address, Outputs{change, OutputStore(scratch_), {}}).first;
  }
  Outputs& outputs = found->second;
  if (outputs.store.trouble()) return shown_->OnStepLine(change, worker, label, line);
  outputs.store.Add(outputs.workers[worker], std::string(line) + "\n");
  if (const auto& trouble = outputs.store.trouble()) {
    shown_->OnNote(change.address, "its outputs cannot be gathered any more: " + trouble->message);
  }
}

void GatheredSteps::ShowEnded(const Address& address) {
  const auto found = steps_.find(address);
  if (found == steps_.end()) return;
  Show(found->second);
  steps_.erase(found);
}

void GatheredSteps::Show(const Outputs& outputs) {
  if (outputs.store.trouble()) return;
  const std::string pod = PodNameOf(outputs.change.address);
  const int per_slice = AsStep(outputs.change)->per_slice;
  for (const auto& [place, workers] : GroupsOf(outputs.workers)) {
    std::string label = WorkersName(pod, workers, per_slice);
    if (workers.size() > 1) label += fmt::format(" ({})", Plural(workers.size(), "worker"));
    ssh::LineSplitter lines;
    const auto show = [&, &numbers = workers](std::string_view line, bool) {
      shown_->OnStepLine(outputs.change, numbers.front(), label, line);
    };
    const auto read = outputs.store.Read(place, [&](std::string_view piece) {
      lines.Add(piece, show);
      return true;
    });
    lines.Finish(show);
    if (!read) shown_->OnNote(outputs.change.address, read.error().message);
  }
}

}  // namespace podctl

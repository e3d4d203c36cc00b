#include "plans/kinds/pod/renewed_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

struct Question {
  Address address;
  const PodRecord* record;
  std::optional<Result<std::vector<WorkerAttributes>>> answer;
};

void AskAll(Provider& provider, int parallelism, const std::stop_token& stop,
            std::vector<Question>* questions) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> askers;
  const auto most = static_cast<std::size_t>(std::max(1, parallelism));
  for (std::size_t i = 0; i < std::min(questions->size(), most); ++i) {
    askers.emplace_back([&] {
      for (std::size_t at = next++; at < questions->size() && !stop.stop_requested(); at = next++) {
        Question& question = (*questions)[at];
        question.answer = BackingOf(*question.record).AskWorkers(provider, *question.record, stop);
      }
    });
  }
}

// The same keys in another order are no change.
bool Differ(std::vector<HostKeyText> known, std::vector<HostKeyText> shown) {
  std::sort(known.begin(), known.end());
  std::sort(shown.begin(), shown.end());
  return known != shown;
}

}  // namespace

void TakeRenewedKeys(Provider& provider, int parallelism, const std::stop_token& stop, State* state,
                     std::vector<std::string>* notes) {
  std::vector<Question> questions;
  for (const auto& [address, record] : Pods(*state)) {
    if (record.exists() && !record.host_keys.empty()) questions.push_back({address, &record, {}});
  }
  AskAll(provider, parallelism, stop, &questions);
  for (const Question& question : questions) {
    if (!question.answer || !*question.answer) continue;
    PodRecord& record = Pods(*state)[question.address];
    std::vector<int> renewed;
    for (auto& [worker, keys] : HostKeysOf(**question.answer)) {
      auto& known = record.host_keys[worker];
      if (!Differ(known, keys)) continue;
      known = std::move(keys);
      renewed.push_back(worker);
    }
    if (renewed.empty()) continue;
    record.host_keys_source = "guestAttributes";
    notes->push_back(fmt::format(
        "{}: the API shows new host keys for {} ({}): they are the pinned ones from now on",
        question.address, Plural(renewed.size(), "worker"), FormatRanges(renewed)));
  }
}

}  // namespace podctl

#include "state/state.h"

#include <fmt/format.h>

#include "providers/base/text.h"
#include "providers/os/clock.h"

namespace podctl {
namespace {

std::string_view PendingWords(PendingAction::Kind kind) {
  switch (kind) {
    case PendingAction::Kind::kCreate:
      return "being created";
    case PendingAction::Kind::kPatch:
      return "being changed";
    case PendingAction::Kind::kDelete:
      return "being deleted";
  }
  return "";
}

std::string RemarkOn(const PodRecord& record) {
  std::vector<std::string> words;
  const std::string& state = record.observed["state"].AsString();
  if (record.exists() && !state.empty() && state != "READY") words.push_back(state);
  if (const auto recovery = record.recovery()) words.push_back(RecoveryStory(*recovery));
  if (const auto pending = record.pending()) words.emplace_back(PendingWords(pending->kind));
  if (!record.capacity_since().empty()) {
    words.push_back(fmt::format("waits for capacity since {}", record.capacity_since()));
  }
  return Join(words, ", ");
}

}  // namespace

std::string RecoveryStory(const Recovery& recovery) {
  std::string story = fmt::format("found {} at {}", recovery.because, recovery.since);
  if (!recovery.done.empty()) story += fmt::format(", made anew by {}", recovery.done);
  if (recovery.times > 1) story += fmt::format(" (time {})", recovery.times);
  return story;
}

std::string Remarks(const State& state) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> remarks;
  std::size_t more = 0;
  for (const auto& [address, record] : state.pods) {
    const std::string remark = RemarkOn(record);
    if (remark.empty()) continue;
    if (remarks.size() == kMost) {
      ++more;
    } else {
      remarks.push_back(fmt::format("{}: {}", address.name, remark));
    }
  }
  if (more > 0) remarks.push_back(fmt::format("… and {} more", more));
  return Join(remarks, "; ");
}

Address PodAddress(const std::string& pod) {
  return {std::string(kPodKind), pod};
}

Address StepAddress(const std::string& pod, const std::string& step) {
  return {std::string(kStepKind), pod + "." + step};
}

Address TrainingAddress(const std::string& job) {
  return {std::string(kTrainingKind), job};
}

std::string NewDigestKey(Random& random) {
  std::string key = random.Uuid() + random.Uuid();
  std::erase(key, '-');
  return key;
}

State NewState(Random& random) {
  State state;
  state.lineage = random.Uuid();
  state.digest_key = NewDigestKey(random);
  return state;
}

}  // namespace podctl

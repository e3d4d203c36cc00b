// Declared in tasks.h.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "plans/kinds/pod/pod_task.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/refusal_words.h"
#include "plans/kinds/pod/spec.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

using gcp::Refusal;
using std::chrono::milliseconds;

// The moment that FormatTimestamp wrote; `fallback` where it is none.
Clock::SystemTime MomentOf(const std::string& timestamp, Clock::SystemTime fallback) {
  std::tm parts = {};
  const char* end = strptime(timestamp.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return fallback;
  return std::chrono::system_clock::from_time_t(timegm(&parts));
}

// Pauses between two rounds through the zones: 10 s, then ×1.6 with up to 25 % jitter either way,
// at most 5 minutes.
class RoundPace {
 public:
  explicit RoundPace(Random& random) : random_(random) {}

  milliseconds Next() {
    constexpr double kFirst = 10'000;
    constexpr double kGrowth = 1.6;
    constexpr double kLongest = 300'000;
    wait_ = wait_ == 0 ? kFirst : std::min(kLongest, wait_ * kGrowth);
    return milliseconds(static_cast<std::int64_t>(wait_ * (0.75 + 0.5 * random_.Uniform())));
  }

 private:
  Random& random_;
  double wait_ = 0;
};

// Makes the node in the first zone that has room for it: the pod's own, then the others of its
// `capacity`, round and round with growing pauses until the time is over. Only a lack of capacity
// (or of room in the reservation) sends it on; whatever else is wrong with a zone ends it at once.
//
// Each attempt is a creation of its own, with its intent in the state. Between two of them the
// record stays, with the zone that is tried next and since when capacity is sought: a run that goes
// on has what is left of the time, and tries every zone once in any case.
class CapacityTask final : public PodTask {
 public:
  CapacityTask(const PodSpec& pod, CreateKind kind, TaskContext& context)
      : PodTask(pod, context), pod_(pod), kind_(kind) {}

  NextAction Begin() override {
    const PodRecord* record = Record();
    zones_ = pod_.capacity->zones;
    // What is still to be deleted there belongs to the record, so that stays in its zone.
    if (record != nullptr && !record->deposed.empty()) zones_ = {pod_.zone};
    const bool goes_on = record != nullptr && (kind_ == CreateKind::kResume || record->pending() ||
                                               !record->capacity_since().empty());
    const auto here = std::find(zones_.begin(), zones_.end(), pod_.zone);
    if (goes_on && here != zones_.end()) at_ = static_cast<std::size_t>(here - zones_.begin());
    pod_.zone = zones_[at_];
    SetDeadline(journal_.SeekCapacity(pod_));
    return Try(kind_);
  }

  std::string Id() const override { return NameOf(pod_).Resource(); }
  std::string Status() const override {
    if (!waits_for_.empty()) return waits_for_;
    return zones_.size() > 1 ? "in " + pod_.zone : "";
  }

 private:
  void SetDeadline(const std::string& since) {
    const milliseconds retry = context_.wait_for_capacity ? pod_.capacity->retry : milliseconds(0);
    const Clock::SystemTime now = context_.clock.Now();
    const auto gone = std::chrono::duration_cast<milliseconds>(now - MomentOf(since, now));
    const milliseconds left = std::clamp(retry - gone, milliseconds(0), retry);
    deadline_ = context_.clock.Steady() + left;
    until_ = FormatTimestamp(now + left);
  }

  NextAction Try(CreateKind kind) {
    refusal_ = Refusal::kNone;
    return AwaitEnd(MakeCreateTask(pod_, kind, context_, &refusal_),
                    [this](NextAction end) { return Next(std::move(end)); });
  }

  // In the zone whose turn it is, after an attempt.
  NextAction Again() {
    const PodRecord* record = Record();
    const bool open = record != nullptr && record->pending().has_value();
    return Try(open ? CreateKind::kResume : CreateKind::kNew);
  }

  NextAction NextRound() {
    waits_for_.clear();
    tried_ = 0;
    return Again();
  }

  NextAction Next(NextAction next_action) {
    if (next_action.result) return next_action;
    const PodRecord* record = Record();
    if (record != nullptr && record->exists()) return next_action;  // a half-made node, which stays
    const bool passes = refusal_ == Refusal::kNoCapacity || refusal_ == Refusal::kReservation;
    const bool open = record != nullptr && record->pending().has_value();
    if (!passes) {
      if (!open) journal_.GiveUpCapacity(address_);
      return next_action;
    }
    // What became of the attempt could not be seen: it is looked at again, in its turn.
    if (open) return Pause(next_action.result.error());
    const std::string why = next_action.result.error().message;
    at_ = (at_ + 1) % zones_.size();
    pod_.zone = zones_[at_];
    journal_.SeekCapacity(pod_);
    if (++tried_ >= zones_.size()) return Pause(next_action.result.error());
    context_.note(address_, fmt::format("{}: tries {}", why, pod_.zone));
    return Again();
  }

  // All zones have had their turn.
  NextAction Pause(const Error& error) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline_ - context_.clock.Steady());
    const std::string where = fmt::format("{}", fmt::join(zones_, ", "));
    const std::string what =
        refusal_ == Refusal::kReservation ? "no room in the reservation for" : "no capacity for";
    const std::string found = fmt::format("{} {} in {}", what, TypeOf(pod_), where);
    if (left.count() <= 0) {
      journal_.GiveUpCapacity(address_);
      const bool waited = context_.wait_for_capacity && pod_.capacity->retry.count() > 0;
      return Failed(MakeError(
          error.code,
          waited ? fmt::format("{} within {}", found, FormatDuration(pod_.capacity->retry)) : found,
          waited ? fmt::format("The next `podctl apply` begins anew.\n{}", error.hint)
                 : error.hint));
    }
    const milliseconds pause = std::min(rounds_.Next(), left);
    const std::string next = FormatTimestamp(context_.clock.Now() + pause);
    waits_for_ = fmt::format("{}, next try at {}, until {}",
                             what == "no capacity for" ? "no capacity" : "the reservation is full",
                             next, until_);
    context_.note(address_, fmt::format("{}: tries again at {}, until {}", found, next, until_));
    return SleepThen(pause, &CapacityTask::NextRound);
  }

  PodSpec pod_;  // its zone is the one whose turn it is
  const CreateKind kind_;
  std::vector<std::string> zones_;
  std::size_t at_ = 0;     // whose turn it is
  std::size_t tried_ = 0;  // zones in this round
  RoundPace rounds_{context_.random};
  Clock::SteadyTime deadline_{};
  std::string until_;  // the same for people
  Refusal refusal_ = Refusal::kNone;
  std::string waits_for_;  // between two rounds
};

}  // namespace

std::unique_ptr<Task> MakeCapacityTask(const PodSpec& pod, CreateKind kind, TaskContext& context) {
  return std::make_unique<CapacityTask>(pod, kind, context);
}

}  // namespace podctl

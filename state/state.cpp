#include "state/state.h"

#include <fmt/format.h>

#include "providers/base/text.h"
#include "providers/os/clock.h"
#include "state/record_codec.h"

namespace podctl {

std::string RecoveryStory(const Recovery& recovery) {
  std::string story = fmt::format("found {} at {}", recovery.because, recovery.since);
  if (!recovery.done.empty()) story += fmt::format(", made anew by {}", recovery.done);
  if (recovery.times > 1) story += fmt::format(" (time {})", recovery.times);
  return story;
}

std::map<std::string, std::size_t> RecordCounts(const State& state) {
  std::map<std::string, std::size_t> counts;
  for (const auto& [address, record] : state.records) ++counts[address.kind];
  return counts;
}

std::string Remarks(const State& state) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> remarks;
  std::size_t more = 0;
  for (const auto& [address, record] : state.records) {
    const std::string remark = record.codec().Remark(record);
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

std::vector<RecordChange> ChangesBetween(const State& before, const State& after) {
  std::vector<RecordChange> changes;
  EachOf(before.records, after.records,
         [&](const Address& address, const AnyRecord* old, const AnyRecord* now) {
           if (old != nullptr && now != nullptr && *old == *now) return;
           RecordChange& change = changes.emplace_back(RecordChange{address, {}, {}});
           if (old != nullptr) change.before = *old;
           if (now != nullptr) change.after = *now;
         });
  return changes;
}

void Apply(const std::vector<RecordChange>& changes, State* state) {
  for (const RecordChange& change : changes) {
    if (change.after) {
      state->records.insert_or_assign(change.address, *change.after);
    } else {
      state->records.erase(change.address);
    }
  }
}

}  // namespace podctl

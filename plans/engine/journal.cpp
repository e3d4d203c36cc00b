#include "plans/engine/journal.h"

#include <utility>

namespace podctl {

Journal::Journal(State& state, StateStore& store, Generation& generation, Clock& clock,
                 Random& random)
    : state_(state), store_(store), generation_(generation), clock_(clock) {
  if (state_.lineage.empty()) state_.lineage = random.Uuid();
  if (state_.digest_key.empty()) state_.digest_key = NewDigestKey(random);
}

Intent Journal::Begun(const std::string& request_id) const {
  return {"", FormatTimestamp(clock_.Now()), state_.serial, request_id};
}

void Journal::Put(const Address& address, AnyRecord record) {
  dirty_ = true;
  state_.records.insert_or_assign(address, std::move(record));
}

void Journal::Forget(const Address& address) {
  if (state_.records.erase(address) > 0) dirty_ = true;
}

Result<void> Journal::Flush() {
  if (!dirty_) return {};
  if (!saved_) {
    if (auto saved = store_.Save(state_, &generation_); !saved) return saved;
    saved_ = state_;
  } else {
    const std::vector<RecordChange> changes = ChangesBetween(*saved_, state_);
    if (auto saved = store_.Append(state_, changes, &generation_); !saved) return saved;
    Apply(changes, &*saved_);
  }
  dirty_ = false;
  return {};
}

}  // namespace podctl

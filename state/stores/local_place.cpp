// A LocalStore's file as a place that a state leaves or comes to: one document says both what the
// state is and where it goes, so that the two are exchanged at once.
#include <fmt/format.h>

#include <utility>

#include "state/state_json.h"
#include "state/stores/local_store.h"

namespace podctl {

Result<PlacedAt> LocalStore::LoadPlace() {
  Result<std::string> target = Target();
  if (!target) return target.error();
  Result<std::string> text = files_.Read(*target, kMaxStateBytes);
  if (!text && text.error().code == ErrorCode::kNotFound) return PlacedAt{};
  if (!text) return CannotRead(text.error());
  Result<PlacedState> placed = PlacedFromJson(*text, path_, kinds_);
  if (!placed) return placed.error();
  return PlacedAt{*std::move(placed), GenerationOf(*text)};
}

Result<void> LocalStore::MayPutPlace(const PlacedState& placed) {
  if (Result<std::string> target = Target(); !target) return target.error();
  if (PlacedToJson(placed).size() <= kMaxStateBytes) return {};
  return TooLarge();
}

Result<void> LocalStore::PutPlace(const PlacedState& placed, Generation* at) {
  Result<std::string> target = Target();
  if (!target) return target.error();
  // As for a save: until the end of this function nobody else can replace what is compared here.
  Result<Stored> stored = HoldStored(*target);
  if (!stored) return stored.error();
  const Generation found = stored->lock ? GenerationOf(stored->text) : Generation{};
  if (found != *at) {
    return MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("the state {} was changed by somebody else since it was read", path_),
        "Run the command again.");
  }
  known_.reset();
  const bool empty = !placed.state && !placed.move;
  if (empty && stored->lock == nullptr) return {};
  if (empty) {
    if (Result<void> removed = files_.Remove(*target); !removed) return removed;
    *at = {};
    return files_.SyncFolder(FolderOf(*target));
  }
  // Only a generation that runs went on from is kept; of one on its way there is another copy.
  Result<State> state = stored->lock ? StateFromJson(stored->text, path_, kinds_) : State{};
  if (state && stored->lock) known_ = Known{found, state->lineage, state->serial};
  if (!known_) kept_ = true;
  const std::string text = PlacedToJson(placed);
  if (Result<void> written = Write(*target, text, *stored); !written) return written;
  known_.reset();
  *at = GenerationOf(text);
  return files_.SyncFolder(FolderOf(*target));
}

}  // namespace podctl

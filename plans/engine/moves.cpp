#include "plans/engine/moves.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

namespace podctl {

std::map<Address, Address> MoveThings(const Spec& spec, Kinds kinds, State* state,
                                      Diagnostics& diagnostics) {
  std::map<Address, const MovedSpec*> next;
  for (const MovedSpec& move : spec.moved) next[move.from] = &move;
  std::map<Address, Address> moved;
  for (const MovedSpec& move : spec.moved) {
    if (!state->records.contains(move.from)) continue;
    Address to = move.to;
    // The loader has refused circles; the bound is for those who made the spec otherwise.
    for (std::size_t hops = 0; next.contains(to) && hops < next.size(); ++hops) to = next[to]->to;
    const auto done = FindKind(kinds, move.from.kind)->Move(move.from, to, state);
    if (done) {
      moved[to] = move.from;
      continue;
    }
    Diagnostic diagnostic{.place = move.place, .context = "moved"};
    if (done.error().code == ErrorCode::kAlreadyExists) {
      diagnostic.summary =
          fmt::format("cannot move {} to {}: both are in the state", move.from, to);
      diagnostic.detail = fmt::format(
          "Each has a node of its own. Remove this move to have {} deleted, since it is not in the "
          "spec; or `podctl state rm` the one that podctl is to leave alone.",
          move.from);
    } else {
      diagnostic.summary =
          fmt::format("cannot move {} to {}: {}", move.from, to, done.error().message);
    }
    diagnostics.Add(std::move(diagnostic));
  }
  return moved;
}

}  // namespace podctl

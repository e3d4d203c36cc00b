#include "plans/engine/kind.h"

namespace podctl {

const Kind* FindKind(Kinds kinds, std::string_view name) {
  for (const Kind* kind : kinds) {
    if (kind->name() == name) return kind;
  }
  return nullptr;
}

ChangeWords WordsOf(const Change& change) {
  const Kind* kind = change.payload.kind();
  return kind == nullptr ? ChangeWords{} : kind->WordsOf(change);
}

}  // namespace podctl

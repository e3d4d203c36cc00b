// Which workers of a pod are meant, as people write it on a command line and in a spec:
//
//   all            every worker            0-255/8    every 8th of them, from 0
//   0,2-3          numbers and ranges      !7         all but worker 7
//   0-63,!7,!9     what is named, without what is left out; the order does not matter
//
// Knows nothing of pods: how many workers there are is told by who asks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/error.h"

namespace podctl {

class WorkerSelection {
 public:
  // kInvalidArgument names the piece that is wrong and why. Numbers up to 99,999, a million of them
  // in all.
  static Result<WorkerSelection> Parse(std::string_view text);

  // Both of them: what either names, without what either leaves out. kInvalidArgument when they are
  // too many.
  Result<void> Add(const WorkerSelection& other);

  // The numbers meant of a pod with `count` workers, ascending. kOutOfRange names the first one
  // that is not there, left out or not; kInvalidArgument when none is left.
  Result<std::vector<int>> Of(std::size_t count) const;

  // The same without knowing how many workers there are, perhaps none; nullopt where that matters:
  // `all`, and what only says who is left out.
  std::optional<std::vector<int>> Named() const;

 private:
  struct Piece {
    std::string text;  // as it was written
    bool all = false;
    bool without = false;
    int first = 0;
    int last = 0;
    int step = 1;
    std::size_t count() const { return static_cast<std::size_t>((last - first) / step) + 1; }
  };
  static Result<Piece> ParsePiece(std::string_view text);
  std::vector<int> Numbers(std::size_t count) const;

  std::vector<Piece> pieces_;
  std::size_t named_ = 0;  // numbers, twice where two pieces name them
};

}  // namespace podctl

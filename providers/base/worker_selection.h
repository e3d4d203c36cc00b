// Which workers of a pod are meant, as people write it on a command line and in a spec:
//
//   all            every worker            0-255/8    every 8th of them, from 0
//   0,2-3          numbers and ranges      !7         all but worker 7
//   0-63,!7,!9     what is named, without what is left out; the order does not matter
//
// and of a multislice, whose numbers go through all slices:
//
//   1/3  [1]/3     worker 3 of slice 1   [0-1]/0-7/2   of two slices every 2nd of the first 8
//   1/all  [1]     slice 1               ![1]/0        all but worker 0 of slice 1
//
// Knows nothing of pods: how many workers there are is told by who asks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/base/error.h"

namespace podctl {

class WorkerSelection {
 public:
  // kInvalidArgument names the piece that is wrong and why. Numbers up to 99,999, a million of them
  // in all. Each piece may begin with `pod`: "research[1]/3", "research/3".
  static Result<WorkerSelection> Parse(std::string_view text, std::string_view pod = {});

  // Both of them: what either names, without what either leaves out. kInvalidArgument when they are
  // too many.
  Result<void> Add(const WorkerSelection& other);

  // The numbers meant of a pod with `count` workers, ascending; `per_slice`: of each of its slices,
  // 0: it has none. kOutOfRange names the first one that is not there, left out or not;
  // kInvalidArgument when none is left, or slices are named that there are not.
  Result<std::vector<int>> Of(std::size_t count, int per_slice = 0) const;

  // The same without knowing how many workers there are, perhaps none; nullopt where that matters:
  // `all`, slices, and what only says who is left out.
  std::optional<std::vector<int>> Named() const;
  bool NamesSlices() const;
  std::string Text() const;  // as Parse reads it

 private:
  struct Piece {
    std::string text;  // as it was written
    bool all = false;
    bool without = false;
    int first = 0;
    int last = 0;
    int step = 1;
    std::vector<std::pair<int, int>> slices;  // first and last of each range; empty: none named
    std::size_t count() const;
  };
  static Result<Piece> ParsePiece(std::string_view text);
  static Result<std::string_view> TakeSlices(std::string_view rest, Piece* piece);
  std::optional<Error> WhatLacks(const Piece& piece, std::size_t count, int per_slice) const;
  std::vector<int> Numbers(std::size_t count, int per_slice) const;

  std::vector<Piece> pieces_;
  std::size_t named_ = 0;  // numbers, twice where two pieces name them
};

// ---- Many workers named in a few words.

// Worker numbers as ranges, "0-2,5"; of a multislice with `per_slice` workers in each slice
// "[0-1]/0-3,[2]/1", which WorkerSelection reads. 0: there are no slices.
std::string FormatWorkers(const std::vector<int>& numbers, int per_slice);

// The same with the pod: "research/3", "research/[0-2,5]"; "research[1]/3", "research[0-1]/0-3".
std::string WorkersName(const std::string& pod, const std::vector<int>& numbers, int per_slice);

}  // namespace podctl

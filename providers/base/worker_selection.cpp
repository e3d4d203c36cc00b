#include "providers/base/worker_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr unsigned kMostNumber = 99'999;
constexpr std::size_t kMostNamed = 1'000'000;
constexpr std::size_t kMostShown = 40;  // characters of a piece in a message

std::optional<int> ParseWorker(std::string_view text) {
  const auto number = ParseNumber<unsigned>(text);
  if (!number || *number > kMostNumber) return std::nullopt;
  return static_cast<int>(*number);
}

Error BadPiece(std::string_view piece, std::string_view why) {
  std::string shown(piece.substr(0, kMostShown));
  if (piece.size() > kMostShown) shown += "…";
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("`{}` {}", VisibleControls(shown), why),
                   "Write `all`, or numbers and ranges such as `0,2-3`; `0-255/8` is every 8th of "
                   "them, `!7` leaves worker 7 out, `1/3` is worker 3 of slice 1.");
}

// "3" or "0-2"; nullopt for anything else, and for one that runs backwards.
std::optional<std::pair<int, int>> ParseRange(std::string_view text) {
  const auto dash = text.find('-');
  const auto first = ParseWorker(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : ParseWorker(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return std::pair(*first, *last);
}

// Where the next piece begins: a comma in brackets is not between pieces.
std::size_t EndOfPiece(std::string_view text) {
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') inside = true;
    if (text[i] == ']') inside = false;
    if (text[i] == ',' && !inside) return i;
  }
  return std::string_view::npos;
}

}  // namespace

std::size_t WorkerSelection::Piece::count() const {
  const auto workers = static_cast<std::size_t>((last - first) / step) + 1;
  if (slices.empty()) return workers;
  std::size_t named = 0;
  for (const auto& [begin, end] : slices) named += static_cast<std::size_t>(end - begin) + 1;
  return named * workers;
}

// Slices in front of workers: "[0-1]/…", "1/…", or "[1]" alone. What is left of `rest`.
Result<std::string_view> WorkerSelection::TakeSlices(std::string_view rest, Piece* piece) {
  std::string_view slices;
  if (rest.starts_with('[')) {
    const auto end = rest.find(']');
    if (end == std::string_view::npos) return BadPiece(piece->text, "lacks a `]`");
    slices = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    if (rest.empty()) rest = "/all";
    if (!rest.starts_with('/')) return BadPiece(piece->text, "wants a slash after its `]`");
    rest.remove_prefix(1);
  } else {
    const auto slash = rest.find('/');
    if (slash == std::string_view::npos || !ParseWorker(rest.substr(0, slash))) return rest;
    slices = rest.substr(0, slash);
    rest.remove_prefix(slash + 1);
  }
  for (const std::string_view each : Split(slices, ",")) {
    const auto range = ParseRange(TrimBlanks(each));
    if (!range) return BadPiece(piece->text, "names no slices");
    piece->slices.push_back(*range);
  }
  return rest;
}

Result<WorkerSelection::Piece> WorkerSelection::ParsePiece(std::string_view text) {
  Piece piece;
  piece.text = std::string(text);
  std::string_view rest = text;
  if (rest.starts_with('!')) {
    piece.without = true;
    rest.remove_prefix(1);
  }
  const auto left = TakeSlices(rest, &piece);
  if (!left) return left.error();
  rest = *left;
  if (rest == "all" && (!piece.without || !piece.slices.empty())) {
    piece.all = true;
    return piece;
  }
  if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
    const auto step = ParseWorker(rest.substr(slash + 1));
    if (!step || *step == 0) return BadPiece(text, "does not say every how many after its slash");
    piece.step = *step;
    rest = rest.substr(0, slash);
    if (rest.find('-') == std::string_view::npos) {
      return BadPiece(text, "wants a range before its slash");
    }
  }
  const auto dash = rest.find('-');
  const auto first = ParseWorker(rest.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : ParseWorker(rest.substr(dash + 1));
  if (!first || !last) return BadPiece(text, "names no workers");
  if (*last < *first) return BadPiece(text, "is a range that runs backwards");
  piece.first = *first;
  piece.last = *last;
  return piece;
}

Result<WorkerSelection> WorkerSelection::Parse(std::string_view text, std::string_view pod) {
  WorkerSelection selection;
  while (true) {
    const auto comma = EndOfPiece(text);
    std::string_view one_piece = TrimBlanks(text.substr(0, comma));
    if (!pod.empty() && one_piece.starts_with(pod)) {
      const std::string_view rest = one_piece.substr(pod.size());
      if (rest.starts_with('[')) one_piece = rest;
      if (rest.starts_with('/')) one_piece = rest.substr(1);
    }
    auto piece = ParsePiece(one_piece);
    if (!piece) return piece.error();
    WorkerSelection one;
    one.named_ = piece->count();
    one.pieces_.push_back(*std::move(piece));
    if (auto added = selection.Add(one); !added) return added.error();
    if (comma == std::string_view::npos) return selection;
    text.remove_prefix(comma + 1);
  }
}

Result<void> WorkerSelection::Add(const WorkerSelection& other) {
  if (named_ + other.named_ > kMostNamed) {
    return BadPiece(other.pieces_.front().text, "is too much: a million numbers are taken");
  }
  named_ += other.named_;
  pieces_.insert(pieces_.end(), other.pieces_.begin(), other.pieces_.end());
  return {};
}

std::vector<int> WorkerSelection::Numbers(std::size_t count, int per_slice) const {
  const bool only_without =
      std::all_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) { return piece.without; });
  std::vector<bool> meant(count, only_without);
  const auto mark = [&](const Piece& piece, std::size_t base, std::size_t room) {
    const std::size_t first = piece.all ? 0 : static_cast<std::size_t>(piece.first);
    const std::size_t end = piece.all ? room : static_cast<std::size_t>(piece.last) + 1;
    for (std::size_t i = first; i < std::min(end, room);
         i += static_cast<std::size_t>(piece.step)) {
      if (base + i < count) meant[base + i] = !piece.without;
    }
  };
  const auto width = static_cast<std::size_t>(per_slice);
  for (const bool without : {false, true}) {
    for (const Piece& piece : pieces_) {
      if (piece.without != without) continue;
      if (piece.slices.empty()) mark(piece, 0, count);
      for (const auto& [first, last] : piece.slices) {
        for (auto slice = static_cast<std::size_t>(first);
             slice <= static_cast<std::size_t>(last) && slice * width < count; ++slice) {
          mark(piece, slice * width, width);
        }
      }
    }
  }
  std::vector<int> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    if (meant[i]) numbers.push_back(static_cast<int>(i));
  }
  return numbers;
}

// What a piece names that is not there.
std::optional<Error> WorkerSelection::WhatLacks(const Piece& piece, std::size_t count,
                                                int per_slice) const {
  if (!piece.slices.empty() && per_slice <= 0) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("`{}` names a slice, and the pod has none", piece.text),
                     "Name its workers alone: POD/3, or `--worker 3`; `0-255/8` is every 8th.");
  }
  const std::size_t room = piece.slices.empty() ? count : static_cast<std::size_t>(per_slice);
  for (const auto& [first, last] : piece.slices) {
    const std::size_t slices = count / room;
    if (static_cast<std::size_t>(last) < slices) continue;
    const auto missing = std::max(static_cast<std::size_t>(first), slices);
    return MakeError(ErrorCode::kOutOfRange,
                     fmt::format("there is no slice {}, which `{}` names: the pod has {}", missing,
                                 piece.text, Plural(slices, "slice")),
                     fmt::format("Slices are numbered from 0 to {}.", slices - 1));
  }
  if (piece.all) return std::nullopt;
  const int last = piece.last - (piece.last - piece.first) % piece.step;
  if (last < static_cast<int>(room)) return std::nullopt;
  int missing = piece.first;
  while (missing < static_cast<int>(room)) missing += piece.step;
  const bool alone = piece.text == std::to_string(missing);
  return MakeError(
      ErrorCode::kOutOfRange,
      fmt::format("there is no worker {}{}: {} has {}", missing,
                  alone ? "" : fmt::format(", which `{}` names", piece.text),
                  piece.slices.empty() ? "the pod" : "a slice", Plural(room, "worker")),
      room == 1 ? "It is number 0." : fmt::format("Workers are numbered from 0 to {}.", room - 1));
}

Result<std::vector<int>> WorkerSelection::Of(std::size_t count, int per_slice) const {
  for (const Piece& piece : pieces_) {
    if (auto lacks = WhatLacks(piece, count, per_slice)) return *lacks;
  }
  std::vector<int> numbers = Numbers(count, per_slice);
  if (numbers.empty()) {
    return MakeError(ErrorCode::kInvalidArgument, "the selection leaves no worker",
                     fmt::format("The pod has {}.", Plural(count, "worker")));
  }
  return numbers;
}

std::optional<std::vector<int>> WorkerSelection::Named() const {
  int last = -1;
  if (NamesSlices()) return std::nullopt;
  for (const Piece& piece : pieces_) {
    if (piece.all) return std::nullopt;
    if (!piece.without) last = std::max(last, piece.last);
  }
  if (last < 0) return std::nullopt;
  return Numbers(static_cast<std::size_t>(last) + 1, 0);
}

bool WorkerSelection::NamesSlices() const {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [](const Piece& piece) { return !piece.slices.empty(); });
}

std::string WorkerSelection::Text() const {
  std::string text;
  for (const Piece& piece : pieces_) text += (text.empty() ? "" : ",") + piece.text;
  return text;
}

std::string FormatWorkers(const std::vector<int>& numbers, int per_slice) {
  if (per_slice <= 0) return FormatRanges(numbers);
  std::map<int, std::vector<int>> by_slice;
  for (const int number : numbers) by_slice[number / per_slice].push_back(number % per_slice);
  // Slices of which the same workers are meant stand together, at the place of their first one.
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (auto& [slice, workers] : by_slice) {
    const std::string ranges = FormatRanges(std::move(workers));
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const auto& group) { return group.first == ranges; });
    if (same == groups.end()) {
      groups.push_back({ranges, {slice}});
    } else {
      same->second.push_back(slice);
    }
  }
  std::string text;
  for (const auto& [ranges, slices] : groups) {
    // Each range with its slices: a number without any is one through all slices.
    for (const std::string_view range : Split(ranges, ",")) {
      if (!text.empty()) text += ',';
      text += fmt::format("[{}]/{}", FormatRanges(slices), range);
    }
  }
  return text;
}

std::string WorkersName(const std::string& pod, const std::vector<int>& numbers, int per_slice) {
  const std::string workers = FormatWorkers(numbers, per_slice);
  if (per_slice > 0) return pod + workers;
  return numbers.size() == 1 ? fmt::format("{}/{}", pod, workers)
                             : fmt::format("{}/[{}]", pod, workers);
}

}  // namespace podctl

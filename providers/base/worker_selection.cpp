#include "providers/base/worker_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr int kMostNumber = 99'999;
constexpr std::size_t kMostNamed = 1'000'000;
constexpr std::size_t kMostShown = 40;  // characters of a piece in a message

std::optional<int> ParseNumber(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || text.starts_with('-') || number > kMostNumber) return std::nullopt;
  return number;
}

Error BadPiece(std::string_view piece, std::string_view why) {
  std::string shown(piece.substr(0, kMostShown));
  if (piece.size() > kMostShown) shown += "…";
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("`{}` {}", VisibleControls(shown), why),
                   "Write `all`, or numbers and ranges such as `0,2-3`; `0-255/8` is every 8th of "
                   "them, `!7` leaves worker 7 out.");
}

}  // namespace

Result<WorkerSelection::Piece> WorkerSelection::ParsePiece(std::string_view text) {
  Piece piece;
  piece.text = std::string(text);
  std::string_view rest = text;
  if (rest.starts_with('!')) {
    piece.without = true;
    rest.remove_prefix(1);
  }
  if (rest == "all" && !piece.without) {
    piece.all = true;
    return piece;
  }
  if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
    const auto step = ParseNumber(rest.substr(slash + 1));
    if (!step || *step == 0) return BadPiece(text, "does not say every how many after its slash");
    piece.step = *step;
    rest = rest.substr(0, slash);
    if (rest.find('-') == std::string_view::npos) {
      return BadPiece(text, "wants a range before its slash");
    }
  }
  const auto dash = rest.find('-');
  const auto first = ParseNumber(rest.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : ParseNumber(rest.substr(dash + 1));
  if (!first || !last) return BadPiece(text, "names no workers");
  if (*last < *first) return BadPiece(text, "is a range that runs backwards");
  piece.first = *first;
  piece.last = *last;
  return piece;
}

Result<WorkerSelection> WorkerSelection::Parse(std::string_view text) {
  WorkerSelection selection;
  while (true) {
    const auto comma = text.find(',');
    auto piece = ParsePiece(TrimBlanks(text.substr(0, comma)));
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

std::vector<int> WorkerSelection::Numbers(std::size_t count) const {
  const bool only_without =
      std::all_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) { return piece.without; });
  std::vector<bool> meant(count, only_without);
  for (const bool without : {false, true}) {
    for (const Piece& piece : pieces_) {
      if (piece.without != without) continue;
      const std::size_t first = piece.all ? 0 : static_cast<std::size_t>(piece.first);
      const std::size_t end = piece.all ? count : static_cast<std::size_t>(piece.last) + 1;
      for (std::size_t i = first; i < std::min(end, count);
           i += static_cast<std::size_t>(piece.step)) {
        meant[i] = !without;
      }
    }
  }
  std::vector<int> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    if (meant[i]) numbers.push_back(static_cast<int>(i));
  }
  return numbers;
}

Result<std::vector<int>> WorkerSelection::Of(std::size_t count) const {
  for (const Piece& piece : pieces_) {
    if (piece.all) continue;
    const int last = piece.last - (piece.last - piece.first) % piece.step;
    if (last < static_cast<int>(count)) continue;
    int missing = piece.first;
    while (missing < static_cast<int>(count)) missing += piece.step;
    const bool alone = piece.text == std::to_string(missing);
    return MakeError(ErrorCode::kOutOfRange,
                     fmt::format("there is no worker {}{}: the pod has {}", missing,
                                 alone ? "" : fmt::format(", which `{}` names", piece.text),
                                 Plural(count, "worker")),
                     count == 1 ? "It is number 0."
                                : fmt::format("Workers are numbered from 0 to {}.", count - 1));
  }
  std::vector<int> numbers = Numbers(count);
  if (numbers.empty()) {
    return MakeError(ErrorCode::kInvalidArgument, "the selection leaves no worker",
                     fmt::format("The pod has {}.", Plural(count, "worker")));
  }
  return numbers;
}

std::optional<std::vector<int>> WorkerSelection::Named() const {
  int last = -1;
  for (const Piece& piece : pieces_) {
    if (piece.all) return std::nullopt;
    if (!piece.without) last = std::max(last, piece.last);
  }
  if (last < 0) return std::nullopt;
  return Numbers(static_cast<std::size_t>(last) + 1);
}

}  // namespace podctl

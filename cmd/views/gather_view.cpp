#include "cmd/views/gather_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <tuple>

#include "cmd/views/paint.h"
#include "cmd/views/text_diff.h"
#include "providers/base/foreign_text.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"
#include "providers/ssh/line_splitter.h"

namespace podctl {

using Place = OutputStore::Place;

namespace {

// For what was gathered, after a Ctrl-C.
constexpr std::chrono::seconds kGatherLastWords{2};

// What is compared line by line is held in memory.
constexpr std::uint64_t kMostToCompare = std::uint64_t{4} << 20;  // bytes

// Writes groups to standard output: a head, and below it lines that cannot be taken for one.
class GroupWriter {
 public:
  GroupWriter(Streams& streams, const OutputStore& store, const std::function<bool()>& enough)
      : streams_(streams),
        store_(store),
        enough_(enough),
        paint_(streams.color && streams.out_is_terminal) {}

  // Nothing more is written once this was true.
  bool Ended() {
    ended_ = ended_ || enough_();
    return ended_;
  }
  bool ended() const { return ended_; }

  void Head(const std::string& name, std::size_t count, const std::string& end) {
    streams_.out << paint_(Ink::kBold, name) << fmt::format(" ({})", Plural(count, "worker"))
                 << (end.empty() ? "" : ": " + paint_(Ink::kRed, end)) << '\n';
  }
  void Output(Place place, char mark) {
    ssh::LineSplitter lines;
    const auto write = [&](std::string_view line, bool) { Line(fmt::format("  {} ", mark), line); };
    const auto read = store_.Read(place, [&](std::string_view piece) {
      lines.Add(piece, write);
      return !ended_ && streams_.out;
    });
    lines.Finish(write);
    if (!read) streams_.out << "  (" << read.error().message << ")\n";
  }
  void Note(std::string_view text) { streams_.out << "  (" << text << ")\n"; }
  void Difference(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      const Ink ink = line.starts_with('-')   ? Ink::kRed
                      : line.starts_with('+') ? Ink::kGreen
                                              : Ink::kDim;
      const bool plain = line.starts_with(' ');
      streams_.out << "  " << (plain ? VisibleLine(line) : paint_(ink, VisibleLine(line))) << '\n';
    }
  }
  std::string Text(Place place) const {
    std::string text;
    static_cast<void>(store_
                          .Read(place,
                                [&](std::string_view piece) {
                                  text += piece;
                                  return true;
                                })
                          .has_value());
    return text;
  }

 private:
  void Line(std::string_view mark, std::string_view line) {
    if (!Ended()) streams_.out << mark << VisibleLine(line) << '\n';
  }

  Streams& streams_;
  const OutputStore& store_;
  const std::function<bool()>& enough_;
  Paint paint_;
  bool ended_ = false;
};

std::string NameOf(const Gatherer& gatherer, const Gatherer::Group& group) {
  const WorkerAccess& worker = gatherer.any_worker();
  return WorkersName(worker.pod, group.workers, worker.per_slice);
}

// False when it cannot be shown as a difference: too long, or too much of it.
bool ShowDifference(const Gatherer& gatherer, GroupWriter& writer, const Gatherer::Group& first,
                    const Gatherer::Group& group) {
  const OutputStore& store = gatherer.store();
  if (group.out == first.out && group.err == first.err) {
    writer.Note("the same output");
    return true;
  }
  std::vector<std::string> all;
  for (const auto& [before, after, what] :
       {std::tuple(first.out, group.out, ""), std::tuple(first.err, group.err, " (stderr)")}) {
    if (before == after) continue;
    if (std::max(store.SizeOf(before), store.SizeOf(after)) > kMostToCompare) return false;
    const std::string old_text = writer.Text(before);
    const std::string new_text = writer.Text(after);
    const auto lines = UnifiedDiff({NameOf(gatherer, first) + what, old_text},
                                   {NameOf(gatherer, group) + what, new_text});
    if (!lines) return false;
    all.insert(all.end(), lines->begin(), lines->end());
  }
  writer.Difference(all);
  return true;
}

}  // namespace

bool ShowGathered(Streams& streams, const Gatherer& gatherer, bool diff,
                  const std::function<bool()>& enough) {
  const Place nowhere;
  GroupWriter writer(streams, gatherer.store(), enough);
  const auto groups = gatherer.Groups();
  for (const Gatherer::Group& group : groups) {
    if (!streams.out || writer.Ended()) break;  // nobody reads any more
    writer.Head(NameOf(gatherer, group), group.workers.size(), group.end);
    if (diff && &group != &groups.front()) {
      if (ShowDifference(gatherer, writer, groups.front(), group)) continue;
      writer.Note("differs in too much to compare line by line");
    }
    writer.Output(group.out, '|');
    writer.Output(group.err, '!');
    if (writer.Ended()) break;
    if (group.out == nowhere && group.err == nowhere) writer.Note("no output");
  }
  streams.out << std::flush;
  return !writer.ended();
}

void ShowOutputs(const Gatherer& gatherer, bool diff, const StopTokens& stops, Clock& clock,
                 Streams& streams, bool* interrupted) {
  const auto until = clock.Steady() + kGatherLastWords;
  const bool whole = ShowGathered(streams, gatherer, diff, [&] {
    return *interrupted ? stops.leave.stop_requested() || clock.Steady() >= until
                        : stops.drain.stop_requested();
  });
  *interrupted = stops.drain.stop_requested();
  if (!whole && *interrupted) {
    streams.err << "Interrupted: the rest of the outputs is left out.\n";
  }
}

}  // namespace podctl

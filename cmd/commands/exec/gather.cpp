#include "cmd/commands/exec/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "cmd/views/paint.h"
#include "cmd/views/unified_diff.h"
#include "providers/base/foreign_text.h"
#include "providers/base/text.h"
#include "providers/base/worker_names.h"
#include "providers/ssh/line_splitter.h"

namespace podctl {

using Place = OutputStore::Place;

namespace {

// What is compared line by line is held in memory.
constexpr std::uint64_t kMostToCompare = std::uint64_t{4} << 20;  // bytes

}  // namespace

// Writes groups to standard output: a head, and below it lines that cannot be taken for one.
class Gatherer::GroupWriter {
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
    const auto write = [&](std::string_view line) { Line(fmt::format("  {} ", mark), line); };
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

Gatherer::Gatherer(const std::vector<ssh::Job>& jobs, std::string scratch_folder)
    : jobs_(jobs), store_(std::move(scratch_folder)), workers_(jobs.size()) {}

void Gatherer::OnBytes(std::size_t job, ssh::Stream stream, std::string_view bytes) {
  Worker& worker = workers_.at(job);
  store_.Add(stream == ssh::Stream::kOut ? worker.out : worker.err, bytes);
}

void Gatherer::OnEnd(std::size_t job, const ssh::WorkerResult& result) {
  Worker& worker = workers_.at(job);
  worker.end = ssh::CauseOf(result);
  const auto ran = {ssh::Outcome::kExited, ssh::Outcome::kSignaled, ssh::Outcome::kTimedOut};
  const Place nowhere;
  worker.started = std::find(ran.begin(), ran.end(), result.outcome) != ran.end() ||
                   worker.out != nowhere || worker.err != nowhere;
}

std::vector<Gatherer::Group> Gatherer::Groups() const {
  std::map<std::tuple<Place, Place, std::string>, Group> by_output;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const Worker& worker = workers_[i];
    if (!worker.started) continue;
    Group& group = by_output[{worker.out, worker.err, worker.end}];
    group.like = worker;
    group.workers.push_back(jobs_[i].worker.index);
  }
  std::vector<Group> groups;
  for (auto& [key, group] : by_output) groups.push_back(std::move(group));
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    if (a.workers.size() != b.workers.size()) return a.workers.size() > b.workers.size();
    return a.workers.front() < b.workers.front();
  });
  return groups;
}

std::string Gatherer::Name(const Group& group) const {
  const WorkerAccess& worker = jobs_.front().worker;
  return WorkersName(worker.pod, group.workers, worker.per_slice);
}

// False when it cannot be shown as a difference: too long, or too much of it.
bool Gatherer::ShowDifference(GroupWriter& writer, const Group& first, const Group& group) const {
  if (group.like.out == first.like.out && group.like.err == first.like.err) {
    writer.Note("the same output");
    return true;
  }
  std::vector<std::string> all;
  for (const auto& [before, after, what] :
       {std::tuple(first.like.out, group.like.out, ""),
        std::tuple(first.like.err, group.like.err, " (stderr)")}) {
    if (before == after) continue;
    if (std::max(store_.SizeOf(before), store_.SizeOf(after)) > kMostToCompare) return false;
    const std::string old_text = writer.Text(before);
    const std::string new_text = writer.Text(after);
    const auto lines = UnifiedDiff({Name(first) + what, old_text}, {Name(group) + what, new_text});
    if (!lines) return false;
    all.insert(all.end(), lines->begin(), lines->end());
  }
  writer.Difference(all);
  return true;
}

bool Gatherer::Show(Streams& streams, bool diff, const std::function<bool()>& enough) const {
  const Place nowhere;
  GroupWriter writer(streams, store_, enough);
  const std::vector<Group> groups = Groups();
  for (const Group& group : groups) {
    if (!streams.out || writer.Ended()) break;  // nobody reads any more
    writer.Head(Name(group), group.workers.size(), group.like.end);
    if (diff && &group != &groups.front()) {
      if (ShowDifference(writer, groups.front(), group)) continue;
      writer.Note("differs in too much to compare line by line");
    }
    writer.Output(group.like.out, '|');
    writer.Output(group.like.err, '!');
    if (writer.Ended()) break;
    if (group.like.out == nowhere && group.like.err == nowhere) writer.Note("no output");
  }
  streams.out << std::flush;
  return !writer.ended();
}

}  // namespace podctl

#include "cmd/views/apply_view.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "cmd/views/paint.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// What was not done, by the failure at the root of it.
std::string SkippedText(const ExecuteResult& result) {
  constexpr std::size_t kMostNamed = 100;
  std::vector<Address> causes;  // in the order in which they came
  std::map<Address, std::vector<std::string>> skipped;
  for (const auto& skip : result.skipped) {
    std::vector<std::string>& addresses = skipped[skip.cause];
    if (addresses.empty()) causes.push_back(skip.cause);
    addresses.push_back(skip.address.Text());
  }
  std::string text;
  for (const Address& cause : causes) {
    std::vector<std::string>& addresses = skipped[cause];
    const std::size_t count = addresses.size();
    std::string more;
    if (count > kMostNamed) {
      more = fmt::format(", … and {} more", count - kMostNamed);
      addresses.resize(kMostNamed);
    }
    const std::string names = Join(addresses, ", ") + more;
    const std::string why = cause.empty() ? "the run ended early" : fmt::format("{} failed", cause);
    text += count == 1
                ? fmt::format("{} was skipped, because {}.\n", names, why)
                : fmt::format("{} changes were skipped, because {}: {}.\n", count, why, names);
  }
  return text;
}

// What waits in the queue, as the user wished.
std::string QueuedText(const ExecuteResult& result) {
  if (result.queued.empty()) return {};
  std::string text = fmt::format(
      "Asked for, and left in the queue: {}. The next `podctl apply` goes "
      "on from there; `podctl status` shows how it stands.\n",
      fmt::join(result.queued, ", "));
  if (!result.behind_queued.empty()) {
    text += fmt::format("{} on it.\n",
                        result.behind_queued.size() == 1
                            ? "1 change waits"
                            : fmt::format("{} changes wait", result.behind_queued.size()));
  }
  return text;
}

}  // namespace

std::string UnfinishedText(const ExecuteResult& result) {
  std::vector<Address> under_way = result.unfinished;
  std::string steps;
  for (const ExecuteResult::Stop& stop : result.stopped) {
    std::erase(under_way, stop.address);
    steps += fmt::format("\n{} {}. The next `podctl apply` runs it where it was not through.",
                         stop.address, stop.outcome);
  }
  std::string text = result.interrupted ? "Interrupted. " : "";
  if (!under_way.empty()) {
    text += fmt::format(
        "Under way, and written down in the state: {}. The next `podctl apply` takes it up.",
        fmt::join(under_way, ", "));
  } else if (result.interrupted) {
    text += "The state is saved.";
  }
  return text + steps;
}

void ShowApplied(Streams& streams, const ExecuteResult& result, bool destroy) {
  streams.err << SkippedText(result) << QueuedText(result);
  if (const std::string text = UnfinishedText(result); !text.empty()) streams.err << text << "\n";
  const Paint paint(streams.color && streams.out_is_terminal);
  const std::string steps =
      result.steps > 0 ? fmt::format(" Bootstrap: {} run.", Plural(result.steps, "step")) : "";
  const std::string_view what = destroy ? "Destroy" : "Apply";
  const std::string counts = destroy ? fmt::format("Resources: {} destroyed.", result.destroyed)
                                     : fmt::format("Resources: {} added, {} changed, {} destroyed.",
                                                   result.added, result.changed, result.destroyed);
  streams.out << (result.ok() ? paint(Ink::kGreen, fmt::format("{} complete!", what))
                              : paint(Ink::kRed, fmt::format("{} incomplete.", what)))
              << " " << counts << steps << "\n"
              << std::flush;
}

}  // namespace podctl

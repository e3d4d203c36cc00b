// `podctl drain POD`: ends what holds the TPU although nobody needs it any more.
#include "plans/fleet/drain.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>

#include "cmd/command.h"
#include "cmd/commands/ask.h"
#include "cmd/commands/commands.h"
#include "cmd/commands/pod_rounds.h"
#include "cmd/context.h"
#include "cmd/reporter.h"
#include "cmd/views/drain_view.h"
#include "cmd/wiring.h"

namespace podctl {
namespace {

struct DrainOptions {
  std::string pod;
  std::string workers;                             // --worker; empty: all
  std::optional<std::chrono::milliseconds> grace;  // between TERM and KILL
  bool with_jobs = false;                          // jobs of podctl too
  bool dry_run = false;
  bool auto_approve = false;
};

Approval ApprovalOf(const std::string& what) {
  return {"ending processes needs to be approved, and there is nobody to ask",
          "Add `--auto-approve` to approve it in advance, or `--dry-run` to look.",
          fmt::format("\n{}. Running work is lost.\n  Only 'yes' will be accepted to "
                      "confirm.\n\n  Enter a value: ",
                      what),
          "Drain cancelled.", "Interrupted. Nothing was ended."};
}

int RunDrain(Wiring& wiring, const DrainOptions& options) {
  Reporter& reporter = wiring.reporter();
  Streams& streams = wiring.streams();
  const KnownPods pods(wiring.pod_doors());
  const auto chosen = pods.Choose(options.pod, options.workers);
  if (!chosen) return reporter.ShowFailure(chosen.error());
  const std::string pod = BarePodName(options.pod);
  PodRounds rounds(pods, chosen->target.address, streams, wiring.clock(), wiring.ssh(),
                   wiring.stops());
  const DrainSurvey survey = SurveyLeftovers(*rounds, chosen->workers, options.with_jobs);
  if (reporter.interrupted()) return kInterruptedExitCode;
  ShowSilent(survey.answers, pods, streams);
  const bool nothing = survey.leftovers.empty();
  if (!streams.json) streams.out << LeftoversText(survey.leftovers) << std::flush;
  const std::string what = LeftoversWords(survey.leftovers);
  if (nothing || options.dry_run) {
    reporter.Document(
        [&] { return DrainDocument(pod, survey.leftovers, nullptr, options.dry_run); },
        [&](Streams&) { streams.out << (nothing ? "Nothing to drain." : what + ".") << "\n"; });
    return survey.Whole() ? 0 : 1;
  }
  if (!options.auto_approve) {
    const int code = Approve(ApprovalOf(what), wiring.options().input, reporter, streams);
    if (code != 0) return code;
  }
  const auto grace = std::chrono::ceil<std::chrono::seconds>(options.grace.value_or(kEndingGrace));
  const DrainOutcome outcome = EndLeftovers(*rounds, survey.leftovers, grace);
  reporter.Document([&] { return DrainDocument(pod, survey.leftovers, &outcome, false); },
                    [&](Streams&) { streams.out << DrainedText(survey.leftovers, outcome); });
  ShowSilent(outcome.answers, pods, streams);
  return survey.Whole() && !outcome.something_left ? 0 : 1;
}

using DrainFlags = FlagsOf<DrainOptions>;

constexpr Flag kDrainFlags[] = {
    DrainFlags::Pod<&DrainOptions::pod>(),
    DrainFlags::Workers<&DrainOptions::workers>(),
    DrainFlags::Value<&DrainOptions::grace>("--grace", "DURATION",
                                            "from TERM to KILL (default 30s)"),
    DrainFlags::Switch<&DrainOptions::with_jobs>("--jobs", "also jobs of podctl"),
    DrainFlags::Switch<&DrainOptions::dry_run>("--dry-run", "only show what would be ended"),
    DrainFlags::Switch<&DrainOptions::auto_approve>("--auto-approve", "do not ask"),
};

const CommandOf<DrainOptions> kDrainCommand("drain", "end leftover processes that hold the TPU",
                                            kDrainFlags, WithWorld<RunDrain>);

}  // namespace

const Command& commands::kDrain = kDrainCommand;

}  // namespace podctl

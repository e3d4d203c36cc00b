// `podctl doctor POD`: is the pod fit for use, and where it is not, what is to be done.
#include "plans/fleet/doctor.h"

#include <string>
#include <utility>

#include "cmd/command.h"
#include "cmd/reporter.h"
#include "cmd/views/doctor_view.h"
#include "cmd/views/round_view.h"
#include "cmd/wiring.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/settle.h"
#include "plans/kinds/pod/spec.h"

namespace podctl {
namespace {

struct DoctorOptions {
  std::string pod;
  std::string workers;  // --worker; empty: all
};

int Show(const DoctorReport& report, Reporter& reporter) {
  reporter.Document([&] { return DoctorDocument(report); },
                    [&](Streams& streams) {
                      streams.out << DoctorText(report, streams.color && streams.out_is_terminal);
                    });
  return report.Healthy() ? 0 : 1;
}

// Exit code 0 when all is well, 1 when something is not.
int RunDoctor(Wiring& wiring, const DoctorOptions& options) {
  Reporter& reporter = wiring.reporter();
  const KnownPods pods(wiring.pod_doors());
  std::string lineage;
  auto record = pods.Record(options.pod, &lineage);
  DoctorReport report;
  report.pod = BarePodName(options.pod);
  if (!record && record.error().code == ErrorCode::kNotFound) {
    Diagnostics ignored;
    const Spec spec = wiring.ReadSpec(ignored);  // where there is one at hand
    if (FindDeclaredPod(spec, report.pod) != nullptr) {
      JudgeNotMade(&report);
      return Show(report, reporter);
    }
  }
  if (!record) return reporter.ShowFailure(record.error());
  auto provider = wiring.provider();
  if (!provider) return reporter.ShowFailure(provider.error());
  const auto node = LookAtNode(**provider, wiring.interrupt().drain(), *record, lineage, &report);
  if (!node && report.findings.empty()) return reporter.ShowFailure(node.error());
  if (node) {
    TakeObserved(*node, &*record);
    // A dead node has no workers that could answer.
    if (CheckUsable(report.pod, *record)) {
      auto target = pods.TargetOf(report.pod, *std::move(record));
      if (!target) return reporter.ShowFailure(target.error());
      auto chosen = SelectWorkers(*target, options.workers, "all");
      if (!chosen) return reporter.ShowFailure(chosen.error());
      PodRounds rounds(pods, target->address, wiring.streams(), wiring.clock(), wiring.ssh(),
                       wiring.stops());
      LookAtWorkers(*rounds, wiring.clock(), *node, *chosen, &report);
    }
  }
  if (reporter.interrupted()) return kInterruptedExitCode;
  return Show(report, reporter);
}

constexpr Flag kDoctorFlags[] = {
    PodArgument<&DoctorOptions::pod>(),
    WorkerFlag<&DoctorOptions::workers>(),
};

}  // namespace

const Command commands::kDoctor("doctor", "look a pod over, and say what is wrong and what to do",
                                kDoctorFlags, WithWorld<RunDoctor>);

}  // namespace podctl

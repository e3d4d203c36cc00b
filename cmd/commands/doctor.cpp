// `podctl doctor POD`: is the pod fit for use, and where it is not, what is to be done.
#include "plans/fleet/doctor.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/command.h"
#include "cmd/reporter.h"
#include "cmd/views/doctor_view.h"
#include "cmd/views/round_view.h"
#include "cmd/wiring.h"
#include "plans/fleet/failed_probes.h"
#include "plans/fleet/probe_pod.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/settle.h"
#include "plans/kinds/pod/spec.h"

namespace podctl {
namespace {

struct DoctorOptions {
  std::string pod;
  std::string workers;  // --worker; empty: all
  bool probe = false;
  std::optional<std::string> python;
  std::vector<std::string> egress;  // --egress
};

// What `--probe` is to do, but for which workers were chosen.
Result<PodProbeRequest> ProbeRequestOf(const DoctorOptions& options) {
  PodProbeRequest request;
  const bool more = options.python || !options.egress.empty();
  if (more && !options.probe) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "`--python` and `--egress` say what a probe is to do, and none was asked for",
                     "Add `--probe`.");
  }
  request.python = options.python.value_or(request.python);
  request.egress_due = !options.egress.empty();
  if (request.egress_due) request.egress.clear();
  for (const std::string& text : options.egress) {
    if (text == "none" && options.egress.size() == 1) break;
    auto target = workers::ParseEgressTarget(text);
    if (!target) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("--egress: `{}` is no HOST:PORT", text),
                       "For example `--egress pypi.org:443`; `--egress none` tries none.");
    }
    request.egress.push_back(*std::move(target));
  }
  return request;
}

int Show(const DoctorReport& report, Reporter& reporter) {
  reporter.Document([&] { return DoctorDocument(report); },
                    [&](Streams& streams) {
                      streams.out << DoctorText(report, streams.color && streams.out_is_terminal);
                    });
  return report.Healthy() ? 0 : 1;
}

// What a look at workers takes. All of it is lent.
struct LookDoors {
  const KnownPods& pods;
  Reporter& reporter;
  Streams& streams;
  Clock& clock;
  ssh::Transport& ssh;
  Random& random;
  StopTokens stops;
  std::function<KeptFile(const std::string& address)> kept;  // of failed probes of a pod
};

// The workers of a pod whose node is there: what is found is added to `report`.
Result<void> LookThrough(const LookDoors& doors, const DoctorOptions& options,
                         PodProbeRequest request, const Value& node, PodRecord record,
                         DoctorReport* report) {
  const std::string uid = record.uid();
  auto target = doors.pods.TargetOf(report->pod, std::move(record));
  if (!target) return target.error();
  auto chosen = SelectWorkers(*target, options.workers, "all");
  if (!chosen) return chosen.error();
  PodRounds rounds(doors.pods, target->address, doors.streams, doors.clock, doors.ssh, doors.stops);
  LookAtWorkers(*rounds, doors.clock, node, *chosen, report);
  if (!options.probe || doors.reporter.interrupted()) return {};
  request.whole = chosen->size() == target->workers.size();
  ProbePod(*rounds, doors.clock, doors.random, node, *chosen, request, report);
  CountFailures(FailedProbes(doors.kept(target->address)), uid, report);
  return {};
}

// Exit code 0 when all is well, 1 when something is not.
int RunDoctor(Wiring& wiring, const DoctorOptions& options) {
  Reporter& reporter = wiring.reporter();
  auto request = ProbeRequestOf(options);
  if (!request) return reporter.ShowFailure(request.error());
  const KnownPods pods(wiring.pod_doors());
  const LookDoors doors{pods,
                        reporter,
                        wiring.streams(),
                        wiring.clock(),
                        wiring.ssh(),
                        wiring.random(),
                        wiring.stops(),
                        [&](const std::string& address) {
                          return KeptFile(wiring.files(), wiring.environment(), "probes",
                                          wiring.StatePath(), address);
                        }};
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
  if (node) TakeObserved(*node, &*record);
  // A dead node has no workers that could answer.
  if (node && CheckUsable(report.pod, *record)) {
    const auto looked =
        LookThrough(doors, options, *std::move(request), *node, *std::move(record), &report);
    if (!looked) return reporter.ShowFailure(looked.error());
  } else if (pods.IsWatched(report.pod)) {
    AdviseWatch(*record, &report);
  }
  if (reporter.interrupted()) return kInterruptedExitCode;
  return Show(report, reporter);
}

constexpr Flag kDoctorFlags[] = {
    PodArgument<&DoctorOptions::pod>(),
    WorkerFlag<&DoctorOptions::workers>(),
    Switch<&DoctorOptions::probe>("--probe",
                                  "also have the workers connect to each other and compute "
                                  "together, and compare their versions"),
    OneValue<&DoctorOptions::python>("--python", "PROGRAM",
                                     "with --probe: whose packages are compared, and which runs "
                                     "JAX (default python3)"),
    ManyValues<&DoctorOptions::egress>("--egress", "HOST:PORT",
                                       "with --probe: what each worker is to reach; none: nothing "
                                       "(default storage.googleapis.com:443 and pypi.org:443)"),
};

}  // namespace

const Command commands::kDoctor("doctor", "look a pod over, and say what is wrong and what to do",
                                kDoctorFlags, WithWorld<RunDoctor>);

}  // namespace podctl

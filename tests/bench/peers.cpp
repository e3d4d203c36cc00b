// podctl against its peers, side by side in one run: `./dev bench [start|plan|exec|state] [--all]`.
//
// Peers that are not on the machine are left out, and that is said. The emulator is podctl's own;
// its cost is not counted (it is another process), but it shares the machine's cores with all of
// them.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/measure.h"
#include "tests/bench/plans.h"
#include "tests/bench/states.h"
#include "tests/bench/workbench.h"

namespace podctl::bench {
namespace {

using Commands = std::vector<std::pair<std::string, std::vector<std::string>>>;

void Start(const std::string& podctl) {
  Commands commands = {{"podctl version", {podctl, "version"}}};
  if (HasProgram("terraform")) commands.push_back({"terraform version", {"terraform", "version"}});
  if (HasProgram("gcloud")) commands.push_back({"gcloud version", {"gcloud", "version"}});
  setenv("CHECKPOINT_DISABLE", "1", 1);
  Print("start-up", 0, Compare(commands, "/", 11));
}

void Exec(const std::string& podctl) {
  const Workbench bench(podctl, {"--operation-delay", "1s"});
  WriteFile(bench.folder() / "podctl.yaml",
            "project: p\nzone: europe-west4-a\npods:\n  pod:\n    acceleratorType: v3-128\n"
            "    runtimeVersion: tpu-ubuntu2204-base\n");
  Run({podctl, "apply", "--auto-approve"}, bench.folder().string());
  const std::string folder = bench.folder().string();
  // The peers get the addresses and the key that podctl uses, and check no host key.
  const std::string options = fmt::format(
      "-o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
      "-o LogLevel=ERROR -i {}/.ssh/podctl_ed25519",
      folder);
  Run({"sh", "-c",
       fmt::format("{} state show pod.pod | sed -n 's/^ *worker\\.[0-9]* *= \"\\(.*\\)\"/\\1/p' "
                   ">hosts && test $(wc -l <hosts) = 16",
                   podctl)},
      folder);
  const auto xargs = [&](const std::string& more) {
    return std::vector<std::string>{
        "sh", "-c", fmt::format("xargs -P16 -I@ ssh {} {} @ hostname <hosts", options, more)};
  };
  Print("`hostname` on 16 workers, real sshd", 0,
        Compare({{"podctl exec", {podctl, "exec", "pod", "--", "hostname"}},
                 {"xargs -P16 ssh (default kex)", xargs("")},
                 {"xargs -P16 ssh (curve25519)", xargs("-o KexAlgorithms=curve25519-sha256")}},
                folder, 5));
}

bool IsPart(const std::string& word) {
  return word == "start" || word == "plan" || word == "exec" || word == "state";
}

}  // namespace
}  // namespace podctl::bench

int main(int argc, char** argv) {
  using namespace podctl::bench;
  std::string podctl;
  std::string which;
  bool all = false;
  for (const std::string& word : std::vector<std::string>(argv + 1, argv + argc)) {
    if (word == "--all") {
      all = true;
    } else if (podctl.empty()) {
      podctl = std::filesystem::absolute(word).string();
    } else if (which.empty() && IsPart(word)) {
      which = word;
    } else {
      Fail("usage: peers_bench PODCTL [start|plan|exec|state] [--all]");
    }
  }
  if (podctl.empty()) Fail("usage: peers_bench PODCTL [start|plan|exec|state] [--all]");
  if (which.empty() || which == "start") Start(podctl);
  if (which.empty() || which == "plan") ComparePlans(podctl, all);
  if (which.empty() || which == "exec") Exec(podctl);
  if (which == "state") CompareStates(podctl, all);
  return 0;
}

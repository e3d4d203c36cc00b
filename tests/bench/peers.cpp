// podctl against its peers, side by side in one run: `./dev bench [start|plan|exec]`.
//
// Peers that are not on the machine are left out, and that is said. The emulator is podctl's own;
// its cost is not counted (it is another process), but it shares the machine's cores with all of
// them.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/bench/measure.h"

namespace podctl::bench {
namespace {

namespace fs = std::filesystem;
using Commands = std::vector<std::pair<std::string, std::vector<std::string>>>;

[[noreturn]] void Fail(const std::string& why) {
  fmt::print(stderr, "bench: {}\n", why);
  std::exit(1);
}

void Write(const fs::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) Fail("cannot write " + path.string());
}

std::string ReadText(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A folder, and an emulator that ends with it.
class Bench {
 public:
  Bench(const std::string& podctl, std::vector<std::string> emulator_flags) : podctl_(podctl) {
    std::string pattern = (fs::temp_directory_path() / "podctl-bench.XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) Fail("cannot make a temporary folder");
    folder_ = pattern;
    setenv("HOME", folder_.c_str(), 1);
    unsetenv("SSH_AUTH_SOCK");
    std::vector<std::string> words = {"exec", podctl, "emulator", "--listen", "127.0.0.1:0"};
    words.insert(words.end(), emulator_flags.begin(), emulator_flags.end());
    std::string line = fmt::format("{} >{}/emulator.out 2>&1", fmt::join(words, " "), pattern);
    emulator_ = fork();
    if (emulator_ == 0) {
      execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      _exit(127);
    }
    setenv("PODCTL_ENDPOINT", WaitForUrl().c_str(), 1);
  }
  ~Bench() {
    kill(emulator_, SIGTERM);
    waitpid(emulator_, nullptr, 0);
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  const fs::path& folder() const { return folder_; }
  void Apply() const { Run({podctl_, "apply", "--auto-approve"}, folder_); }

 private:
  std::string WaitForUrl() const {
    for (int look = 0; look < 300; ++look) {
      const std::string text = ReadText(folder_ / "emulator.out");
      if (const auto at = text.find("ready http"); at != std::string::npos) {
        return text.substr(at + 6, text.find('\n', at) - at - 6);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    Fail("the emulator does not start:\n" + ReadText(folder_ / "emulator.out"));
  }

  const std::string podctl_;
  fs::path folder_;
  pid_t emulator_ = -1;
};

void Start(const std::string& podctl) {
  Commands commands = {{"podctl version", {podctl, "version"}}};
  if (HasProgram("terraform")) commands.push_back({"terraform version", {"terraform", "version"}});
  if (HasProgram("gcloud")) commands.push_back({"gcloud version", {"gcloud", "version"}});
  setenv("CHECKPOINT_DISABLE", "1", 1);
  Print("start-up", Compare(commands, "/", 11));
}

std::string ManyPods(int count) {
  std::string spec = "project: p\nzone: europe-west4-a\npods:\n";
  for (int i = 0; i < count; ++i) {
    spec += fmt::format(
        "  pod-{:05}:\n    acceleratorType: v3-8\n    runtimeVersion: tpu-ubuntu2204-base\n"
        "    labels: {{team: vision, index: \"{}\"}}\n",
        i, i);
  }
  return spec;
}

std::string ManyBlocks(int count) {
  std::string config;
  for (int i = 0; i < count; ++i) {
    config += fmt::format(
        "resource \"terraform_data\" \"pod_{:05}\" {{\n  input = {{ type = \"v3-8\", team = "
        "\"vision\", index = \"{}\" }}\n}}\n",
        i, i);
  }
  return config;
}

void PlanOf(const std::string& podctl, int count) {
  const Bench bench(podctl, {"--workers", "none", "--operation-delay", "0.2s"});
  Write(bench.folder() / "podctl.yaml", ManyPods(count));
  bench.Apply();
  const std::string folder = bench.folder().string();
  Commands commands = {{"podctl plan", {podctl, "plan", "--detailed-exitcode"}}};
  if (HasProgram("terraform")) {
    setenv("CHECKPOINT_DISABLE", "1", 1);
    Write(bench.folder() / "main.tf", ManyBlocks(count));
    Run({"terraform", "init"}, folder);
    Run({"terraform", "apply", "-auto-approve"}, folder);
    commands.push_back({"terraform plan", {"terraform", "plan", "-detailed-exitcode"}});
  } else {
    fmt::print("terraform is not on this machine; podctl alone.\n");
  }
  Print(fmt::format("no-op plan of {} objects", count), Compare(commands, folder, 5));
}

void Exec(const std::string& podctl) {
  const Bench bench(podctl, {"--operation-delay", "1s"});
  Write(bench.folder() / "podctl.yaml",
        "project: p\nzone: europe-west4-a\npods:\n  pod:\n    acceleratorType: v3-128\n"
        "    runtimeVersion: tpu-ubuntu2204-base\n");
  bench.Apply();
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
  Print("`hostname` on 16 workers, real sshd",
        Compare({{"podctl exec", {podctl, "exec", "pod", "--", "hostname"}},
                 {"xargs -P16 ssh (default kex)", xargs("")},
                 {"xargs -P16 ssh (curve25519)", xargs("-o KexAlgorithms=curve25519-sha256")}},
                folder, 5));
}

}  // namespace
}  // namespace podctl::bench

int main(int argc, char** argv) {
  using namespace podctl::bench;
  if (argc < 2) Fail("usage: peers_bench PODCTL [start|plan|exec]");
  const std::string podctl = std::filesystem::absolute(argv[1]).string();
  const std::string which = argc > 2 ? argv[2] : "";
  if (which.empty() || which == "start") Start(podctl);
  if (which.empty() || which == "plan") {
    for (int count : {100, 1000}) PlanOf(podctl, count);
  }
  if (which.empty() || which == "exec") Exec(podctl);
  return 0;
}

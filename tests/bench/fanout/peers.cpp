#include "tests/bench/fanout/peers.h"

#include <fmt/format.h>

#include "tests/bench/measure.h"

namespace podctl::bench {
namespace {

// How many ssh processes a peer may run at once: more make all of them slower on few cores.
constexpr const char* kFanOut = "64";

}  // namespace

Client Peers::Make(std::string name, std::vector<std::string> words, const Pod& pod,
                   std::vector<std::string> environment) const {
  Client client;
  client.name = std::move(name);
  client.words = std::move(words);
  client.environment = std::move(environment);
  client.folder = pod.folder;
  client.network = network_;
  return client;
}

Client Peers::Podctl(const Pod& pod, const std::string& command,
                     const std::vector<std::string>& flags) const {
  std::vector<std::string> words = {podctl_, "exec", "pod"};
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), {"--", command});
  return Make(kPodctl, words, pod);
}

std::optional<Client> Peers::Pdsh(const Pod& pod, const std::string& command) const {
  if (!HasProgram("pdsh")) return std::nullopt;
  return Make(kPdsh, {"pdsh", "-R", "ssh", "-f", kFanOut, "-w", "^hosts", command}, pod,
              {"PDSH_SSH_ARGS_APPEND=-F ssh_config"});
}

std::optional<Client> Peers::Pssh(const Pod& pod, const std::string& command) const {
  if (!HasProgram("parallel-ssh")) return std::nullopt;
  return Make(kPssh,
              {"parallel-ssh", "-h", "hosts", "-p", kFanOut, "-t", "0", "-i", "-x", "-F ssh_config",
               command},
              pod);
}

std::optional<Client> Peers::Clush(const Pod& pod, const std::string& command, bool gather) const {
  if (!HasProgram("clush")) return std::nullopt;
  std::vector<std::string> words = {"clush", "-f", kFanOut,        "--hostfile",
                                    "hosts", "-o", "-F ssh_config"};
  if (gather) words.emplace_back("-b");
  words.push_back(command);
  return Make(gather ? kClushGather : kClush, words, pod);
}

std::optional<Client> Peers::Ansible(const Pod& pod, const std::string& command) const {
  if (!HasProgram("ansible")) return std::nullopt;
  return Make(kAnsible,
              {"ansible", "all", "-i", "hosts", "-m", "raw", "-a", command, "-f", kFanOut,
               "--ssh-common-args", "-F " + pod.folder + "/ssh_config"},
              pod,
              {"ANSIBLE_HOST_KEY_CHECKING=False", "ANSIBLE_NOCOLOR=1", "LC_ALL=C.UTF-8",
               "ANSIBLE_PYTHON_INTERPRETER=auto_silent"});
}

Client Peers::Xargs(const Pod& pod, const std::string& command, KeyExchange key_exchange) const {
  const bool curve = key_exchange == KeyExchange::kCurve25519;
  Client client = Make(curve ? kXargsCurve : kXargs,
                       {"xargs", std::string("-P") + kFanOut, "-I@", "ssh", "-F",
                        curve ? "ssh_config_curve" : "ssh_config", "@", command},
                       pod);
  client.input = "hosts";
  return client;
}

std::vector<std::string> MissingPeers() {
  std::vector<std::string> missing;
  const auto check = [&](const char* program, const char* remark) {
    if (!HasProgram(program)) missing.push_back(fmt::format("{} ({})", program, remark));
  };
  check("pdsh", "Debian package pdsh");
  check("parallel-ssh", "Debian package pssh");
  check("clush", "Debian package clustershell");
  check("ansible", "Debian package ansible-core");
  check("gcloud", "from Google's own archive");
  return missing;
}

}  // namespace podctl::bench

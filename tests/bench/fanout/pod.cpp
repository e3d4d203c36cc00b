#include "tests/bench/fanout/pod.h"

#include <fmt/format.h>

#include <filesystem>

#include "plans/kinds/pod/record.h"
#include "state/state.h"
#include "state/state_json.h"
#include "tests/bench/workbench.h"

namespace podctl::bench {
namespace {

State StateOf(const Fleet& fleet, const std::vector<std::string>& addresses) {
  PodRecord pod;
  pod.project = "bench";
  pod.zone = "europe-west4-a";
  pod.current = {"pod", "1", Present{}};
  pod.applied.Set("acceleratorType", "v3-8");
  pod.applied.Set("runtimeVersion", "tpu-ubuntu2204-base");
  Value::List endpoints;
  for (const std::string& address : addresses) {
    Value endpoint = Value::EmptyMap();
    endpoint.Set("ipAddress", address);
    endpoint.SetPath("accessConfig.externalIp", address);
    endpoints.push_back(std::move(endpoint));
  }
  pod.observed.Set("state", "READY");
  pod.observed.Set("acceleratorType", "v3-8");
  pod.observed.Set("runtimeVersion", "tpu-ubuntu2204-base");
  pod.observed.Set("networkEndpoints", Value(std::move(endpoints)));
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    pod.host_keys[static_cast<int>(i)] = {fleet.host_key()};
  }
  pod.host_keys_source = "guestAttributes";
  pod.ssh.user = fleet.user();
  pod.ssh.port = fleet.port();
  pod.ssh.identity_file = fleet.identity();
  State state;
  state.lineage = "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa";
  state.serial = 1;
  state.digest_key = "00112233445566778899aabbccddeeff";
  state.records = {{PodAddress("pod"), pod}};
  return state;
}

std::string SpecOf(const Fleet& fleet, const PodOptions& options) {
  std::string spec = fmt::format(
      "project: bench\nzone: europe-west4-a\npods:\n  pod:\n    acceleratorType: v3-8\n"
      "    runtimeVersion: tpu-ubuntu2204-base\n"
      "    ssh: {{user: {}, port: {}, identityFile: {}, publishKey: false}}\n",
      fleet.user(), fleet.port(), fleet.identity());
  if (!options.steps.empty()) spec += "    bootstrap:\n";
  for (std::size_t i = 0; i < options.steps.size(); ++i) {
    spec += fmt::format("      - name: step-{}\n        run: {}\n", i, options.steps[i]);
  }
  return spec;
}

}  // namespace

Pod MakePod(const std::string& folder, const Fleet& fleet,
            const std::vector<std::string>& addresses, const PodOptions& options) {
  std::filesystem::create_directories(folder);
  WriteFile(folder + "/podctl.yaml", SpecOf(fleet, options));
  WriteFile(folder + "/podctl.state.json", StateToJson(StateOf(fleet, addresses)));
  std::string hosts;
  for (const std::string& address : addresses) hosts += address + "\n";
  WriteFile(folder + "/hosts", hosts);
  const std::string config = fmt::format(
      "User {}\nPort {}\nIdentityFile {}\nIdentitiesOnly yes\nBatchMode yes\n"
      "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n",
      fleet.user(), fleet.port(), fleet.identity());
  WriteFile(folder + "/ssh_config", config);
  WriteFile(folder + "/ssh_config_curve", config + "KexAlgorithms curve25519-sha256\n");
  return {folder, static_cast<int>(addresses.size())};
}

Pod MakePod(const std::string& folder, const Fleet& fleet, int count) {
  return MakePod(folder, fleet, {fleet.addresses().begin(), fleet.addresses().begin() + count});
}

}  // namespace podctl::bench

// Declared in emulator.h.
#include <fmt/format.h>

#include <charconv>

#include "cmd/commands/emulator.h"
#include "cmd/reporter.h"
#include "cmd/wiring.h"
#include "providers/emulator/emulator.h"
#include "providers/emulator/workers/light/version.h"

namespace podctl {
namespace {

// "127.0.0.1:8470", "[::1]:8470", ":8470", "8470".
Result<std::pair<std::string, int>> ParseListen(const std::string& text) {
  const auto colon = text.rfind(':');
  std::string host = colon == std::string::npos ? "" : text.substr(0, colon);
  const std::string digits = colon == std::string::npos ? text : text.substr(colon + 1);
  int port = -1;
  const char* end = digits.data() + digits.size();
  auto [rest, code] = std::from_chars(digits.data(), end, port);
  if (digits.empty() || code != std::errc() || rest != end || port < 0 || port > 65535) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("`--listen {}` is not ADDRESS:PORT", text),
                     "For example `--listen 127.0.0.1:8470`; port 0 takes any free one.");
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::pair(host.empty() ? std::string("127.0.0.1") : host, port);
}

}  // namespace

int RunEmulator(Wiring& wiring, const EmulatorOptions& options) {
  auto listen = ParseListen(options.listen);
  if (!listen) return wiring.reporter().ShowFailure(listen.error());
  emulator::Options start;
  start.listen_host = listen->first;
  start.listen_port = listen->second;
  start.data_folder = options.data;
  if (options.workers == "sshd") start.workers = emulator::Options::Workers::kBest;
  if (options.workers == "none") start.workers = emulator::Options::Workers::kNone;
  if (options.workers == "light") start.workers = emulator::Options::Workers::kLight;
  start.operation_delay = options.operation_delay;
  start.ssh_port = options.ssh_port;
  start.capacity = options.capacity;
  start.quotas = options.quotas;
  start.reservations = options.reservations;
  start.faults_file = options.faults;
  if (options.worker_network == "private") start.network = emulator::Options::Network::kPrivate;
  if (options.worker_network == "host") start.network = emulator::Options::Network::kHost;
  auto emulator = emulator::Emulator::Start(start);
  if (!emulator) {
    wiring.reporter().ShowError("the emulator cannot start", emulator.error());
    return 1;  // also where another has its folder: that is no state
  }
  Streams& streams = wiring.streams();
  if (start.workers == emulator::Options::Workers::kNone) {
    streams.err << "There are no workers: nobody will answer SSH. `podctl apply` looks for them in "
                   "vain once it has made a pod, unless the spec says `ssh: {check: false}`.\n";
  } else {
    streams.err << fmt::format("Workers answer SSH on port {}.\n", (*emulator)->ssh_port());
    if ((*emulator)->ssh_port() != 22) {
      streams.err << fmt::format(
          "  That is not 22: `export PODCTL_SSH_PORT={0}` where podctl runs, or write `ssh: "
          "{{port: "
          "{0}}}` in the spec.\n",
          (*emulator)->ssh_port());
    }
    if (options.workers == "sshd" && !(*emulator)->isolated_workers()) {
      streams.err
          << "  They are light ones: sshd workers want openssh-server, and a root who may make "
             "namespaces.\n";
    }
    if ((*emulator)->private_networks()) {
      streams.err << "  Each has a network of its own, with its pod and without a way out; "
                     "`--worker-network host` gives them this machine's.\n";
    }
  }
  streams.out << "ready " << (*emulator)->url() << "\n" << std::flush;
  // It ends its workers' processes itself.
  wiring.interrupt().NeverHurry();
  const std::stop_token drain = wiring.interrupt().drain();
  // Whoever waits for that line would wait for ever.
  while (streams.out && wiring.clock().SleepFor(std::chrono::hours(1), drain)) {
  }
  (*emulator)->Stop();
  return 0;
}

std::string EmulatorSshVersion() {
  return emulator::LibsshVersion();
}

}  // namespace podctl

// Throughput of a tunnel: the part "tunnel".
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/bench/fanout/fleet.h"
#include "tests/bench/fanout/pod.h"
#include "tests/bench/fanout/process_tree.h"
#include "tests/bench/fanout/sections.h"
#include "tests/bench/fanout/server.h"
#include "tests/bench/workbench.h"

namespace podctl::bench {
namespace {

constexpr std::uint64_t kBytes = std::uint64_t{512} << 20;
constexpr std::size_t kChunkBytes = std::size_t{256} << 10;

sockaddr_in Loopback(int port) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  in.sin_port = htons(static_cast<std::uint16_t>(port));
  return in;
}

// A socket that listens on loopback, on a free port that is returned in `port`.
int Listen(int* port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in in = Loopback(0);
  socklen_t size = sizeof(in);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&in), size) != 0 ||
      listen(listener, 16) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&in), &size) != 0) {
    Fail("cannot listen on loopback");
  }
  *port = ntohs(in.sin_port);
  return listener;
}

int FreePort() {
  int port = 0;
  close(Listen(&port));
  return port;
}

// Sends kBytes to whoever connects.
class Source {
 public:
  Source() {
    const int listener = Listen(&port_);
    process_ = fork();
    if (process_ == 0) Serve(listener);
    close(listener);
  }
  ~Source() {
    kill(process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  int port() const { return port_; }

 private:
  [[noreturn]] static void Serve(int listener) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::string chunk(kChunkBytes, 'x');
    for (;;) {
      const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      for (std::uint64_t sent = 0; sent < kBytes;) {
        const std::size_t left = std::min<std::uint64_t>(chunk.size(), kBytes - sent);
        const ssize_t count = send(connection, chunk.data(), left, MSG_NOSIGNAL);
        if (count <= 0) break;
        sent += static_cast<std::uint64_t>(count);
      }
      close(connection);
    }
  }

  int port_ = 0;
  pid_t process_ = -1;
};

int Connect(int port) {
  for (int attempt = 0; attempt < 500; ++attempt) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in in = Loopback(port);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&in), sizeof(in)) == 0) return fd;
    close(fd);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return -1;
}

struct TunnelWay {
  std::string name;
  int port = 0;
  pid_t process = -1;
  std::vector<double> rates;  // MB/s
  double cpu_seconds = 0;
};

// One download; false when not all came.
bool Download(TunnelWay* way) {
  const double cpu_before = way->process < 0 ? 0 : CpuSeconds(way->process);
  const auto start = std::chrono::steady_clock::now();
  const int fd = Connect(way->port);
  if (fd < 0) return false;
  std::string buffer(kChunkBytes, '\0');
  std::uint64_t got = 0;
  for (ssize_t count = 0; (count = read(fd, buffer.data(), buffer.size())) > 0;) {
    got += static_cast<std::uint64_t>(count);
  }
  close(fd);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  way->rates.push_back(static_cast<double>(got) / 1e6 / wall.count());
  if (way->process >= 0) way->cpu_seconds += CpuSeconds(way->process) - cpu_before;
  return got == kBytes;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The port in "http://127.0.0.1:PORT -> pod/0 port N".
int PortIn(const std::string& log) {
  constexpr std::string_view kBefore = "http://127.0.0.1:";
  const std::size_t at = log.find(kBefore);
  return at == std::string::npos ? 0 : std::atoi(log.c_str() + at + kBefore.size());
}

}  // namespace

void CompareTunnels(const Settings& settings, Score* score) {
  const auto fleet = StartRealFleet({settings.folder + "/tunnel", Addresses("127.4.0.1", 1), -1});
  const Pod pod = MakePod(settings.folder + "/tunnel.pod", *fleet, 1);
  const Source source;
  const Server ours(
      {"sh", "-c",
       fmt::format("cd {} && exec {} tunnel pod 0:{}", pod.folder, settings.podctl, source.port())},
      -1, settings.folder + "/tunnel.podctl.log");
  const int ssh_port = FreePort();
  const Server theirs({"ssh", "-F", pod.folder + "/ssh_config", "-N", "-L",
                       fmt::format("127.0.0.1:{}:127.0.0.1:{}", ssh_port, source.port()),
                       fleet->addresses().front()},
                      -1, settings.folder + "/tunnel.ssh.log");
  ours.WaitFor("http://127.0.0.1:", 1);
  TunnelWay ways[] = {{"podctl tunnel", PortIn(ours.Log()), ours.process(), {}, 0},
                      {"ssh -L", ssh_port, theirs.process(), {}, 0},
                      {"(no tunnel)", source.port(), -1, {}, 0}};
  fmt::print("\n{} MiB through a tunnel, OpenSSH's sshd\n", kBytes >> 20);
  for (int run = 0; run < settings.runs; ++run) {
    for (TunnelWay& way : ways) {
      if (Download(&way)) continue;
      fmt::print("  {}: FAILED, not all bytes came\n", way.name);
      score->Failed("tunnel");
      return;
    }
  }
  for (const TunnelWay& way : ways) {
    fmt::print("  {:<28} {:>4} {:>8.0f} MB/s {:>8} s of CPU each\n", way.name, way.rates.size(),
               Median(way.rates),
               way.process < 0 ? "-" : fmt::format("{:.2f}", way.cpu_seconds / settings.runs));
  }
  score->AtLeast("tunnel: throughput against ssh -L", Median(ways[0].rates), Median(ways[1].rates),
                 0.7);
}

}  // namespace podctl::bench

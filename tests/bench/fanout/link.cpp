#include "tests/bench/fanout/link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "tests/bench/fanout/carrier.h"
#include "tests/bench/fanout/client.h"
#include "tests/bench/measure.h"
#include "tests/bench/workbench.h"

namespace podctl::bench {
namespace {

// A device "wan" in the network namespace that this process is in.
int OpenTun() {
  const int tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (tun < 0) return -1;
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  strncpy(request.ifr_name, "wan", IFNAMSIZ - 1);
  if (ioctl(tun, TUNSETIFF, &request) == 0) return tun;
  close(tun);
  return -1;
}

int CurrentNetwork() {
  return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

struct Side {
  int network = -1;
  int tun = -1;
};

// A new network namespace with its TUN device; the process is back in its own afterwards.
Side MakeSide() {
  Side side;
  const int home = CurrentNetwork();
  if (home < 0 || unshare(CLONE_NEWNET) != 0) Fail("cannot make a network namespace");
  side.network = CurrentNetwork();
  side.tun = OpenTun();
  if (setns(home, CLONE_NEWNET) != 0) Fail("cannot leave a network namespace");
  close(home);
  if (side.network < 0 || side.tun < 0) Fail("cannot make a TUN device");
  return side;
}

// Runs `ip WORDS` in the namespace.
void Ip(int network, std::vector<std::string> words) {
  words.insert(words.begin(), "ip");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    EnterNetwork(network);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) Fail(fmt::format("`{}` failed", fmt::join(words, " ")));
}

}  // namespace

std::string Link::WhyNot() {
  if (geteuid() != 0) return "network namespaces need root";
  if (access("/dev/net/tun", R_OK | W_OK) != 0) return "there is no /dev/net/tun";
  if (!HasProgram("ip")) return "there is no `ip` (Debian package iproute2)";
  return "";
}

Link::Link(const Options& options) {
  const Side client = MakeSide();
  const Side server = MakeSide();
  client_ = client.network;
  server_ = server.network;
  for (const int network : {client_, server_}) {
    Ip(network, {"link", "set", "lo", "up"});
    // A burst of a thousand connections has to fit in, as it does in a real network card's queue.
    Ip(network, {"link", "set", "wan", "up", "txqueuelen", "20000"});
  }
  Ip(client_, {"address", "add", "10.0.0.1/32", "dev", "wan"});
  Ip(client_, {"route", "add", "10.0.0.0/8", "dev", "wan", "src", "10.0.0.1"});
  Ip(server_, {"route", "add", "10.0.0.1/32", "dev", "wan"});
  // Every address of it is the server's own, without being listed.
  Ip(server_, {"route", "add", "local", "10.1.0.0/16", "dev", "lo"});
  carrier_ = fork();
  if (carrier_ == 0) Carry(client.tun, server.tun, options);
  close(client.tun);
  close(server.tun);
}

Link::~Link() {
  kill(carrier_, SIGKILL);
  while (waitpid(carrier_, nullptr, 0) < 0 && errno == EINTR) {
  }
  close(client_);
  close(server_);
}

}  // namespace podctl::bench

#include "providers/emulator/workers/pod_network.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <system_error>
#include <thread>

#include "providers/emulator/workers/address.h"

namespace podctl::emulator {
namespace {

constexpr int kLoopback = 1;  // its index, in every network
constexpr char kCard[] = "eth0";
constexpr int kMetadataPort = 80;
// The addresses of workers, and what is left of 127/8 for `lo`: see
// providers/emulator/service/addresses.h.
constexpr int kPrefix = 10;

Error Failed(std::string_view what) {
  return MakeError(ErrorCode::kIo,
                   fmt::format("cannot {}: {}", what, std::generic_category().message(errno)));
}

// Runs `work` in a new network and ends: a namespace is a matter of the thread.
Result<void> InNewNetwork(const std::function<Result<void>(Netlink)>& work) {
  Result<void> done;
  std::thread([&] {
    if (::unshare(CLONE_NEWNET) != 0) {
      done = Failed("make a network");
      return;
    }
    // Without it each card asks and tells all others about an address that nobody uses. Where
    // /proc/sys is read-only it costs a little time, and no more.
    const Descriptor switch_off(
        ::open("/proc/sys/net/ipv6/conf/default/disable_ipv6", O_WRONLY | O_CLOEXEC));
    if (switch_off.open()) static_cast<void>(::write(switch_off.get(), "1", 1));
    Result<Netlink> kernel = Netlink::Open();
    done = kernel ? work(*std::move(kernel)) : kernel.error();
  }).join();
  return done;
}

// Of 127/8, which `lo` has whole when it comes up, it keeps the lowest quarter.
Result<void> PrepareLoopback(Netlink* kernel) {
  Result<void> done = kernel->Raise(kLoopback);
  if (done) done = kernel->AddAddress(kLoopback, "127.0.0.1", kPrefix);
  if (done) done = kernel->RemoveAddress(kLoopback, "127.0.0.1", 8);
  if (done) done = kernel->AddAddress(kLoopback, kMetadataAddress, 32);
  return done;
}

Result<void> BindInto(const std::string& address, int port, Descriptor* socket) {
  Result<int> bound = BindSocket(address, port);
  if (!bound) return bound.error();
  *socket = Descriptor(*bound);
  return {};
}

}  // namespace

Result<std::shared_ptr<PodNetwork>> PodNetwork::Make() {
  std::shared_ptr<PodNetwork> made;
  const Result<void> done = InNewNetwork([&](Netlink kernel) -> Result<void> {
    if (auto added = kernel.AddBridge("pod"); !added) return added;
    const Result<int> bridge = kernel.IndexOf("pod");
    if (!bridge) return bridge.error();
    if (auto raised = kernel.Raise(*bridge); !raised) return raised;
    made.reset(new PodNetwork(std::move(kernel), *bridge));
    return {};
  });
  if (!done) return done.error();
  return made;
}

Result<PodNetwork::Place> PodNetwork::Join(const std::string& address, int port) {
  Place place;
  Result<void> done = BindInto(address, port, &place.outer_door);
  if (!done) return done.error();
  done = InNewNetwork([&](Netlink kernel) -> Result<void> {
    place.space = Descriptor(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    if (!place.space.open()) return Failed("open a network");
    if (auto prepared = PrepareLoopback(&kernel); !prepared) return prepared;
    {
      const std::lock_guard lock(mutex_);
      if (auto added = kernel_.AddPair(bridge_, kCard, place.space.get()); !added) return added;
    }
    const Result<int> card = kernel.IndexOf(kCard);
    if (!card) return card.error();
    Result<void> joined = kernel.RouteLoopbackAddresses(*card);
    if (joined) joined = kernel.Raise(*card);
    if (joined) joined = kernel.AddAddress(*card, address, kPrefix);
    if (joined) joined = BindInto("0.0.0.0", port, &place.inner_door);
    if (joined) joined = BindInto(kMetadataAddress, kMetadataPort, &place.metadata);
    return joined;
  });
  if (!done) return done.error();
  return place;
}

}  // namespace podctl::emulator

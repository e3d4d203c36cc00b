// The network of a pod's workers: each has one of its own, and all are joined by a bridge.
//
// A worker's network has `lo` and `eth0`, which holds the address that the API gives for it; under
// that address the pod's other workers reach it on any port, and so does it itself. It is one of
// 127.64.0.0/10, as the machine has them; of 127/8 `lo` keeps only the quarter below in there. The
// bridge stands in a network of its own, so that the machine's has neither devices nor routes nor
// rules of ours. Nothing has a name or a place: the kernel takes all of it away when the last
// descriptor and process in it are gone, also after a kill.
//
// Needs root with CAP_SYS_ADMIN and CAP_NET_ADMIN. Thread safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "providers/base/error.h"
#include "providers/emulator/workers/light/descriptor.h"

namespace podctl::emulator {

// Network devices and addresses of one network namespace, by the kernel's rtnetlink(7): as much as
// is needed here. Not thread safe; any thread may use it, in whatever namespace it is.
class Netlink {
 public:
  // Of the calling thread's namespace, which lives at least as long as this. All calls: kIo, with
  // the kernel's word for it.
  static Result<Netlink> Open();

  Result<int> IndexOf(const std::string& name);
  Result<void> AddBridge(const std::string& name);
  // Two ends of a cable: one here, up, at the bridge; the other one, `name`, in the namespace that
  // the descriptor `space` stands for.
  Result<void> AddPair(int bridge, const std::string& name, int space);
  Result<void> Raise(int index);
  // Addresses of 127/8 may come and go through it.
  Result<void> RouteLoopbackAddresses(int index);
  Result<void> AddAddress(int index, const std::string& address, int prefix);
  Result<void> RemoveAddress(int index, const std::string& address, int prefix);

 private:
  explicit Netlink(Descriptor socket) : socket_(std::move(socket)) {}
  // The index in the answer, if there is one.
  Result<int> Ask(std::string_view what, std::string message);
  Result<void> Order(std::string_view what, std::string message);

  Descriptor socket_;
};

// Where a VM's metadata server answers; in a worker's network it is an address of `lo`.
inline constexpr char kMetadataAddress[] = "169.254.169.254";

class PodNetwork {
 public:
  // Of one worker. Its network lives as long as the place, a socket or a process in it.
  struct Place {
    Descriptor space;  // for setns(2)
    // Bound, and not listening yet: the worker's address in this machine's network, all addresses
    // in its own, and its metadata server.
    Descriptor outer_door;
    Descriptor inner_door;
    Descriptor metadata;
  };

  // kIo: the kernel does not let us, or lacks bridges or pairs of devices.
  static Result<std::shared_ptr<PodNetwork>> Make();

  // A network for a worker with this address, entered through `port`. A pod has room for 1,023
  // workers, as many as a bridge. kUnavailable: the address is taken; kIo.
  Result<Place> Join(const std::string& address, int port);

 private:
  PodNetwork(Netlink kernel, int bridge) : kernel_(std::move(kernel)), bridge_(bridge) {}

  std::mutex mutex_;
  Netlink kernel_;  // of the bridge's network, which it keeps alive
  const int bridge_;
};

}  // namespace podctl::emulator

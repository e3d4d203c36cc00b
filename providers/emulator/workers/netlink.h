// Network devices and addresses of one network namespace, by the kernel's rtnetlink(7). Knows only
// what pod_network needs. Not thread safe; any thread may use it, in whatever namespace it is.
#pragma once

#include <string>
#include <utility>

#include "providers/base/error.h"
#include "providers/emulator/workers/light/descriptor.h"

namespace podctl::emulator {

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

}  // namespace podctl::emulator

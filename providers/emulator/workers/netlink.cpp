// The second part of pod_network.h: the words that the kernel is spoken to in.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include "providers/emulator/workers/pod_network.h"

namespace podctl::emulator {
namespace {

// A request in the making: a header and attributes, each padded to four bytes, which may nest.
class NetlinkMessage {
 public:
  template <typename Header>
  NetlinkMessage(int type, int flags, const Header& header) {
    nlmsghdr start{};
    start.nlmsg_type = static_cast<std::uint16_t>(type);
    start.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
    Put(start);
    Put(header);
  }

  template <typename Data>
  void Put(const Data& data) {
    text_.append(reinterpret_cast<const char*>(&data), sizeof data);
    Pad();
  }
  void Attribute(int type, std::string_view data) {
    const std::size_t at = Begin(type);
    text_ += data;
    End(at);
  }
  template <typename Number>
  void AttributeOf(int type, Number number) {
    Attribute(type, {reinterpret_cast<const char*>(&number), sizeof number});
  }
  // What comes until End(its answer) is inside.
  std::size_t Begin(int type) {
    const std::size_t at = text_.size();
    rtattr header{};
    header.rta_type = static_cast<unsigned short>(type);
    Put(header);
    return at;
  }
  void End(std::size_t at) {
    const auto size = static_cast<unsigned short>(text_.size() - at);
    std::memcpy(text_.data() + at + offsetof(rtattr, rta_len), &size, sizeof size);
    Pad();
  }
  std::string Take() {
    const auto size = static_cast<std::uint32_t>(text_.size());
    std::memcpy(text_.data() + offsetof(nlmsghdr, nlmsg_len), &size, sizeof size);
    return std::move(text_);
  }

 private:
  void Pad() { text_.resize((text_.size() + 3) & ~std::size_t{3}); }

  std::string text_;
};

// With the zero at the end that the kernel wants of names.
std::string_view WithEnd(const std::string& name) {
  return {name.c_str(), name.size() + 1};
}

NetlinkMessage AddressMessage(int type, int flags, int index, const std::string& address,
                              int prefix) {
  ifaddrmsg header{};
  header.ifa_family = AF_INET;
  header.ifa_prefixlen = static_cast<unsigned char>(prefix);
  header.ifa_index = static_cast<unsigned>(index);
  NetlinkMessage message(type, flags, header);
  in_addr binary{};
  ::inet_pton(AF_INET, address.c_str(), &binary);
  message.AttributeOf(IFA_LOCAL, binary);
  message.AttributeOf(IFA_ADDRESS, binary);
  return message;
}

NetlinkMessage LinkMessage(int type, int flags, int index) {
  ifinfomsg header{};
  header.ifi_index = index;
  return {type, flags, header};
}

}  // namespace

Result<Netlink> Netlink::Open() {
  const int file = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (file >= 0) return Netlink(Descriptor(file));
  return MakeError(ErrorCode::kIo, fmt::format("cannot speak to the kernel's network: {}",
                                               std::generic_category().message(errno)));
}

Result<int> Netlink::Ask(std::string_view what, std::string message) {
  const auto failed = [&](int problem) {
    return MakeError(ErrorCode::kIo, fmt::format("the kernel does not {}: {}", what,
                                                 std::generic_category().message(problem)));
  };
  if (::send(socket_.get(), message.data(), message.size(), 0) < 0) return failed(errno);
  int index = 0;
  while (true) {
    alignas(nlmsghdr) std::array<char, 16384> buffer{};
    const ssize_t received = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0) return failed(errno);
    std::size_t at = 0;
    const auto size = static_cast<std::size_t>(received);
    while (at + sizeof(nlmsghdr) <= size) {
      nlmsghdr header{};
      std::memcpy(&header, buffer.data() + at, sizeof header);
      if (header.nlmsg_len < sizeof header || at + header.nlmsg_len > size) return failed(EBADMSG);
      const char* const body = buffer.data() + at + NLMSG_HDRLEN;
      if (header.nlmsg_type == NLMSG_ERROR) {
        int code = 0;
        std::memcpy(&code, body, sizeof code);
        if (code != 0) return failed(-code);
        return index;
      }
      if (header.nlmsg_type == RTM_NEWLINK) {
        ifinfomsg link{};
        std::memcpy(&link, body, sizeof link);
        index = link.ifi_index;
      }
      at += NLMSG_ALIGN(header.nlmsg_len);
    }
  }
}

Result<void> Netlink::Order(std::string_view what, std::string message) {
  Result<int> done = Ask(what, std::move(message));
  if (!done) return done.error();
  return {};
}

Result<int> Netlink::IndexOf(const std::string& name) {
  NetlinkMessage message = LinkMessage(RTM_GETLINK, 0, 0);
  message.Attribute(IFLA_IFNAME, WithEnd(name));
  return Ask("find a network device", message.Take());
}

Result<void> Netlink::AddBridge(const std::string& name) {
  NetlinkMessage message = LinkMessage(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, 0);
  message.Attribute(IFLA_IFNAME, WithEnd(name));
  const std::size_t info = message.Begin(IFLA_LINKINFO);
  message.Attribute(IFLA_INFO_KIND, "bridge");
  message.End(info);
  return Order("make a bridge", message.Take());
}

Result<void> Netlink::AddPair(int bridge, const std::string& name, int space) {
  ifinfomsg up{};
  up.ifi_flags = IFF_UP;
  up.ifi_change = IFF_UP;
  NetlinkMessage message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, up);
  message.AttributeOf(IFLA_MASTER, bridge);
  const std::size_t info = message.Begin(IFLA_LINKINFO);
  message.Attribute(IFLA_INFO_KIND, "veth");
  const std::size_t data = message.Begin(IFLA_INFO_DATA);
  const std::size_t peer = message.Begin(VETH_INFO_PEER);
  message.Put(ifinfomsg{});
  message.Attribute(IFLA_IFNAME, WithEnd(name));
  message.AttributeOf(IFLA_NET_NS_FD, space);
  message.End(peer);
  message.End(data);
  message.End(info);
  return Order("make a pair of network devices", message.Take());
}

Result<void> Netlink::Raise(int index) {
  ifinfomsg up{};
  up.ifi_index = index;
  up.ifi_flags = IFF_UP;
  up.ifi_change = IFF_UP;
  return Order("raise a network device", NetlinkMessage(RTM_NEWLINK, 0, up).Take());
}

Result<void> Netlink::RouteLoopbackAddresses(int index) {
  // Not by /proc/sys, which containers see read-only.
  NetlinkMessage message = LinkMessage(RTM_SETLINK, 0, index);
  const std::size_t families = message.Begin(IFLA_AF_SPEC);
  const std::size_t family = message.Begin(AF_INET);
  const std::size_t settings = message.Begin(IFLA_INET_CONF);
  message.AttributeOf(IPV4_DEVCONF_ROUTE_LOCALNET, std::uint32_t{1});
  message.End(settings);
  message.End(family);
  message.End(families);
  return Order("route loopback addresses", message.Take());
}

Result<void> Netlink::AddAddress(int index, const std::string& address, int prefix) {
  return Order(
      fmt::format("take the address {}", address),
      AddressMessage(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, index, address, prefix).Take());
}

Result<void> Netlink::RemoveAddress(int index, const std::string& address, int prefix) {
  return Order(fmt::format("give up the address {}", address),
               AddressMessage(RTM_DELADDR, 0, index, address, prefix).Take());
}

}  // namespace podctl::emulator

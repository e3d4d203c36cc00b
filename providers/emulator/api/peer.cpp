// The second part of gate.h: whose the other end of a connection is.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include "providers/emulator/api/gate.h"

namespace podctl::emulator {
namespace {

// In which a socket can still have an owner who has sent something.
bool IsLive(unsigned state) {
  return state == TCP_ESTABLISHED || state == TCP_FIN_WAIT1 || state == TCP_FIN_WAIT2 ||
         state == TCP_CLOSE_WAIT;
}

// The address in network order, as the kernel's tables hold it.
struct Binary {
  int family = AF_UNSPEC;
  std::array<std::uint32_t, 4> words{};
};

std::optional<Binary> ReadAddress(const std::string& text) {
  Binary address;
  for (const int family : {AF_INET, AF_INET6}) {
    if (::inet_pton(family, text.c_str(), address.words.data()) == 1) {
      address.family = family;
      return address;
    }
  }
  return std::nullopt;
}

struct Question {
  nlmsghdr head{};
  inet_diag_req_v2 body{};
};

struct Found {
  bool asked = false;  // the kernel has answered
  std::optional<uid_t> user;
};

Found ReadAnswer(const char* bytes, std::size_t size, const inet_diag_req_v2& asked) {
  nlmsghdr head{};
  if (size < sizeof head) return {};
  std::memcpy(&head, bytes, sizeof head);
  if (head.nlmsg_type == NLMSG_ERROR) {
    nlmsgerr error{};
    if (size < sizeof head + sizeof error.error) return {};
    std::memcpy(&error.error, bytes + NLMSG_HDRLEN, sizeof error.error);
    return {.asked = error.error == -ENOENT, .user = std::nullopt};
  }
  inet_diag_msg found{};
  if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || size < NLMSG_HDRLEN + sizeof found) return {};
  std::memcpy(&found, bytes + NLMSG_HDRLEN, sizeof found);
  Found result{.asked = true, .user = std::nullopt};
  // The user is read before the inode, which is 0 once the owner has closed the socket. Without a
  // connection the kernel may name who listens on that port.
  if (IsLive(found.idiag_state) && found.idiag_inode != 0 &&
      found.id.idiag_sport == asked.id.idiag_sport &&
      found.id.idiag_dport == asked.id.idiag_dport) {
    result.user = found.idiag_uid;
  }
  return result;
}

Found AskKernel(const Binary& peer, int peer_port, const Binary& own, int own_port) {
  const int file = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (file < 0) return {};
  const timeval limit{.tv_sec = 2, .tv_usec = 0};
  ::setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  Question question;
  question.head.nlmsg_len = sizeof question;
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST;
  inet_diag_req_v2& body = question.body;
  body.sdiag_family = static_cast<std::uint8_t>(peer.family);
  body.sdiag_protocol = IPPROTO_TCP;
  body.id.idiag_sport = htons(static_cast<std::uint16_t>(peer_port));
  body.id.idiag_dport = htons(static_cast<std::uint16_t>(own_port));
  std::memcpy(body.id.idiag_src, peer.words.data(), sizeof body.id.idiag_src);
  std::memcpy(body.id.idiag_dst, own.words.data(), sizeof body.id.idiag_dst);
  body.id.idiag_cookie[0] = body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  Found found;
  std::array<char, 8192> answer{};
  if (::send(file, &question, sizeof question, 0) == static_cast<ssize_t>(sizeof question)) {
    const ssize_t size = ::recv(file, answer.data(), answer.size(), 0);
    if (size > 0) found = ReadAnswer(answer.data(), static_cast<std::size_t>(size), body);
  }
  ::close(file);
  return found;
}

// "0100007F:2116": each word of the address as a number of this machine, and the port.
std::string TableName(const Binary& address, int port) {
  std::string name;
  const std::size_t words = address.family == AF_INET ? 1 : 4;
  for (std::size_t i = 0; i < words; ++i) name += fmt::format("{:08X}", address.words[i]);
  return fmt::format("{}:{:04X}", name, port);
}

std::string ReadTable(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::optional<uid_t> UserInTable(const std::string& table, const End& peer, const End& own) {
  const auto from = ReadAddress(peer.address);
  const auto to = ReadAddress(own.address);
  if (!from || !to) return std::nullopt;
  const std::string wanted = TableName(*from, peer.port) + " " + TableName(*to, own.port) + " ";
  const std::size_t at = table.find(": " + wanted);
  if (at == std::string::npos) return std::nullopt;
  std::istringstream row(table.substr(at + 2, 300));
  std::string local, remote, state, queues, timer, retries;
  std::uint64_t user = 0;
  std::uint64_t waits = 0;
  std::uint64_t inode = 0;
  row >> local >> remote >> state >> queues >> timer >> retries >> user >> waits >> inode;
  unsigned number = 0;
  std::from_chars(state.data(), state.data() + state.size(), number, 16);
  if (!row || !IsLive(number) || inode == 0) return std::nullopt;
  return static_cast<uid_t>(user);
}

std::optional<uid_t> UserAt(const End& peer, const End& own) {
  const auto from = ReadAddress(peer.address);
  const auto to = ReadAddress(own.address);
  if (!from || !to || from->family != to->family) return std::nullopt;
  if (const Found found = AskKernel(*from, peer.port, *to, own.port); found.asked) {
    return found.user;
  }
  const char* const path = from->family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6";
  // A table that changes while it is read may leave a row out; and a row's user and inode are not
  // read at one moment, so that only the second look, which says the same, proves the first.
  constexpr int kLooks = 4;
  std::optional<uid_t> before;
  for (int look = 0; look < kLooks; ++look) {
    const std::optional<uid_t> user = UserInTable(ReadTable(path), peer, own);
    if (user && user == before) return user;
    before = user;
  }
  return std::nullopt;
}

}  // namespace podctl::emulator

#include "providers/emulator/user_namespaces.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace podctl::emulator {
namespace {

// The calls that make namespaces, by their numbers: a 64-bit kernel runs 32-bit programs too.
struct Machine {
  std::uint32_t name;
  std::uint32_t clone;
  std::uint32_t unshare;
};

#if defined(__x86_64__)
constexpr Machine kMachines[] = {{AUDIT_ARCH_X86_64, 56, 272}, {AUDIT_ARCH_I386, 120, 310}};
constexpr std::uint32_t kFirstForeignCall = 0x40000000;  // x32: the same calls once more
#elif defined(__aarch64__)
constexpr Machine kMachines[] = {{AUDIT_ARCH_AARCH64, 220, 97}, {AUDIT_ARCH_ARM, 120, 337}};
constexpr std::uint32_t kFirstForeignCall = 0xffffffff;
#else
constexpr Machine kMachines[] = {{0, 0, 0}};
constexpr std::uint32_t kFirstForeignCall = 0xffffffff;
#endif

constexpr std::uint32_t kClone3 = 435;  // everywhere
constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t kDeny = SECCOMP_RET_ERRNO | EPERM;
// clone3's flags lie in memory, where no filter can look; the C library then takes clone.
constexpr std::uint32_t kUnknown = SECCOMP_RET_ERRNO | ENOSYS;

constexpr sock_filter Load(std::size_t offset) {
  return {BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(offset)};
}
constexpr sock_filter Skip(std::uint16_t test, std::uint32_t value, std::uint8_t if_true,
                           std::uint8_t if_false) {
  return {static_cast<std::uint16_t>(BPF_JMP | BPF_K | test), if_true, if_false, value};
}
constexpr sock_filter Return(std::uint32_t what) {
  return {BPF_RET | BPF_K, 0, 0, what};
}

}  // namespace

bool ForbidUserNamespaces() {
  if (kMachines[0].name == 0) return false;
  const Machine& here = kMachines[0];
  const Machine& small = kMachines[sizeof kMachines / sizeof kMachines[0] - 1];
  // The flags of clone and unshare are their first argument, and its low word comes first.
  sock_filter program[] = {
      /* 0 */ Load(offsetof(seccomp_data, arch)),
      /* 1 */ Skip(BPF_JEQ, here.name, 0, 5),
      /* 2 */ Load(offsetof(seccomp_data, nr)),
      /* 3 */ Skip(BPF_JGE, kFirstForeignCall, 10, 0),
      /* 4 */ Skip(BPF_JEQ, here.clone, 6, 0),
      /* 5 */ Skip(BPF_JEQ, here.unshare, 5, 0),
      /* 6 */ Skip(BPF_JEQ, kClone3, 7, 8),
      /* 7 */ Skip(BPF_JEQ, small.name, 0, 6),
      /* 8 */ Load(offsetof(seccomp_data, nr)),
      /* 9 */ Skip(BPF_JEQ, small.clone, 1, 0),
      /* 10 */ Skip(BPF_JEQ, small.unshare, 0, 2),
      /* 11 */ Load(offsetof(seccomp_data, args[0])),
      /* 12 */ Skip(BPF_JSET, CLONE_NEWUSER, 3, 2),
      /* 13 */ Skip(BPF_JEQ, kClone3, 0, 1),
      /* 14 */ Return(kUnknown),
      /* 15 */ Return(kAllow),
      /* 16 */ Return(kDeny),
  };
  const sock_fprog filter{.len = sizeof program / sizeof program[0], .filter = program};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace podctl::emulator

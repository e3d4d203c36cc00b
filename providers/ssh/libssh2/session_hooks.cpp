#include "providers/ssh/libssh2/session_hooks.h"

#include <fmt/format.h>
#include <libssh2.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "providers/base/text.h"
#include "providers/os/descriptor.h"
#include "providers/ssh/keys/wire.h"
#include "providers/ssh/libssh2/session.h"

namespace podctl::ssh {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStructuresAtOnce = 64;  // mapped together
constexpr char kChannelRequest = 98;           // SSH_MSG_CHANNEL_REQUEST
constexpr std::string_view kExitStatus = "exit-status";

// Memory for structures, which all are as large; what was taken once is kept for the next session
// until the process ends.
struct Structures {
  std::mutex mutex;
  std::vector<void*> free;
  std::size_t size = 0;  // bytes of one, in whole pages
};

Structures& AllStructures() {
  static Structures structures;
  return structures;
}

void* TakeStructure(std::size_t size) {
  Structures& all = AllStructures();
  const std::lock_guard lock(all.mutex);
  const std::size_t rounded = (size + kPage - 1) / kPage * kPage;
  PODCTL_CHECK(all.size == 0 || all.size == rounded);
  all.size = rounded;
  if (all.free.empty()) {
    void* mapped = mmap(nullptr, rounded * kStructuresAtOnce, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    for (std::size_t i = kStructuresAtOnce; i > 0; --i) {
      all.free.push_back(static_cast<char*>(mapped) + (i - 1) * rounded);
    }
  }
  void* memory = all.free.back();
  all.free.pop_back();
  return memory;
}

// Gives back the pages that hold only zeros, as a new structure's buffers do. They read as zeros
// still, and take memory only from their first use on.
void DropZeros(void* memory) {
  // Where pages are larger, a page in this sense may be part of one that is in use.
  static const bool usual = sysconf(_SC_PAGESIZE) == static_cast<long>(kPage);
  if (!usual) return;
  static constexpr std::array<char, kPage> kZeros{};
  auto* bytes = static_cast<char*>(memory);
  const std::size_t pages = AllStructures().size / kPage;
  for (std::size_t page = 0; page < pages; ++page) {
    const std::size_t begin = page;
    while (page < pages && std::memcmp(bytes + page * kPage, kZeros.data(), kPage) == 0) ++page;
    if (page > begin) madvise(bytes + begin * kPage, (page - begin) * kPage, MADV_DONTNEED);
  }
}

SessionHooks& HooksOf(void** abstract) {
  return *static_cast<SessionHooks*>(*abstract);
}

// libssh2 1.10 takes a host key's length from the peer without looking whether so much has come,
// and OpenSSL then reads what it has room for, behind the end. These are zeros that are ours.
constexpr std::size_t kReadBehind = 64;

void* WithZerosBehind(void* memory, std::size_t size) {
  if (memory != nullptr) std::memset(static_cast<char*>(memory) + size, 0, kReadBehind);
  return memory;
}

void* AllocateHook(std::size_t size, void** abstract) {
  return HooksOf(abstract).Allocate(size);
}
void* ReallocateHook(void* memory, std::size_t size, void**) {
  return WithZerosBehind(std::realloc(memory, size + kReadBehind), size);
}
void FreeHook(void* memory, void** abstract) {
  if (memory != nullptr) HooksOf(abstract).Free(memory);
}
// LIBSSH2_RECV_FUNC and LIBSSH2_SEND_FUNC
ssize_t ReceiveHook(libssh2_socket_t, void* buffer, std::size_t size, int flags, void** abstract) {
  return HooksOf(abstract).Receive(buffer, size, flags);
}
ssize_t SendHook(libssh2_socket_t, const void* bytes, std::size_t size, int flags,
                 void** abstract) {
  return HooksOf(abstract).io.Send(bytes, size, flags);
}

bool InitLibrary() {
  static std::once_flag once;
  static bool good = false;
  std::call_once(once, [] { good = libssh2_init(0) == 0; });  // not thread safe itself
  return good;
}

// Has a session take in a report of an exit status, which needs no key exchange, and looks whether
// it was seen.
bool TryExitStatus() {
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return true;  // that proves nothing
  }
  const Descriptor ours(ends[0]);
  const Descriptor theirs(ends[1]);
  std::string request(1, kChannelRequest);
  AppendNumber(request, 0);  // the channel
  AppendString(request, kExitStatus);
  request.push_back(0);  // wants no reply
  AppendNumber(request, 7);
  constexpr std::size_t kPadding = 10;  // to a multiple of 8 (RFC 4253 section 6)
  std::string packet(1, static_cast<char>(kPadding));
  packet += request + std::string(kPadding, '\0');
  std::string said = "SSH-2.0-nobody\r\n";
  AppendString(said, packet);
  if (WriteAll(theirs.get(), said) != 0) return true;
  SessionHooks hooks;
  LIBSSH2_SESSION* session = hooks.Open(ours.get());
  if (session == nullptr) return true;
  for (int i = 0; i < 8 && !hooks.exit_status_came(); ++i) {
    if (libssh2_session_handshake(session, ours.get()) != LIBSSH2_ERROR_EAGAIN) break;
  }
  const bool seen = hooks.exit_status_came();
  shutdown(ours.get(), SHUT_RDWR);
  for (int i = 0; i < 100 && libssh2_session_free(session) == LIBSSH2_ERROR_EAGAIN; ++i) {
  }
  return seen;
}

std::atomic<int> pretended_exit_status{-1};

}  // namespace

_LIBSSH2_SESSION* SessionHooks::Open(int fd) {
  LIBSSH2_SESSION* session =
      InitLibrary() ? libssh2_session_init_ex(AllocateHook, FreeHook, ReallocateHook, this)
                    : nullptr;
  if (session == nullptr) return nullptr;
  DropZeros(structure_);
  io.Use(fd);
  libssh2_session_set_blocking(session, 0);
#if LIBSSH2_VERSION_NUM >= 0x010b01  // which has a type for it, and deprecates the other
  libssh2_session_callback_set2(session, LIBSSH2_CALLBACK_RECV,
                                reinterpret_cast<libssh2_cb_generic*>(&ReceiveHook));
  libssh2_session_callback_set2(session, LIBSSH2_CALLBACK_SEND,
                                reinterpret_cast<libssh2_cb_generic*>(&SendHook));
#else
  libssh2_session_callback_set(session, LIBSSH2_CALLBACK_RECV,
                               reinterpret_cast<void*>(&ReceiveHook));
  libssh2_session_callback_set(session, LIBSSH2_CALLBACK_SEND, reinterpret_cast<void*>(&SendHook));
#endif
  return session;
}

// The first thing that libssh2 asks for is its structure of the session.
void* SessionHooks::Allocate(std::size_t size) {
  if (structure_ != nullptr) return WithZerosBehind(std::malloc(size + kReadBehind), size);
  structure_ = TakeStructure(size);
  return structure_;
}

void SessionHooks::Free(void* memory) {
  if (memory == structure_) {
    structure_ = nullptr;
    const std::lock_guard lock(AllStructures().mutex);
    AllStructures().free.push_back(memory);
    return;
  }
  // SSH_MSG_CHANNEL_REQUEST, the channel, "exit-status", whether a reply is wanted, the code.
  const std::string_view packet(static_cast<const char*>(memory), malloc_usable_size(memory));
  exit_status_came_ =
      exit_status_came_ || (packet.size() >= 25 && packet.front() == kChannelRequest &&
                            WireReader(packet.substr(5)).String() == kExitStatus);
  std::free(memory);
}

ssize_t SessionHooks::Receive(void* buffer, std::size_t size, int flags) {
  if (bridge != nullptr) bridge->ReadWords();
  return io.Receive(buffer, size, flags);
}

void PretendExitStatusIsSeen(std::optional<bool> seen) {
  pretended_exit_status = seen ? static_cast<int>(*seen) : -1;
}

bool ExitStatusIsSeen() {
  static const bool seen = TryExitStatus();
  const int pretended = pretended_exit_status;
  return pretended < 0 ? seen : pretended != 0;
}

std::string_view ExitStatusWarning() {
  if (ExitStatusIsSeen()) return {};
  return "This libssh2 hides whether a worker reported how a command ended: a command that was cut "
         "off on the worker can count as done. `ssh: {transport: openssh}` in the spec does not "
         "depend on it.";
}

void ReadExitStatus(Session& session, _LIBSSH2_CHANNEL* channel, WorkerResult& result) {
  char* signal = nullptr;
  std::size_t size = 0;
  libssh2_channel_get_exit_signal(channel, &signal, &size, nullptr, nullptr, nullptr, nullptr);
  if (signal != nullptr) {
    result.outcome = Outcome::kSignaled;
    result.signal = VisibleControls(std::string_view(signal, size));
    result.message = fmt::format("the command was killed by SIG{}", result.signal);
    libssh2_free(session.handle(), signal);
    return;
  }
  const int code = libssh2_channel_get_exit_status(channel);
  const bool came =
      ExitStatusIsSeen() ? session.hooks().exit_status_came() : code != 0 || !session.HungUp();
  if (!came) {
    result.End(Outcome::kLost, CauseAt(session.worker(), Cause::Code::kNoEnd));
    return;
  }
  result.outcome = Outcome::kExited;
  result.exit_code = code;
}

}  // namespace podctl::ssh

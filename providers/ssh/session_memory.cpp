#include "providers/ssh/session_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <mutex>
#include <vector>

#include "providers/base/error.h"

namespace podctl::ssh {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kSlotsAtOnce = 64;  // structures mapped together

struct Slots {
  std::mutex mutex;
  std::vector<void*> free;
  std::size_t size = 0;  // bytes of one
};

Slots& All() {
  static Slots slots;
  return slots;
}

}  // namespace

void* SessionMemory::Take(std::size_t size) {
  Slots& slots = All();
  const std::lock_guard lock(slots.mutex);
  const std::size_t rounded = (size + kPage - 1) / kPage * kPage;
  PODCTL_CHECK(slots.size == 0 || slots.size == rounded);
  slots.size = rounded;
  if (slots.free.empty()) {
    void* mapped = mmap(nullptr, rounded * kSlotsAtOnce, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    for (std::size_t i = kSlotsAtOnce; i > 0; --i) {
      slots.free.push_back(static_cast<char*>(mapped) + (i - 1) * rounded);
    }
  }
  void* memory = slots.free.back();
  slots.free.pop_back();
  return memory;
}

void SessionMemory::GiveBack(void* memory) {
  Slots& slots = All();
  const std::lock_guard lock(slots.mutex);
  slots.free.push_back(memory);
}

void SessionMemory::DropZeros(void* memory) {
  // Where pages are larger, a page in this sense may be part of one that is in use.
  static const bool usual = sysconf(_SC_PAGESIZE) == static_cast<long>(kPage);
  if (!usual) return;
  static constexpr std::array<char, kPage> kZeros{};
  auto* bytes = static_cast<char*>(memory);
  const std::size_t pages = All().size / kPage;
  for (std::size_t page = 0; page < pages; ++page) {
    const std::size_t begin = page;
    while (page < pages && std::memcmp(bytes + page * kPage, kZeros.data(), kPage) == 0) ++page;
    if (page > begin) madvise(bytes + begin * kPage, (page - begin) * kPage, MADV_DONTNEED);
  }
}

}  // namespace podctl::ssh

// A time of day that a test can move on, for the programs that it starts: preloaded (LD_PRELOAD),
// this adds to it what stands in the file that MOVED_CLOCK names, nanoseconds as an int64_t, as the
// file has it at each moment. The steady clock goes on as it does, and so does the machine's.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;

// nullptr: nobody moves it.
const std::int64_t* OpenMoved() {
  const char* const path = std::getenv("MOVED_CLOCK");
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const page = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return page == MAP_FAILED ? nullptr : static_cast<const std::int64_t*>(page);
}

int Read(clockid_t clock, timespec* now) {
  const int done = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  if (done != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return done;
  static const std::int64_t* const moved = OpenMoved();
  if (moved == nullptr) return done;
  const std::int64_t sum = now->tv_nsec + __atomic_load_n(moved, __ATOMIC_RELAXED);
  now->tv_sec += sum / kNanoseconds;
  now->tv_nsec = sum % kNanoseconds;
  return done;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  return Read(clock, now);
}

int gettimeofday(timeval* __restrict now, void* __restrict) noexcept {
  timespec time{};
  const int done = Read(CLOCK_REALTIME, &time);
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return done;
}

time_t time(time_t* now) noexcept {
  timespec time{};
  static_cast<void>(Read(CLOCK_REALTIME, &time));
  if (now != nullptr) *now = time.tv_sec;
  return time.tv_sec;
}
}

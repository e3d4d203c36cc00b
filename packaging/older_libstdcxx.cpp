// gcc 12 links std::condition_variable::wait in the version that libstdc++ has since
// GLIBCXX_3.4.30, and which a manylinux_2_34 (RHEL 9) has not. The version before, which every
// libstdc++ still has, does the same but for a thread that is cancelled while it waits
// (pthread_cancel), which nobody here is. What is linked with this file calls that one. For
// PODCTL_OLDER_LIBSTDCXX alone; packaging/bundle.py tells where there are more.
//
// Source: libstdc++-v3/src/c++11/compatibility-condvar.cc and config/abi/pre/gnu.ver of gcc 12.

#define PODCTL_WAIT "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"

extern "C" {

void podctl_older_wait(void* self, void* lock);
__asm__(".symver podctl_older_wait, " PODCTL_WAIT "@GLIBCXX_3.4.11");

// Hidden, or libstdc++'s own would be found to be this one.
__attribute__((visibility("hidden"))) void podctl_wait(void* self, void* lock) __asm__(PODCTL_WAIT);
void podctl_wait(void* self, void* lock) {
  podctl_older_wait(self, lock);
}

}  // extern "C"

// Memory for libssh2's structure of a session: 54 KB each, of which 50 are buffers for the longest
// packets that there may be. Hardly any packet is, so the pages that nobody has written to are
// given back to the kernel: thousands of sessions then take a third of the memory.
//
// Thread safe. What was taken once is kept for the next session until the process ends.
#pragma once

#include <cstddef>

namespace podctl::ssh {

class SessionMemory {
 public:
  // Null when there is none. Every call with the same size.
  static void* Take(std::size_t size);
  static void GiveBack(void* memory);
  // Gives back the pages that hold only zeros, as a new structure's buffers do. They read as zeros
  // still, and take memory only from their first use on.
  static void DropZeros(void* memory);
};

}  // namespace podctl::ssh

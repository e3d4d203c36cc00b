// The door to the terminal: where a command writes, and what stands at the other end.
//
// `out` carries the result, `err` everything else. Knows nothing of what is written.
#pragma once

#include <ostream>

namespace podctl {

struct Streams {
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool color = false;  // wanted (no NO_COLOR, no --no-color); used where a terminal is
  int width = 100;     // columns
  bool json = false;   // a program reads `out` (--json)
};

}  // namespace podctl

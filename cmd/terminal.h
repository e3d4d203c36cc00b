// What stands at the other end of standard output and error.
#pragma once

#include <ostream>
#include <string_view>

#include "cmd/output_filter.h"

namespace podctl {

// Standard output and error, each through its Outlet. Colours: a terminal, TERM other than "dumb",
// neither NO_COLOR (no-color.org) nor --no-color. CI: GITHUB_ACTIONS, GITLAB_CI or TF_BUILD is set.
// Nothing is drawn in place where CI is set, to anything but false or 0. Other characters than
// ASCII are drawn where LC_ALL, LC_CTYPE or LANG says UTF-8.
class StandardStreams {
 public:
  explicit StandardStreams(bool no_color);
  Streams& streams() { return streams_; }

 private:
  OutputFilter out_bytes_;
  OutputFilter err_bytes_;
  std::ostream out_;
  std::ostream err_;
  Streams streams_;
};

// A line on standard error from a thread that knows no streams, which belong to one thread at a
// time: whole, and past them. What cannot be written is lost.
void RemarkOfAnyThread(std::string_view line);

// Makes sure that 0, 1 and 2 are taken: else the next file opened, the state's lock perhaps, would
// be given the number of a stream that the user closed, and messages would go into it. What was
// closed stays unusable. To be called before anything is opened.
void OccupyStandardDescriptors();

// Whether who read standard output has gone away (`podctl plan | head -1`): nobody to complain to.
bool ReaderOfOutputIsGone();

}  // namespace podctl

// Which Jupyter servers run on a worker, and how to get in: one shell text that asks for the user's
// own, and the reader of its answer, which holds tokens. Prints nothing, connects to nothing.
//
// The answer comes from a machine that may be broken or hostile: what is used of it is checked.
#pragma once

#include <string>
#include <vector>

#include "providers/base/error.h"

namespace podctl::workers {

struct Notebook {
  int port = 0;
  std::string base_url = "/";  // a path, with a slash at its end
  std::string token;           // secret; empty: none is asked for
  bool password = false;       // it may ask for one in place of a token
};

// One command for the remote shell. Jupyter notes in a file what each server listens on; where no
// such file is found, its own programs are asked.
std::string NotebooksCommand();
// Reads the answer, standard output by lines; the servers in the order in which they were told,
// without those on a Unix socket. kInvalidArgument when it is not whole.
Result<std::vector<Notebook>> ParseNotebooks(const std::vector<std::string>& lines);

}  // namespace podctl::workers

// `podctl import ADDRESS ID`: takes over a node that somebody else made, and writes the spec that
// matches it.
#pragma once

#include <string>

#include "cmd/wiring.h"

namespace podctl {

struct ImportOptions {
  std::string address;     // "pod.research"
  std::string id;          // of the node
  std::string write_spec;  // a file; empty: to stdout
};

int RunImport(Wiring& wiring, const ImportOptions& options);

}  // namespace podctl

// A file as the spec says it: written on the machine that applies, such as an inventory of the
// workers for another tool.
#pragma once

#include <string>
#include <vector>

#include "state/address.h"

namespace podctl {

struct FileSpec {
  std::string name;     // its address is file.<name>
  std::string path;     // from the current folder, or absolute
  std::string folder;   // of the spec, from the current folder; empty: `path` is absolute
  std::string written;  // the path from there, or `path`
  std::string content;  // template text
  bool sensitive = false;
  int mode = 0;                          // permission bits
  std::vector<Address> depends_on = {};  // what its content refers to
  // Of a change: the digest of what is written over, as FileRecord has it; empty: nothing is there.
  // And of what is removed, at the path that the record has; empty: nothing is. What is there then
  // and is not that stays.
  std::string replaces = {};
  std::string removes = {};
};

}  // namespace podctl

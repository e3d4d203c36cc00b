// Which names a worker may send: the base names of the paths that it was asked for, or what their
// patterns match. A worker that sends another one would write where nobody asked it to
// (CVE-2019-6111).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/error.h"

namespace podctl::tar {

class RequestedNames {
 public:
  // Remote paths as PackCommand takes them. kInvalidArgument: two of them have one name, or one
  // that has no name of its own ("~", "..") stands beside others, or is a pattern.
  static Result<RequestedNames> Of(const std::vector<std::string>& paths);

  // Whether the one path has no name of its own, so that what it is called is the worker's word:
  // such a folder must be given a name here.
  bool nameless() const { return nameless_; }
  // Which of the paths `name` is an answer to, by their index; none: nobody asked for it.
  std::vector<std::size_t> AskedBy(std::string_view name) const;
  // The path ends in "/": nothing but a folder is wanted.
  bool WantsFolder(std::size_t path) const { return asked_[path].folder; }

  std::size_t size() const { return asked_.size(); }
  const std::string& path(std::size_t index) const { return asked_[index].path; }

 private:
  struct Requested {
    std::string path;     // as it was given
    std::string name;     // empty: has none of its own
    std::string pattern;  // as fnmatch(3) has it; empty: only the name itself
    bool folder = false;
  };
  RequestedNames() = default;

  std::vector<Requested> asked_;
  bool nameless_ = false;
};

}  // namespace podctl::tar

// Which files of this machine a spec may not have read or copied. A spec is often another person's
// than whoever runs podctl, such as a pull request that a pipeline plans: by what it names it must
// not come to what podctl keeps for itself and logs in with, or to what the kernel shows of
// podctl's own process. A copy that the user types himself is not asked about here.
//
// Whether a file is meant is told by what it is, not by how it is called: links are followed. Knows
// no spec. Thread safe.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/error.h"

namespace podctl {

// Withheld in any case are /proc, /sys and /dev (but /dev/shm), what lies below a folder `.podctl`,
// a state called podctl.state.json with what is kept beside it, and the files in which git keeps
// what it logs in with.
class WithheldFiles {
 public:
  // What podctl logs in with: a file, or a folder with all that is below it; it need not be there.
  void AddCredential(const std::string& path);
  // A state; with it the files beside it that begin with its name, such as its history.
  void AddState(const std::string& path);
  // A file that podctl works with in this run, such as the saved plan that is applied.
  void AddOwn(const std::string& path);

  // Why what is at `path` is withheld, "is podctl's own"; "": it is not, or is not there.
  std::string Why(const std::string& path) const;
  // The same for a path without links.
  std::string WhyOfReal(const std::string& real) const;

 private:
  struct Entry {
    std::string real;
    std::string_view why;
    bool is_state = false;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  void Add(Entry entry);

  mutable std::mutex mutex_;  // of what follows
  std::vector<Entry> entries_;
};

// Where `path` leads, links followed, as an absolute path. What is not there is taken as written.
std::string RealPath(const std::string& path);

// One source that a spec has copied: a file, or a folder with what is in it. The source may lie
// anywhere, and be a link; what is below it has to be there.
class CopySource {
 public:
  // `withheld` is lent.
  CopySource(const WithheldFiles& withheld, std::string source);

  // Whether `path`, the source or what lies below it, is to be copied; false: it is withheld, and
  // left out. kPermissionDenied where it is the source itself that is withheld, or a link that
  // leads out of the source, which is named.
  Result<bool> Takes(const std::string& path) const { return Judge(path, RealPath(path)); }
  // The same of a file that is open, by its path without links: nobody can exchange that one.
  Result<bool> Judge(const std::string& path, const std::string& real) const;

 private:
  const WithheldFiles& withheld_;
  std::string source_;
  std::string root_;  // without links
};

}  // namespace podctl

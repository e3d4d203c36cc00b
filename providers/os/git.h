// What git knows of a folder, told by the program git. The repository may be somebody else's, whose
// configuration names programs: none of them is run, and nothing is fetched.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "providers/os/process.h"

namespace podctl {

struct GitCommit {
  std::string id;      // hex, whole
  bool dirty = false;  // files that git follows were changed since, or that could not be found out
};

// Each question takes a few seconds at most. nullopt: it cannot be answered, be it that there is no
// git, no repository, or that git does not trust it.
class GitFolder {
 public:
  GitFolder(ProcessRunner& processes, std::string folder, std::stop_token stop)
      : processes_(processes), folder_(std::move(folder)), stop_(std::move(stop)) {}

  // That is checked out.
  std::optional<GitCommit> Commit();
  // Whether git follows the file, there or not; `path` is relative to the folder. False also where
  // no repository holds the folder.
  std::optional<bool> Follows(const std::string& path);

 private:
  Result<ProcessResult> Ask(const std::vector<std::string>& settings,
                            const std::vector<std::string>& words);
  std::optional<std::vector<std::string>> WithoutFilters();

  ProcessRunner& processes_;
  const std::string folder_;
  const std::stop_token stop_;
};

}  // namespace podctl

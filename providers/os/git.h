// What git knows of a folder, told by the program git. The repository may be somebody else's, whose
// configuration names programs: none of them is run, and nothing is fetched.
#pragma once

#include <chrono>
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

// Each question takes a few seconds at most, an export minutes. nullopt: it cannot be answered, be
// it that there is no git, no repository, or that git does not trust it.
class GitFolder {
 public:
  GitFolder(ProcessRunner& processes, std::string folder, std::stop_token stop)
      : processes_(processes), folder_(std::move(folder)), stop_(std::move(stop)) {}

  // That is checked out.
  std::optional<GitCommit> Commit();
  // Whether git follows the file, there or not; `path` is relative to the folder. False also where
  // no repository holds the folder.
  std::optional<bool> Follows(const std::string& path);
  // Writes what a commit has of this folder below `into`, an absolute path of an empty folder that
  // is the caller's, as a checkout would, but for filters of the repository itself. Where it is
  // then: a folder in there. kNotFound where the commit is not there.
  Result<std::string> Export(const std::string& commit, const std::string& into);

 private:
  struct Question {
    std::vector<std::string> words;
    std::vector<std::string> settings = {};
    std::vector<std::string> variables = {};
    std::chrono::seconds limit{3};
  };
  Result<ProcessResult> Ask(const Question& question);
  Result<std::string> Do(Question question);  // its output; an error where it did not end well
  std::optional<std::vector<std::string>> WithoutFilters();

  ProcessRunner& processes_;
  const std::string folder_;
  const std::stop_token stop_;
};

}  // namespace podctl

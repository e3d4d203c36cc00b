// What was started from here on a pod's workers so that it outlives the connection, and has no end
// that was seen from here: for a plan that would end it without anybody being asked. A hint, kept
// as KeptFile keeps it: the workers alone know what runs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plans/fleet/kept_file.h"

namespace podctl {

struct StartedJob {
  std::string name;
  std::string started_at;  // RFC 3339, by the clock here
  std::string uid;         // of the node whose workers run it; may be empty

  friend bool operator==(const StartedJob&, const StartedJob&) = default;
};

// Of one pod.
class StartedJobs {
 public:
  explicit StartedJobs(KeptFile file) : file_(std::move(file)) {}

  // In place of an earlier one of that name.
  void Started(const StartedJob& job);
  void Ended(const std::string& name);
  // The last started last; none where nothing can be read.
  std::vector<StartedJob> Load() const;

 private:
  void Keep(const std::vector<StartedJob>& jobs);

  KeptFile file_;
};

// Of the pods of one state.
class StartedOnPods {
 public:
  // `files` and `environment` are lent.
  StartedOnPods(FileSystem& files, const Environment& environment, std::string state_path)
      : files_(files), environment_(environment), state_path_(std::move(state_path)) {}

  // `pod` without "pod.".
  StartedJobs On(const std::string& pod) const;

 private:
  FileSystem& files_;
  const Environment& environment_;
  const std::string state_path_;
};

}  // namespace podctl

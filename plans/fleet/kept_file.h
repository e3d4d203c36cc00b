// What one command remembers for the next one of this user: a small file in
// $XDG_STATE_HOME/podctl/KIND (~/.local/state where that is not set), readable by its owner only.
// The newest 100 of a kind are kept. Nothing depends on it: without a home nothing is remembered.
#pragma once

#include <string>

#include "providers/base/error.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"

namespace podctl {

class KeptFile {
 public:
  // Of `name` ("pod.research") in the state at `state_path`. `files` is lent.
  KeptFile(FileSystem& files, const Environment& environment, const std::string& kind,
           const std::string& state_path, const std::string& name);

  // Best effort.
  void Save(const std::string& text);
  // kNotFound when there is none.
  Result<std::string> Load() const;
  const std::string& path() const { return path_; }

 private:
  void DropOld();

  FileSystem& files_;
  std::string folder_;  // empty: there is no home
  std::string path_;
  bool ready_ = false;  // the folder is there
};

}  // namespace podctl

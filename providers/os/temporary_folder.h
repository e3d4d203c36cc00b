// A folder for what is needed for a while, which only its owner may enter.
#pragma once

#include <string>
#include <utility>

#include "providers/base/error.h"

namespace podctl {

// Goes with all that is in it when the object does. Not thread safe.
class TemporaryFolder {
 public:
  // Below `parent`, under a name of its own that begins with `podctl-`. kIo where that cannot be.
  static Result<TemporaryFolder> Make(const std::string& parent);

  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;  // empty: it is another's by now
};

}  // namespace podctl

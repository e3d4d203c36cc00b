// A Gitea of its own, with one user, in a folder that goes with it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>

namespace podctl::bench {

class Gitea {
 public:
  static constexpr const char* kUser = "team";
  static constexpr const char* kPassword = "correct-horse-7";

  // The program of PODCTL_GITEA, or `gitea` in PATH; nullptr: there is none. Its templates are in
  // PODCTL_GITEA_SOURCE, by default where the program is. One that does not come up ends the bench.
  static std::unique_ptr<Gitea> Start();
  ~Gitea();
  Gitea(const Gitea&) = delete;
  Gitea& operator=(const Gitea&) = delete;

  int port() const { return port_; }
  static std::string PathOf(const std::string& state) {
    return std::string("/api/packages/") + kUser + "/terraform/state/" + state;
  }

 private:
  Gitea() = default;
  void Serve(const std::string& program);

  std::filesystem::path folder_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace podctl::bench

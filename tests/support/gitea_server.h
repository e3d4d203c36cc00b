// A real Gitea, 1.26 or newer, with one user, on loopback, in a folder that goes with it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "providers/base/error.h"

namespace podctl::testing {

class GiteaServer {
 public:
  static constexpr const char* kUser = "team";
  static constexpr const char* kPassword = "correct-horse-7";

  // The program of PODCTL_GITEA, or `gitea` in PATH; "": there is none.
  static std::string Program();
  // Its templates are in PODCTL_GITEA_SOURCE, by default where the program is. An error says what
  // is missing or went wrong.
  static Result<std::unique_ptr<GiteaServer>> Start();
  ~GiteaServer();
  GiteaServer(const GiteaServer&) = delete;
  GiteaServer& operator=(const GiteaServer&) = delete;

  int port() const { return port_; }
  const std::string& Folder() const { return folder_; }  // goes with the server
  static std::string PathOf(const std::string& state) {
    return std::string("/api/packages/") + kUser + "/terraform/state/" + state;
  }
  bool Restart();  // after a kill by -9, with the data that it had

 private:
  GiteaServer() = default;
  bool Tell(const std::vector<std::string>& words) const;
  void Launch();
  bool IsUp();
  void End(int signal);

  std::string program_;
  std::string folder_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace podctl::testing

// Where the tests of LocalStore run: a fake machine with several runs of podctl, or a folder of the
// real one.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>

#include "state/stores/local_store.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_file_system.h"

namespace podctl::testing {

inline constexpr std::chrono::milliseconds kAtOnce{0};

// Runs of podctl on one fake machine: run 1 has process number 1001, and so on.
class FakeMachine {
 public:
  LocalStore Open(const std::string& path = "/project/podctl.state.json",
                  const std::string& host = "here") {
    const int pid = ++last_pid_;
    alive_.insert(pid);
    return {path, files, clock, random,
            LockHolder{host, "alice@" + host, pid,
                       [this](int other, const std::string&) { return alive_.contains(other); }}};
  }
  void KillAll() {
    alive_.clear();
    files.Restart();
  }

  FakeFileSystem files;
  FakeClock clock;
  FakeRandom random;
  int last_pid() const { return last_pid_; }
  std::set<int> alive_;

  FakeMachine() { files.SetFolder("/project"); }

 private:
  int last_pid_ = 1000;
};

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "podctl-test-XXXXXX").string();
    PODCTL_CHECK(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace podctl::testing

// Where the tests of LocalStore run: a fake machine with several runs of podctl, or a folder of the
// real one.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/record.h"
#include "state/stores/local_store.h"
#include "tests/support/addresses.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/sample_state.h"

namespace podctl::testing {

inline constexpr std::chrono::milliseconds kAtOnce{0};

// A store as a run uses it: what it saves follows what it loaded or saved last.
class LocalRun : public LocalStore {
 public:
  using LocalStore::LocalStore;

  Result<Snapshot> Load() override {
    auto loaded = LocalStore::Load();
    if (loaded) at = loaded->generation;
    return loaded;
  }
  using LocalStore::Push;
  using LocalStore::Save;
  Result<void> Save(State& state) { return Save(state, &at); }
  Result<void> Push(State& state) { return Push(state, &at); }

  Generation at;
};

// Runs of podctl on one fake machine: run 1 has process number 1001, and so on.
class FakeMachine {
 public:
  LocalRun Open(const std::string& path = "/project/podctl.state.json",
                const std::string& host = "here", LocalStoreOptions options = {}) {
    return {path, files, clock, random, NextRun(host), RememberedKinds(), std::move(options)};
  }
  LockHolder NextRun(const std::string& host) {
    const int pid = ++last_pid_;
    alive_.insert(pid);
    return {host, "alice@" + host, pid,
            [this](int other, const std::string&) { return alive_.contains(other); }};
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

  FakeMachine() {
    files.SetFolder("/project");
    files.StampWith(clock);
  }

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

inline State Older() {
  State state = SampleState();
  state.serial = 0;
  return state;
}

// The generation after `state`, before it is saved.
inline State Changed(State state) {
  Pods(state).at(Addr("pod.research")).current.uid = "4712";
  return state;
}

// All files but the generations that are kept.
inline std::vector<std::string> Present(const FakeMachine& machine) {
  std::vector<std::string> paths = machine.files.AllFiles();
  std::erase_if(
      paths, [](const std::string& path) { return path.find(".history/") != std::string::npos; });
  return paths;
}

}  // namespace podctl::testing

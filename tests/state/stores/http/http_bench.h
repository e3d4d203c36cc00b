// Where the tests of HttpStore run: one server, and runs of podctl on hosts of their own.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/record.h"
#include "state/stores/http/http_store.h"
#include "tests/support/addresses.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/sample_state.h"
#include "tests/support/state_server.h"

namespace podctl::testing {

class HttpWorld {
 public:
  explicit HttpWorld(StateServer::Kind kind = StateServer::Kind::kGitea) : server(kind) {
    files.SetFolder("/tmp");
  }

  LockHolder NextHolder(const std::string& host = "here") {
    const int pid = ++last_pid_;
    alive_.insert(pid);
    const std::string space = host + "/pid:[1]/";
    return {host,
            "alice@" + host,
            pid,
            [this](int other, const std::string&) { return alive_.contains(other); },
            space + std::to_string(pid) + "/77",
            [this, space](const std::string& mark) {
              return mark.starts_with(space) &&
                     !alive_.contains(std::stoi(mark.substr(space.size())));
            }};
  }
  void Kill(int pid) { alive_.erase(pid); }
  int last_pid() const { return last_pid_; }

  HttpPlace Place(const std::string& url = "") const {
    std::map<std::string, std::string> variables = {{"TF_HTTP_USERNAME", StateServer::kUser},
                                                    {"TF_HTTP_PASSWORD", StateServer::kPassword}};
    const std::string address = url.empty() ? "https://forge.example" + server.path() : url;
    if (server.kind() == StateServer::Kind::kPlain) variables["TF_HTTP_LOCK_ADDRESS"] = address;
    auto place = FindHttpPlace(address, FixedEnvironment(variables));
    EXPECT_TRUE(place) << place.error().message;
    return place ? *place : HttpPlace{};
  }
  std::unique_ptr<HttpStore> Open(http::Transport& way, const HttpPlace& place,
                                  const std::string& host = "here") {
    return std::make_unique<HttpStore>(place, HttpStoreDoors{way, files, clock, random},
                                       NextHolder(host), RememberedKinds());
  }
  std::unique_ptr<HttpStore> Open(const std::string& host = "here") {
    return Open(transport, Place(), host);
  }

  StateServer server;
  StateServerTransport transport{server};
  FakeFileSystem files;
  FakeClock clock;
  FakeRandom random;

 private:
  std::set<int> alive_;
  int last_pid_ = 100;
};

inline LockInfo LockInfoFor(const std::string& operation) {
  LockInfo info;
  info.operation = operation;
  return info;
}

// A run of podctl: what it saves follows what it loaded or saved last.
struct HttpRun {
  explicit HttpRun(std::unique_ptr<HttpStore> opened) : store(std::move(opened)) {}

  Result<void> TakeLock() {
    auto taken = store->Lock(LockInfoFor("apply"), std::chrono::milliseconds(0), {});
    if (!taken) return taken.error();
    lock = *std::move(taken);
    return {};
  }
  Result<void> Load() {
    auto loaded = store->Load();
    if (!loaded) return loaded.error();
    at = loaded->generation;
    state = loaded->state.value_or(State{});
    return {};
  }
  Result<void> Save() { return store->Save(state, &at); }
  // Gives the pod a mark of its own, and saves that.
  Result<void> Mark(const std::string& mark) {
    Pods(state)[Addr("pod.research")].current.uid = mark;
    return Save();
  }

  std::unique_ptr<HttpStore> store;
  std::unique_ptr<StateLock> lock;
  State state;
  Generation at;
};

// With the sample stored, and the lock held.
inline HttpRun Running(HttpWorld& world, const std::string& host = "here") {
  HttpRun run(world.Open(host));
  EXPECT_TRUE(run.TakeLock());
  EXPECT_TRUE(run.Load());
  if (run.at.none()) {
    run.state = SampleState();
    EXPECT_TRUE(run.Save());
  }
  return run;
}

inline std::string UidIn(HttpWorld& world) {
  auto loaded = world.Open()->Load();
  EXPECT_TRUE(loaded && loaded->state);
  return loaded && loaded->state ? Pods(*loaded->state)[Addr("pod.research")].current.uid : "";
}

}  // namespace podctl::testing

// Where the tests of JournalStore run: one place of objects, and runs on hosts with clocks of their
// own.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/json.h"
#include "state/stores/journal_store.h"
#include "tests/support/addresses.h"
#include "tests/support/fake_blobs.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/sample_state.h"

namespace podctl::testing {

// The clock of one host: its calendar is wrong by `skew`, and it may be suspended.
class HostClock final : public Clock {
 public:
  explicit HostClock(FakeClock& world) : world_(world) {}
  SystemTime Now() override { return world_.Now() + skew; }
  SteadyTime Steady() override { return world_.Steady() - suspended_; }
  SteadyTime SinceBoot() override { return world_.Steady(); }
  bool SleepFor(std::chrono::milliseconds duration, std::stop_token stop) override {
    if (!world_.SleepFor(duration, std::move(stop))) return false;
    if (on_sleep) on_sleep(duration);
    return true;
  }
  // The whole host, while the world goes on.
  void Suspend(std::chrono::milliseconds duration) {
    world_.Advance(duration);
    suspended_ += duration;
  }

  std::chrono::hours skew{0};
  std::function<void(std::chrono::milliseconds)> on_sleep;

 private:
  FakeClock& world_;
  std::chrono::milliseconds suspended_{0};
};

// A run of podctl: what it saves follows what it loaded or saved last.
struct JournalRun {
  JournalRun(FakePlace& place, Clock& clock, Random& random, LockHolder self,
             JournalStoreOptions options = {})
      : name(self.mark),
        blobs(place, self.mark),
        store(blobs, files, clock, random, std::move(self), RememberedKinds(), std::move(options)) {
    files.SetFolder("/tmp");
  }

  Result<Snapshot> Load() {
    auto loaded = store.Load();
    if (loaded) at = loaded->generation;
    if (loaded && loaded->state) state = *loaded->state;
    return loaded;
  }
  Result<void> Save() { return store.Save(state, &at); }
  // Gives the pod a mark of its own, and appends that.
  Result<void> Mark(const std::string& mark, const std::string& address = "pod.research") {
    State next = state;
    Pods(next)[Addr(address)].current.uid = mark;
    Result<void> appended = store.Append(next, ChangesBetween(state, next), &at);
    if (appended) state = next;
    return appended;
  }

  std::string name;
  FakeBlobs blobs;
  FakeFileSystem files;
  JournalStore store;
  State state;
  Generation at;
};

class JournalWorld {
 public:
  JournalWorld() {
    place.now = [this] { return clock.Now(); };
  }

  LockHolder NextHolder(const std::string& host = "here") {
    const int pid = ++last_pid_;
    alive_.insert(pid);
    return {host,
            "alice@" + host,
            pid,
            [this](int other, const std::string&) { return alive_.contains(other); },
            host + "/" + std::to_string(pid),
            [this, host](const std::string& mark) {
              return mark.starts_with(host + "/") &&
                     !alive_.contains(std::stoi(mark.substr(host.size() + 1)));
            }};
  }
  static JournalStoreOptions ByHand() {
    JournalStoreOptions options;
    options.beat = false;
    return options;
  }
  std::unique_ptr<JournalRun> Open(const std::string& host = "here",
                                   JournalStoreOptions options = ByHand()) {
    if (options.run.who.empty()) options.run.who = "alice@" + host;
    return std::make_unique<JournalRun>(place, clock, random, NextHolder(host), std::move(options));
  }
  std::unique_ptr<JournalRun> OpenOn(HostClock& host_clock, const std::string& host,
                                     JournalStoreOptions options = ByHand()) {
    if (options.run.who.empty()) options.run.who = "alice@" + host;
    return std::make_unique<JournalRun>(place, host_clock, random, NextHolder(host),
                                        std::move(options));
  }
  // One that has loaded what SampleState says, which it saved if nothing was there.
  std::unique_ptr<JournalRun> OpenWithSample(const std::string& host = "here",
                                             JournalStoreOptions options = ByHand()) {
    auto run = Open(host, std::move(options));
    auto loaded = run->Load();
    PODCTL_CHECK(loaded.has_value());
    if (!loaded->state) {
      run->state = SampleState();
      PODCTL_CHECK(run->Save().has_value());
    }
    return run;
  }
  void Die(int pid) { alive_.erase(pid); }
  int last_pid() const { return last_pid_; }

  FakeClock clock;
  FakeRandom random;
  FakePlace place;

 private:
  int last_pid_ = 1000;
  std::set<int> alive_;
};

// ---- What stands in the place.

inline std::vector<std::string> Names(FakePlace& place) {
  std::vector<std::string> names;
  for (const auto& [name, object] : place.All()) names.push_back(name);
  return names;
}

inline std::string Uid(const State& state, const std::string& address = "pod.research") {
  return state.records.at(Addr(address)).As<PodRecord>().current.uid;
}

inline State MustRead(JournalWorld& world) {
  auto loaded = world.Open()->Load();
  EXPECT_TRUE(loaded) << loaded.error().message;
  return loaded && loaded->state ? *loaded->state : State{};
}

// The members of an entry's head, and the addresses that it changes.
inline Value EntryIn(FakePlace& place, std::uint64_t number) {
  return ParseJson(place.Text(EntryName(number)).value_or("")).value_or(Value());
}

}  // namespace podctl::testing

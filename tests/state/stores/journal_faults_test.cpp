// A run by a script, with a fault at each of its requests, and with another run that does something
// at each of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/state/stores/journal_oracle.h"

namespace podctl::testing {
namespace {

using std::chrono::milliseconds;

struct NamedFault {
  std::string name;
  BlobFault fault;
};

std::vector<NamedFault> AllFaults() {
  std::vector<NamedFault> all = {
      {"lost before", {BlobFault::Kind::kLostBefore, {}, 0}},
      {"lost after", {BlobFault::Kind::kLostAfter, {}, 0}},
      {"carried out at once after it was given up", {BlobFault::Kind::kLate, {}, 1}},
      {"carried out later", {BlobFault::Kind::kLate, {}, 4}},
      {"cut", {BlobFault::Kind::kCut, {}, 0}},
  };
  // What statuses become: 400, 401, 403, 404, 409, 412, 413, 429, 500, 503, and no connection.
  for (const ErrorCode code :
       {ErrorCode::kInvalidArgument, ErrorCode::kUnauthenticated, ErrorCode::kPermissionDenied,
        ErrorCode::kNotFound, ErrorCode::kAborted, ErrorCode::kFailedPrecondition,
        ErrorCode::kOutOfRange, ErrorCode::kResourceExhausted, ErrorCode::kInternal,
        ErrorCode::kUnavailable, ErrorCode::kDeadlineExceeded, ErrorCode::kCancelled,
        ErrorCode::kUnknown}) {
    all.push_back({std::string(ErrorCodeName(code)), Refuse(code, "a fault")});
  }
  return all;
}

// A run as the engine makes one: it says again what could not be saved, and ends when it was
// overtaken.
class ScriptedRun {
 public:
  ScriptedRun(JournalWorld& world, JournalOracle& oracle, const std::string& host)
      : oracle_(oracle), run_(world.Open(host, Options())), host_(host) {}

  static JournalStoreOptions Options() {
    JournalStoreOptions options = JournalWorld::ByHand();
    options.patience = milliseconds(3000);
    options.compact_entries = 3;
    options.most_entries = 3;
    return options;
  }

  bool Load() {
    const std::uint64_t newest = oracle_.newest();
    const auto loaded = run_->Load();
    if (loaded) oracle_.Read(*loaded, newest);
    if (loaded && !loaded->state) run_->state = SampleState();
    return loaded.has_value();
  }
  // False: it was overtaken, or cannot save.
  bool Mark() {
    for (int again = 0; again < 3; ++again) {
      State next = run_->state;
      Pods(next)[Addr("pod.research")].current.uid = fmt::format("mark {} {}", host_, ++marks_);
      oracle_.Meant(next);
      const auto saved =
          run_->at.none() ? run_->store.Save(next, &run_->at)
                          : run_->store.Append(next, ChangesBetween(run_->state, next), &run_->at);
      if (saved) {
        run_->state = next;
        oracle_.Acknowledged(next, run_->at);
        return true;
      }
      if (saved.error().code == ErrorCode::kFailedPrecondition) return false;
    }
    return false;
  }
  // As much as can be done.
  void Play() {
    auto lock = run_->store.Lock({}, milliseconds(0), {});
    if (!Load()) return;
    for (int i = 0; i < 5; ++i) {
      if (!Mark()) break;
    }
    run_->store.Compact();
  }
  JournalRun& run() { return *run_; }

 private:
  JournalOracle& oracle_;
  std::unique_ptr<JournalRun> run_;
  std::string host_;
  int marks_ = 0;
};

void CheckInTheEnd(JournalWorld& world, JournalOracle& oracle) {
  world.place.Arrive();
  ScriptedRun reader(world, oracle, "reader");
  EXPECT_TRUE(reader.Load());
  // And the state can be gone on from.
  EXPECT_TRUE(reader.Mark());
  EXPECT_TRUE(ScriptedRun(world, oracle, "last").Load());
  oracle.CheckJournal(world.place);
}

TEST(JournalFaults, AFaultAtEachRequestLosesNothingAndWritesNothingTwice) {
  for (const bool empty : {true, false}) {
    for (const NamedFault& one : AllFaults()) {
      bool struck = true;
      for (int k = 1; struck && !HasFailure(); ++k) {
        SCOPED_TRACE(fmt::format("{} at request {}{}", one.name, k, empty ? ", empty" : ""));
        ASSERT_LT(k, 100);
        JournalWorld world;
        JournalOracle oracle;
        if (!empty) {
          ScriptedRun earlier(world, oracle, "earlier");
          earlier.Play();
          earlier.Mark();  // after its snapshot
        }
        ScriptedRun run(world, oracle, "here");
        struck = false;
        run.run().blobs.before = [&](const BlobRequest& request) {
          if (request.number != k) return BlobFault{};
          struck = true;
          return one.fault;
        };
        run.Play();
        CheckInTheEnd(world, oracle);
      }
    }
  }
}

// From one request on the place is out of reach, for good or for a while.
TEST(JournalFaults, AnOutageFromEachRequestOnLosesNothing) {
  for (const int length : {2, 5, 1000}) {
    for (int k = 1; k < 30 && !HasFailure(); ++k) {
      SCOPED_TRACE(fmt::format("{} requests from {} on", length, k));
      JournalWorld world;
      JournalOracle oracle;
      ScriptedRun(world, oracle, "earlier").Play();
      ScriptedRun run(world, oracle, "here");
      run.run().blobs.before = [&](const BlobRequest& request) {
        if (request.number < k || request.number >= k + length) return BlobFault{};
        return request.number % 2 == 0 ? BlobFault{BlobFault::Kind::kLate, {}, 3}
                                       : Refuse(ErrorCode::kUnavailable, "out");
      };
      run.Play();
      CheckInTheEnd(world, oracle);
    }
  }
}

TEST(JournalFaults, AKillAtEachRequestLosesNothing) {
  for (const bool carried_out : {false, true}) {
    bool struck = true;
    for (int k = 1; struck && !HasFailure(); ++k) {
      SCOPED_TRACE(fmt::format("killed {} request {}", carried_out ? "after" : "before", k));
      JournalWorld world;
      JournalOracle oracle;
      ScriptedRun(world, oracle, "earlier").Play();
      ScriptedRun run(world, oracle, "here");
      struck = false;
      const auto kill = [&](const BlobRequest& request) {
        if (request.number != k) return;
        struck = true;
        run.run().blobs.Kill();
      };
      if (carried_out) {
        run.run().blobs.after = kill;
      } else {
        run.run().blobs.before = [&](const BlobRequest& request) {
          kill(request);
          return BlobFault{};
        };
      }
      run.Play();
      CheckInTheEnd(world, oracle);
    }
  }
}

// While each request of one run is out, another one plays its whole life, or a part of it.
TEST(JournalFaults, AnotherRunAtEachRequestIsTheOnlyOneThatGoesOn) {
  struct Part {
    const char* name;
    std::function<void(ScriptedRun&)> play;
  };
  const Part parts[] = {
      {"reads", [](ScriptedRun& run) { run.Load(); }},
      {"saves", [](ScriptedRun& run) { run.Load() && run.Mark(); }},
      {"saves much and takes a snapshot", [](ScriptedRun& run) { run.Play(); }},
      {"fences", [](ScriptedRun& run) { EXPECT_TRUE(run.run().store.Fence()); }},
  };
  for (const Part& part : parts) {
    for (const bool after : {false, true}) {
      bool struck = true;
      for (int k = 1; struck && !HasFailure(); ++k) {
        SCOPED_TRACE(
            fmt::format("another {} {} request {}", part.name, after ? "after" : "before", k));
        JournalWorld world;
        JournalOracle oracle;
        ScriptedRun(world, oracle, "earlier").Play();
        ScriptedRun run(world, oracle, "here");
        ScriptedRun other(world, oracle, "there");
        struck = false;
        const auto let_on = [&](const BlobRequest& request) {
          if (request.number != k) return;
          struck = true;
          part.play(other);
        };
        if (after) {
          run.run().blobs.after = let_on;
        } else {
          run.run().blobs.before = [&](const BlobRequest& request) {
            let_on(request);
            return BlobFault{};
          };
        }
        run.Play();
        CheckInTheEnd(world, oracle);
      }
    }
  }
}

}  // namespace
}  // namespace podctl::testing

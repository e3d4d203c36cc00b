// A fault at each request of a run, of each kind: nothing that was saved is lost, nothing is saved
// twice, and the lock can be had afterwards.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/state/stores/http/http_bench.h"

namespace podctl::testing {
namespace {

using Fault = StateServerTransport::Fault;
using Kind = StateServer::Kind;

constexpr const char* kMarks[] = {"one", "two", "three"};

struct Outcome {
  Error error;        // of the step that failed first
  int confirmed = 0;  // saves that were answered for
  bool ended = false;
};

// A run as podctl makes it: the lock, the state, an intent and what came of it, the lock again.
// After a save that failed it saves once more, as an executor does at its end.
Outcome Play(HttpWorld& world) {
  Outcome outcome;
  HttpRun run(world.Open());
  if (auto locked = run.TakeLock(); !locked) {
    outcome.error = locked.error();
    return outcome;
  }
  if (auto loaded = run.Load(); !loaded) {
    outcome.error = loaded.error();
    return outcome;
  }
  for (const char* const mark : kMarks) {
    auto saved = run.Mark(mark);
    if (!saved) outcome.error = saved.error();
    if (!saved) saved = run.Save();
    if (!saved) return outcome;
    ++outcome.confirmed;
  }
  run.lock.reset();
  outcome.ended = true;
  return outcome;
}

class HttpFaults : public ::testing::TestWithParam<Kind> {
 protected:
  // With a first state stored, and nobody there.
  static void Begin(HttpWorld& world) {
    HttpRun run(world.Open());
    run.state = SampleState();
    ASSERT_TRUE(run.Save());
  }
  static int Requests(Kind kind) {
    HttpWorld world(kind);
    Begin(world);
    world.transport.FailAt(-1, Fault::kNone);
    EXPECT_TRUE(Play(world).ended);
    return world.transport.sent();
  }
  // The state is one that some save left, and no older than the last that was answered for.
  static void Check(HttpWorld& world, const Outcome& outcome) {
    world.transport.FailAt(-1, Fault::kNone);
    world.Kill(world.last_pid());
    HttpRun next(world.Open());
    const auto locked = next.TakeLock();
    ASSERT_TRUE(locked) << locked.error().message;
    const auto loaded = next.Load();
    ASSERT_TRUE(loaded) << loaded.error().message;
    const auto saves = next.state.serial - 1;
    EXPECT_GE(saves, static_cast<std::uint64_t>(outcome.confirmed));
    ASSERT_LE(saves, static_cast<std::uint64_t>(outcome.confirmed) + 1);
    const std::string uid = Pods(next.state)[Addr("pod.research")].current.uid;
    EXPECT_EQ(uid, saves == 0 ? "4711" : kMarks[saves - 1]);
    EXPECT_TRUE(next.Mark("next"));
  }
};

INSTANTIATE_TEST_SUITE_P(Servers, HttpFaults,
                         ::testing::Values(Kind::kGitLab, Kind::kGitea, Kind::kPlain));

TEST_P(HttpFaults, WhatPassesIsPassedOver) {
  const int requests = Requests(GetParam());
  for (const Fault fault :
       {Fault::kNoConnection, Fault::kLostBefore, Fault::kLostAfter, Fault::kLate}) {
    for (int k = 0; k < requests; ++k) {
      SCOPED_TRACE(fmt::format("fault {} at request {}", static_cast<int>(fault), k));
      HttpWorld world(GetParam());
      Begin(world);
      world.transport.FailAt(k, fault);
      const Outcome outcome = Play(world);
      EXPECT_TRUE(outcome.ended) << outcome.error.message;
      EXPECT_EQ(world.server.LockId(), "");
      Check(world, outcome);
    }
  }
  for (const int status : {408, 429, 500, 502, 503, 504}) {
    for (int k = 0; k < requests; ++k) {
      SCOPED_TRACE(fmt::format("status {} at request {}", status, k));
      HttpWorld world(GetParam());
      Begin(world);
      world.transport.FailAt(k, Fault::kStatus, status);
      const Outcome outcome = Play(world);
      EXPECT_TRUE(outcome.ended) << outcome.error.message;
      EXPECT_EQ(world.server.LockId(), "");
      Check(world, outcome);
    }
  }
}

// For so long that the run gives up.
TEST_P(HttpFaults, AnOutageLosesNothing) {
  const int requests = Requests(GetParam());
  for (const Fault fault : {Fault::kNoConnection, Fault::kLostBefore, Fault::kLostAfter}) {
    for (const int times : {3, 1000}) {
      for (int k = 0; k < requests; ++k) {
        SCOPED_TRACE(
            fmt::format("fault {}, {} times at request {}", static_cast<int>(fault), times, k));
        HttpWorld world(GetParam());
        Begin(world);
        world.transport.FailAt(k, fault, 0, times);
        const Outcome outcome = Play(world);
        Check(world, outcome);
      }
    }
  }
}

TEST_P(HttpFaults, ARefusalIsAnErrorAndNoState) {
  const int requests = Requests(GetParam());
  for (const int status : {302, 400, 401, 403, 404, 405, 409, 413, 415, 422, 423}) {
    for (int k = 0; k < requests; ++k) {
      SCOPED_TRACE(fmt::format("status {} at request {}", status, k));
      HttpWorld world(GetParam());
      Begin(world);
      world.transport.FailAt(k, Fault::kStatus, status, 1000);
      const Outcome outcome = Play(world);
      EXPECT_EQ(outcome.ended, k == requests - 1);  // the release keeps nobody from his end
      EXPECT_EQ(outcome.error.message.empty(), outcome.ended);
      Check(world, outcome);
    }
  }
}

}  // namespace
}  // namespace podctl::testing

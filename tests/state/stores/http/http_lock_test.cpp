// The lock of a state on a server: who holds it, who is refused, and whose is taken over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "providers/base/encoding.h"
#include "state/stores/http/http_store.h"
#include "tests/state/stores/http/http_bench.h"
#include "tests/support/fake_transport.h"
#include "tests/support/golden.h"

namespace podctl::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Kind = StateServer::Kind;

TEST(HttpStoreLock, TheLockOfADeadProcessOfThisMachineIsTakenOver) {
  for (const Kind kind : {Kind::kGitLab, Kind::kGitea, Kind::kPlain}) {
    HttpWorld world(kind);
    HttpRun dead(world.Open());
    ASSERT_TRUE(dead.TakeLock());
    const int pid = world.last_pid();
    HttpRun elsewhere(world.Open("there"));
    HttpRun next(world.Open());
    EXPECT_EQ(next.TakeLock().error().code, ErrorCode::kLocked);
    world.Kill(pid);
    EXPECT_EQ(elsewhere.TakeLock().error().code, ErrorCode::kLocked);
    ASSERT_TRUE(next.TakeLock());
    EXPECT_THAT(next.lock->TakeoverNote(), HasSubstr(fmt::format("process {}", pid)));
    // What a request of the dead one that was still on its way would do now.
    EXPECT_FALSE(dead.Mark("dead"));
  }
}

TEST(HttpStoreLock, WhoIsRefusedIsToldOnlyWhatIsKnown) {
  std::string all;
  for (const Kind kind : {Kind::kGitLab, Kind::kGitea, Kind::kPlain}) {
    HttpWorld world(kind);
    auto holder = world.Open();
    LockInfo info = LockInfoFor("apply");
    info.command = "podctl apply --auto-approve";
    info.commit = "0a1b2c3";
    info.run_url = "https://ci.example/run/7";
    const auto lock = holder->Lock(info, std::chrono::milliseconds(0), {});
    ASSERT_TRUE(lock);
    LockInfo asker = LockInfoFor("destroy");
    asker.command = "the asker's words";
    const auto refused = world.Open("there")->Lock(asker, std::chrono::milliseconds(0), {});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, Not(HasSubstr("the asker's words")));
    all += refused.error().message + "\n" + refused.error().hint + "\n\n";
  }
  ExpectGolden("state/http_locked.txt", all);
}

TEST(HttpStoreLock, AServerWithoutAKnownLockIsRefusedUntilSomebodySaysSo) {
  HttpWorld world(Kind::kPlain);
  auto place = world.Place();
  place.lock_url.clear();
  auto refused = world.Open(world.transport, place)->Lock(LockInfoFor("apply"), {}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(refused.error().hint, HasSubstr("--lock=false"));
  FakeTransport transport;
  transport.Then(405, "");
  refused = world.Open(transport, world.Place())->Lock(LockInfoFor("apply"), {}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnimplemented);
  EXPECT_THAT(refused.error().hint, HasSubstr("--lock=false"));
}

// Then the look before each save is what is left; and the server's own refusal.
TEST(HttpStoreLock, WithoutTakingTheLockItSavesWhatContinues) {
  for (const Kind kind : {Kind::kGitLab, Kind::kGitea, Kind::kPlain}) {
    HttpWorld world(kind);
    HttpPlace place = world.Place();
    if (kind == Kind::kPlain) place.lock_url.clear();
    HttpStoreOptions options;
    options.lock = false;
    const auto open = [&] {
      return std::make_unique<HttpStore>(
          place, HttpStoreDoors{world.transport, world.files, world.clock, world.random},
          world.NextHolder(), RememberedKinds(), options);
    };
    HttpRun run(open());
    ASSERT_TRUE(run.TakeLock());
    run.state = SampleState();
    ASSERT_TRUE(run.Save());
    EXPECT_EQ(world.server.LockId(), "");
    HttpRun second(open());
    ASSERT_TRUE(second.TakeLock());
    ASSERT_TRUE(second.Load());
    ASSERT_TRUE(second.Mark("second"));
    EXPECT_EQ(run.Mark("first").error().code, ErrorCode::kFailedPrecondition);
    EXPECT_EQ(UidIn(world), "second");
  }
}

TEST(HttpStoreLock, UnlockingByIdReleasesWhatWasLeftBehind) {
  for (const Kind kind : {Kind::kGitLab, Kind::kGitea, Kind::kPlain}) {
    HttpWorld world(kind);
    HttpRun dead(world.Open("there"));
    ASSERT_TRUE(dead.TakeLock());
    const std::string wire = world.server.LockId();
    const std::string id = wire.substr(0, wire.find('.'));
    auto here = world.Open();
    EXPECT_EQ(here->ForceUnlock("x").error().code, ErrorCode::kInvalidArgument);
    ASSERT_TRUE(here->ForceUnlock(id));
    EXPECT_EQ(world.server.LockId(), "");
    EXPECT_EQ(here->ForceUnlock(id).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(world.server.LockId(), "");
  }
}

// A container of this machine may have its name, and has process numbers of its own.
TEST(HttpStoreLock, AProcessOfAnotherSpaceIsNotTakenForOneThatLivesHere) {
  for (const Kind kind : {Kind::kGitea, Kind::kPlain}) {
    HttpWorld world(kind);
    const auto open = [&](const std::string& space) {
      LockHolder self = world.NextHolder("here");
      self.mark = space + std::to_string(self.pid) + "/7";
      self.has_ended = [](const std::string&) { return false; };
      return HttpStore(world.Place(),
                       HttpStoreDoors{world.transport, world.files, world.clock, world.random},
                       self, RememberedKinds());
    };
    HttpStore holder = open("boot/pid:[2]/");
    const auto lock = holder.Lock(LockInfoFor("apply"), std::chrono::milliseconds(0), {});
    ASSERT_TRUE(lock);
    const std::string wire = world.server.LockId();
    const std::string id = wire.substr(0, wire.find('.'));
    EXPECT_EQ(open("boot/pid:[2]/").ForceUnlock(id).error().code, ErrorCode::kLocked);
    EXPECT_EQ(world.server.LockId(), wire);
    EXPECT_TRUE(open("boot/pid:[1]/").ForceUnlock(id));
    EXPECT_EQ(world.server.LockId(), "");
  }
}

// As Terraform sends it.
http::Response LockAsTerraform(HttpWorld& world) {
  const bool is_plain = world.server.kind() == Kind::kPlain;
  return world.server.Answer(
      is_plain ? "LOCK" : "POST", world.server.path() + (is_plain ? "" : "/lock"),
      {{"authorization", "Basic " + Base64Encode("alice:s3cret")},
       {"content-type", "application/json"}},
      R"({"ID":"7d9d1d5c-8a3e-0b6f-9a51-0d0d7c1f9e11","Operation":"OperationTypeApply","Info":"",)"
      R"("Who":"bob@laptop","Version":"1.11.4","Created":"2026-11-20T14:29:00Z","Path":""})");
}

TEST(HttpStoreLock, ALockOfAnotherToolIsToldApartAndLeftToIt) {
  const std::string id = "7d9d1d5c-8a3e-0b6f-9a51-0d0d7c1f9e11";
  std::string all;
  for (const Kind kind : {Kind::kGitLab, Kind::kGitea, Kind::kPlain}) {
    HttpWorld world(kind);
    ASSERT_EQ(LockAsTerraform(world).status, 200);
    auto store = world.Open();
    // It may be a run before the first state.
    const auto refused = store->Lock(LockInfoFor("apply"), std::chrono::seconds(7), {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kLocked);
    EXPECT_GE(world.clock.Elapsed(), std::chrono::seconds(7));
    EXPECT_THAT(refused.error().hint, HasSubstr("terraform force-unlock " + id));
    EXPECT_THAT(refused.error().hint, Not(HasSubstr("podctl unlock")));
    const auto kept = store->ForceUnlock(id);
    ASSERT_FALSE(kept);
    EXPECT_THAT(kept.error().hint, HasSubstr("terraform force-unlock " + id));
    EXPECT_EQ(world.server.LockId(), id);
    all += refused.error().message + "\n" + refused.error().hint + "\n\n" + kept.error().message +
           "\n" + kept.error().hint + "\n\n";
    world.server.Overwrite(
        R"({"version":4,"terraform_version":"1.11.4","serial":3,"lineage":"x","resources":[]})");
    const auto apply = store->Lock(LockInfoFor("apply"), std::chrono::hours(1), {});
    ASSERT_FALSE(apply);
    EXPECT_EQ(apply.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_THAT(apply.error().message, HasSubstr("one of Terraform or OpenTofu"));
    EXPECT_EQ(world.server.LockId(), id);
  }
  ExpectGolden("state/http_locked_by_terraform.txt", all);
}

// Where the system gives no marks, its own locks are known all the same.
TEST(HttpStoreLock, ALockOfAProcessWithoutAMarkIsPodctls) {
  for (const Kind kind : {Kind::kGitLab, Kind::kGitea, Kind::kPlain}) {
    HttpWorld world(kind);
    const auto open = [&](const std::string& host) {
      LockHolder self = world.NextHolder(host);
      self.mark.clear();
      return HttpStore(world.Place(),
                       HttpStoreDoors{world.transport, world.files, world.clock, world.random},
                       self, RememberedKinds());
    };
    HttpStore dead = open("there");
    const auto lock = dead.Lock(LockInfoFor("apply"), std::chrono::milliseconds(0), {});
    ASSERT_TRUE(lock);
    const std::string wire = world.server.LockId();
    EXPECT_TRUE(open("here").ForceUnlock(wire.substr(0, wire.find('.'))));
    EXPECT_EQ(world.server.LockId(), "");
  }
}

TEST(HttpStoreLock, OnlyGiteaTellsWhoHoldsTheLockToWhoDoesNotTryIt) {
  HttpWorld gitea;
  auto look = gitea.Open("there");
  EXPECT_FALSE(look->Holder());
  EXPECT_TRUE(look->TellsHolder());
  HttpRun run = Running(gitea);
  const auto holder = look->Holder();
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->operation, "apply");
  EXPECT_EQ(holder->host, "here");
  EXPECT_FALSE(run.store->Holder());  // it is its own
  EXPECT_NE(gitea.server.LockId(), "");
  EXPECT_EQ(gitea.server.Versions(), 1U);

  // Who may only read sends nothing else.
  HttpPlace anybody = gitea.Place();
  anybody.user.clear();
  anybody.password.clear();
  auto reader = gitea.Open(gitea.transport, anybody);
  const std::size_t asked = gitea.transport.asked().size();
  EXPECT_FALSE(reader->Holder());
  EXPECT_FALSE(reader->TellsHolder());
  EXPECT_EQ(gitea.transport.asked().size(), asked);

  HttpWorld gitlab(Kind::kGitLab);
  HttpRun other = Running(gitlab);
  auto blind = gitlab.Open("there");
  EXPECT_FALSE(blind->Holder());
  EXPECT_FALSE(blind->TellsHolder());
}

}  // namespace
}  // namespace podctl::testing

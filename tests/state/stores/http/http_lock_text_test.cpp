#include "state/stores/http/http_lock_text.h"

#include <gtest/gtest.h>

#include "providers/base/json.h"

namespace podctl {
namespace {

constexpr const char* kMark = "b00t-id/pid:[4026531836]/4711/123456";
constexpr const char* kNeighbour = "b00t-id/pid:[4026531836]/99/1";
constexpr const char* kElsewhere = "an0ther/pid:[4026531836]/99/1";

HttpLock Sample() {
  LockInfo info;
  info.id = "11111111-1111-4111-8111-111111111111";
  info.operation = "state rm";
  info.who = "alice@builder";
  info.host = "builder";
  info.pid = 4711;
  info.command = "podctl state rm pod.a";
  info.created = "2026-11-20T14:30:00Z";
  info.path = "https://git.example/x";
  info.version = "0.1.0";
  info.commit = "abc";
  info.run_url = "https://ci.example/run/7";
  return {info, HttpLockId(info, kMark), kMark};
}

TEST(HttpLockText, TheIdSurvivesWhereNothingElseDoes) {
  const HttpLock lock = Sample();
  EXPECT_LE(lock.id.size(), 255U);
  // As GitLab answers: its own words, and the asker's.
  const std::string told = R"({"ID":")" + lock.id +
                           R"(","Who":"gitlab-alice","Created":"2026-11-20T14:30:01Z",)"
                           R"("Operation":"plan","Info":"the asker's","Version":"9","Path":"p"})";
  const auto read = HttpLockFromJson(told, HttpServer::kGitLab, kNeighbour);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->id, lock.id);
  EXPECT_EQ(read->info.id, lock.info.id);
  EXPECT_EQ(read->info.operation, "state-rm");
  EXPECT_EQ(read->info.pid, 4711);
  EXPECT_EQ(read->info.who, "gitlab-alice");
  EXPECT_EQ(read->info.command, "");
  EXPECT_EQ(read->info.version, "");
  EXPECT_EQ(read->mark, kMark);
  // On another machine, or after a boot, that number is somebody else's.
  EXPECT_EQ(HttpLockFromJson(told, HttpServer::kGitLab, kElsewhere)->mark, "");
  EXPECT_EQ(HttpLockFromJson(told, HttpServer::kGitLab, "")->mark, "");
}

TEST(HttpLockText, SevenMembersKeepAllThatPeopleRead) {
  const HttpLock lock = Sample();
  const Value sent = *ParseJson(HttpLockToJson(lock));
  Value kept = Value::EmptyMap();
  for (const char* const name : {"ID", "Operation", "Info", "Who", "Version", "Created", "Path"}) {
    ASSERT_TRUE(sent[name].is_string()) << name;
    kept.Set(name, sent[name]);
  }
  for (const std::string& text : {ToJson(kept), ToJson(sent)}) {
    const auto read = HttpLockFromJson(text, HttpServer::kGitea, kNeighbour);
    ASSERT_TRUE(read);
    EXPECT_EQ(LockInfoToJson(read->info), LockInfoToJson(lock.info));
    EXPECT_EQ(read->mark, kMark);
  }
}

TEST(HttpLockText, SomebodyElsesIdIsLeftAsItIs) {
  const auto read =
      HttpLockFromJson(R"({"ID":"a.b.c.d.e","Operation":"OperationTypeApply","Info":"",)"
                       R"("Who":"bob@laptop","Version":"1.11.4","Created":"","Path":""})",
                       HttpServer::kGitea, kNeighbour);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->info.id, "a.b.c.d.e");
  EXPECT_EQ(read->info.operation, "OperationTypeApply");
  EXPECT_EQ(read->info.pid, 0);
  EXPECT_EQ(read->mark, "");
  EXPECT_FALSE(HttpLockFromJson("lock ID mismatch", HttpServer::kGitea, kNeighbour));
  EXPECT_FALSE(HttpLockFromJson("{}", HttpServer::kGitLab, kNeighbour));
}

TEST(HttpLockText, WithoutAMarkTheIdTellsThatItIsPodctls) {
  LockInfo info = Sample().info;
  EXPECT_EQ(HttpLockId(info, ""), info.id + ".state-rm.unknown.4711.0");
  EXPECT_EQ(HttpLockId(info, "not/a/mark"), info.id + ".state-rm.unknown.4711.0");
  info.pid = 0;
  EXPECT_EQ(HttpLockId(info, ""), info.id);
}

}  // namespace
}  // namespace podctl

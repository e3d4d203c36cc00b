// What lets us into workers: whose key, and by which user name.
#include "plans/session/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plans/kinds/pod/spec.h"
#include "plans/session/os_login.h"
#include "tests/plans/session/session_harness.h"
#include "tests/providers/gcp/fake_gcloud.h"
#include "tests/support/fake_transport.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::SessionHarness;
using ::testing::SizeIs;

// --- Keys.

class OwnKeys : public ::testing::Test, protected SessionHarness {};

TEST_F(OwnKeys, ThatAreNotThereAreMadeOnlyOnDemand) {
  KeyLines keys = Entry().Keys();
  EXPECT_THAT(*keys.For({}, false), IsEmpty());
  EXPECT_EQ(keys_made, 0);
  const auto made = keys.For({}, true);
  ASSERT_TRUE(made);
  ASSERT_THAT(*made, SizeIs(1));
  EXPECT_THAT(made->front(), HasSubstr(":ssh-ed25519 "));
  EXPECT_EQ(keys_made, 1);
  EXPECT_EQ(*keys.For({}, true), *made);
  EXPECT_EQ(keys_made, 1);
}

// Else nobody hears of it before they want to log in.
TEST_F(OwnKeys, ThatAreNotThereAreMissedForAPodThatThereIs) {
  PodSpec pod;
  const auto note = NoKeyNote(keyring, pod);
  ASSERT_TRUE(note);
  EXPECT_EQ(*note,
            "There is no SSH key to log in to workers with: make one with `ssh-keygen -t ed25519`, "
            "and the next `podctl apply` publishes it.");
  pod.publish_ssh_key = false;
  EXPECT_THAT(*NoKeyNote(keyring, pod), Not(HasSubstr("publishes")));
  pod.ssh.identity_file = "/home/a/key";
  EXPECT_FALSE(NoKeyNote(keyring, pod)) << "the spec names one";
}

TEST_F(OwnKeys, ThatTheSpecNamesAreNeverMade) {
  SshSettings ssh;
  ssh.identity_file = "/home/a/no-such-key";
  KeyLines keys = Entry().Keys();
  EXPECT_THAT(*keys.For(ssh, false), IsEmpty());
  EXPECT_FALSE(keys.For(ssh, true));
  EXPECT_EQ(keys_made, 0);
}

TEST_F(OwnKeys, AreForTheUserThatTheSpecNames) {
  SshSettings ssh;
  ssh.user = "alice";
  const auto made = Entry().Keys().For(ssh, true);
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->front().starts_with("alice:ssh-ed25519 ")) << made->front();
}

TEST_F(OwnKeys, AreNotPublishedWhereTheSpecSaysSo) {
  ASSERT_TRUE(Entry().Keys().For({}, true));
  Pods(Harness::Pod("a", "    ssh: {publishKey: false}\n") + Harness::Pod("b"));
  const PlanRun run = Planned(Request());
  EXPECT_THAT(testing::PodsOf(run.spec).at(0).own_keys, IsEmpty());
  EXPECT_THAT(testing::PodsOf(run.spec).at(1).own_keys, SizeIs(1));
}

// --- As whom.

class AsWhom : public ::testing::Test, protected SessionHarness {
 protected:
  // The name in the plan of a pod with these lines.
  std::optional<std::string> NameWith(const std::string& lines, bool will_log_in = false) {
    Pods(Harness::Pod("a", lines));
    PlanRequest request = Request();
    request.will_log_in = will_log_in;
    return testing::PodsOf(Planned(request).spec).front().ssh.os_login_user;
  }
};

TEST_F(AsWhom, TheSpecComesBeforeTheProject) {
  login.on = {"p"};
  EXPECT_EQ(NameWith(""), "a_com");
  EXPECT_EQ(NameWith("    metadata: {enable-oslogin: \"FALSE\"}\n"), std::nullopt);
  login.on = {};
  EXPECT_EQ(NameWith(""), std::nullopt);
  EXPECT_EQ(NameWith("    metadata: {enable-oslogin: \"TRUE\"}\n"), "a_com");
}

TEST_F(AsWhom, WhoWithholdsTheKeyAndHasNoNameCannotEnter) {
  login.on = {"p"};
  login.user = std::string();
  EXPECT_EQ(NameWith("    ssh: {publishKey: false}\n"), "");
  Pods(Harness::Pod("a", "    ssh: {publishKey: false}\n"));
  PlanRequest request = Request();
  request.will_log_in = true;
  EXPECT_THAT(Refused(request).error->message, HasSubstr("nobody in p"));
  // With the key published, OS Login makes the name.
  EXPECT_EQ(NameWith("", true), "");
}

TEST_F(AsWhom, ARecordIsEnteredAsWhoeverRunsThis) {
  PodRecord record;
  record.project = "p";
  testing::FakeLogin door(login);
  EXPECT_FALSE(LogInAsCaller(door, &record));  // OS Login has no say here
  EXPECT_EQ(record.ssh.os_login_user, std::nullopt);
  record.ssh.os_login_user = "somebody_else";
  EXPECT_FALSE(LogInAsCaller(door, &record));
  EXPECT_EQ(record.ssh.os_login_user, "a_com");
  EXPECT_THAT(login.imported, ElementsAre("p"));
}

TEST_F(AsWhom, WhereNobodyCanBeAskedTheNotedNameStands) {
  PodRecord record;
  record.project = "p";
  record.ssh.os_login_user = "noted";
  login.user = MakeError(ErrorCode::kUnavailable, "down");
  testing::FakeLogin door(login);
  const auto why = LogInAsCaller(door, &record);
  ASSERT_TRUE(why);
  EXPECT_FALSE(why->asked);
  EXPECT_EQ(why->instead, "noted");
  EXPECT_EQ(record.ssh.os_login_user, "noted");
  login.user = std::string();
  const auto nameless = LogInAsCaller(door, &record);
  ASSERT_TRUE(nameless);
  EXPECT_TRUE(nameless->asked);
}

// --- Google's.

class GoogleLoginTest : public ::testing::Test, protected SessionHarness {
 protected:
  GoogleLogin Login(const std::string& account = "alice@example.com") {
    variables_.emplace(std::map<std::string, std::string>{{"HOME", "/home/a"},
                                                          {"CLOUDSDK_CORE_ACCOUNT", account}});
    return GoogleLogin({&client_, &client_, credentials_, kEndpoint, *variables_, files, keyring,
                        clock, drain.get_token()});
  }

  static constexpr const char* kEndpoint = "http://127.0.0.1:8470/";
  static constexpr const char* kOn =
      R"({"commonInstanceMetadata": {"items": [{"key": "enable-oslogin", "value": "TRUE"}]}})";
  testing::FakeGcloud gcloud_;
  testing::FakeTransport transport_;
  std::optional<FixedEnvironment> variables_;
  gcp::Credentials credentials_{{environment, files, gcloud_, transport_, clock, random}};
  gcp::RestClient client_{gcp::Endpoint{kEndpoint}, transport_, credentials_, clock, random};
};

TEST_F(GoogleLoginTest, AsksEachQuestionOnce) {
  transport_.Then(200, kOn).Then(200, R"({"posixAccounts": [{"username": "alice_example_com"}]})");
  GoogleLogin google = Login();
  EXPECT_TRUE(google.IsOnIn("p"));
  EXPECT_TRUE(google.IsOnIn("p"));
  EXPECT_THAT(transport_.requests(), SizeIs(1));
  EXPECT_EQ(*google.User("q", "", false), "alice_example_com");
  EXPECT_EQ(*google.User("q", "", false), "alice_example_com");
}

TEST_F(GoogleLoginTest, WhoMayNotLookHearsNo) {
  transport_.Then(403, R"({"error": {"code": 403, "message": "not you"}})");
  EXPECT_FALSE(Login().IsOnIn("p"));
}

TEST_F(GoogleLoginTest, PutsTheKeyThereWhereItIsNot) {
  ASSERT_TRUE(Entry().Keys().For({}, true));
  transport_.Then(404, R"({"error": {"code": 404, "status": "NOT_FOUND"}})")
      .Then(200, R"({"loginProfile": {"posixAccounts": [{"username": "alice"}]}})");
  EXPECT_EQ(*Login().User("p", "", true), "alice");
  ASSERT_THAT(transport_.requests(), SizeIs(2));
  EXPECT_EQ(transport_.requests().back().method, "POST");
}

TEST_F(GoogleLoginTest, WithoutAnImportNothingIsChanged) {
  transport_.Then(404, R"({"error": {"code": 404, "status": "NOT_FOUND"}})");
  GoogleLogin google = Login();
  EXPECT_EQ(*google.User("p", "", false), "");
  EXPECT_THAT(google.NoUser("p").message, HasSubstr("alice@example.com in p"));
  EXPECT_THAT(transport_.requests(), SizeIs(1));
}

}  // namespace
}  // namespace podctl

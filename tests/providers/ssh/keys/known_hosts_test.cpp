#include "providers/ssh/keys/known_hosts.h"

#include <gtest/gtest.h>

#include "tests/support/fake_file_system.h"
#include "tests/support/ssh_server.h"

namespace podctl::ssh {
namespace {

// Made for this test; nobody holds the private halves any more.
const std::string kFirst =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
const std::string kSecond =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8eHRwbGhkYFxYVFBMSERAPDg0MCwoJCAcGBQQDAgEA";

using Keys = std::vector<HostKeyText>;

KnownHosts::Found Find(const std::string& text, const std::string& name,
                       const std::string& alias = "") {
  KnownHosts known;
  known.Add(text, "known_hosts");
  return known.Find(name, alias);
}

bool Knows(const std::string& hosts, const std::string& name) {
  return Find(hosts + " " + kFirst + "\n", name).keys == Keys{kFirst};
}

TEST(KnownHostsTest, FindsExactNamesWithTheirPort) {
  const std::string text = "# a comment\n\n10.0.0.1 " + kFirst + " root@a\r\n[10.0.0.1]:2222 " +
                           kSecond + "\n10.0.0.2,10.0.0.3 " + kSecond + "\n";
  EXPECT_EQ(Find(text, KnownHostsName("10.0.0.1", 22)).keys, Keys{kFirst});
  EXPECT_EQ(Find(text, KnownHostsName("10.0.0.1", 22)).place, "known_hosts:3");
  EXPECT_EQ(Find(text, KnownHostsName("10.0.0.1", 2222)).keys, Keys{kSecond});
  EXPECT_EQ(Find(text, KnownHostsName("10.0.0.2", 2222)).keys, Keys{})
      << "port 22 says nothing of another port";
  EXPECT_EQ(Find(text, "10.0.0.3").keys, Keys{kSecond});
  EXPECT_EQ(Find(text, "10.0.0.4").keys, Keys{});
}

TEST(KnownHostsTest, NamesHaveNoCase) {
  EXPECT_TRUE(Knows("Worker.Example", "worker.eXample"));
  EXPECT_TRUE(Knows("W*.Example", "worker.example"));
}

TEST(KnownHostsTest, KeepsAllKeysOfAHostOnce) {
  const std::string text = "a " + kFirst + "\na " + kSecond + "\n* " + kFirst + "\n";
  EXPECT_EQ(Find(text, "a").keys, (Keys{kFirst, kSecond}));
}

TEST(KnownHostsTest, MatchesPatterns) {
  EXPECT_TRUE(Knows("*", "10.0.0.1"));
  EXPECT_TRUE(Knows("10.0.*", "10.0.3.1"));
  EXPECT_FALSE(Knows("10.0.*", "10.1.3.1"));
  EXPECT_TRUE(Knows("10.0.0.?", "10.0.0.7"));
  EXPECT_FALSE(Knows("10.0.0.?", "10.0.0.17"));
  EXPECT_TRUE(Knows("*.a*b", "x.aab.ab"));
  EXPECT_FALSE(Knows("*.a*b", "x.aab.abc"));
  EXPECT_TRUE(Knows("[10.0.0.*]:22?2", "[10.0.0.1]:2222"));
  EXPECT_FALSE(Knows("10.0.0.1", "10.0.0.11"));
}

TEST(KnownHostsTest, ANegatedPatternTakesTheHostOutOfTheLine) {
  EXPECT_FALSE(Knows("*,!10.0.0.7", "10.0.0.7"));
  EXPECT_TRUE(Knows("*,!10.0.0.7", "10.0.0.8"));
  EXPECT_FALSE(Knows("!10.0.0.7,*", "10.0.0.7")) << "whatever stands first";
  EXPECT_FALSE(Knows("!10.0.0.7", "10.0.0.8")) << "a negation alone matches nothing";
}

TEST(KnownHostsTest, AHostilePatternEndsSoon) {
  std::string pattern;
  for (int i = 0; i < 2000; ++i) pattern += "*a";
  EXPECT_FALSE(Knows(pattern + "b", std::string(4000, 'a')));
}

TEST(KnownHostsTest, ReadsNamesThatSshKeygenHashed) {
  const testing::TempFolder folder;
  const std::string path = folder.path() + "/known_hosts";
  testing::WriteAll(path, "10.0.0.1 " + kFirst + "\n[10.0.0.2]:2222 " + kSecond + "\n");
  ASSERT_EQ(testing::RunProgram({"ssh-keygen", "-H", "-f", path}), 0);
  const std::string text = testing::ReadAll(path);
  ASSERT_EQ(text.find("10.0.0"), std::string::npos) << "it is not hashed: " << text;
  EXPECT_EQ(Find(text, "10.0.0.1").keys, Keys{kFirst});
  EXPECT_EQ(Find(text, "[10.0.0.2]:2222").keys, Keys{kSecond});
  EXPECT_EQ(Find(text, "10.0.0.2").keys, Keys{});
}

TEST(KnownHostsTest, ARevokedKeyIsNoKeyOfTheHost) {
  const std::string text =
      "@revoked * " + kFirst + "\n@revoked b " + kSecond + "\na " + kSecond + "\n";
  EXPECT_EQ(Find(text, "a").revoked, Keys{kFirst});
  EXPECT_EQ(Find(text, "a").keys, Keys{kSecond});
  EXPECT_EQ(Find(text, "b").revoked, (Keys{kFirst, kSecond}));
  EXPECT_EQ(Find(text, "@revoked").keys, Keys{}) << "it is no host's name";
}

TEST(KnownHostsTest, AnAuthorityIsToldAndIsNoKey) {
  const auto found = Find("\n@cert-authority *.example " + kFirst + "\n", "w.example");
  EXPECT_EQ(found.keys, Keys{});
  EXPECT_EQ(found.authority, "known_hosts:2");
  EXPECT_EQ(Find("@cert-authority *.example " + kFirst, "w.other").authority, "");
}

TEST(KnownHostsTest, PassesOverWhatItCannotRead) {
  const std::string text = "a\na ssh-ed25519\na ssh-ed25519 AAAA\n@unknown a " + kFirst +
                           "\n|1|x|y " + kFirst + "\n|1| " + kFirst + "\na " + kSecond;
  EXPECT_EQ(Find(text, "a").keys, Keys{kSecond});
}

// gcloud writes a worker under "tpu.<node id>-<worker>", followed by the last 6 letters of the key
// where the API had shown it the key.
TEST(KnownHostsTest, KnowsGcloudsAliases) {
  const std::string text = "tpu.123-1 " + kFirst + "\ntpu.123-10 " + kSecond +
                           "\ntpu.123-2-0cHR4f " + kFirst + "\ntpu.123-3-cHR4f " + kFirst +
                           "\ntpu.123-4-GhscHR4f " + kFirst + "\ntpu.123-5-scHR4f " + kFirst + "\n";
  EXPECT_EQ(Find(text, "10.0.0.1", "tpu.123-1").keys, Keys{kFirst});
  EXPECT_EQ(Find(text, "10.0.0.1", "tpu.123-10").keys, Keys{kSecond});
  EXPECT_EQ(Find(text, "10.0.0.1", "tpu.123-2").keys, Keys{}) << "the letters of another key";
  EXPECT_EQ(Find(text, "10.0.0.1", "tpu.123-3").keys, Keys{}) << "5 letters";
  EXPECT_EQ(Find(text, "10.0.0.1", "tpu.123-4").keys, Keys{}) << "8 letters";
  EXPECT_EQ(Find(text, "10.0.0.1", "tpu.123-5").keys, Keys{kFirst});
  EXPECT_EQ(Find(text, "10.0.0.1").keys, Keys{});
}

class KnownHostsFilesTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(files_.MakeFolders("/home/alice/.ssh"));
    ASSERT_TRUE(files_.MakeFolders("/etc/ssh"));
    ASSERT_TRUE(files_.WriteNew(path, text, 0600));
  }
  WorkerAccess Consult(WorkerAccess worker) {
    KnownHostsFiles files(environment_, files_);
    files.Consult(worker);
    return worker;
  }
  static WorkerAccess Worker() {
    WorkerAccess worker;
    worker.host = "10.0.0.1";
    worker.gcloud_alias = "tpu.123-0";
    return worker;
  }

  FixedEnvironment environment_{{{"HOME", "/home/alice"}}};
  testing::FakeFileSystem files_;
};

TEST_F(KnownHostsFilesTest, TakesKeysFromTheUsersFiles) {
  EXPECT_EQ(Consult(Worker()).host_keys, Keys{}) << "no files";
  Write("/home/alice/.ssh/google_compute_known_hosts", "tpu.123-0 " + kSecond + "\n");
  WorkerAccess worker = Consult(Worker());
  EXPECT_EQ(worker.host_keys, Keys{kSecond});
  EXPECT_EQ(worker.host_keys_from, "~/.ssh/google_compute_known_hosts:1");
  Write("/home/alice/.ssh/known_hosts", "10.0.0.1 " + kFirst + "\n");
  worker = Consult(Worker());
  EXPECT_EQ(worker.host_keys, (Keys{kFirst, kSecond}));
  EXPECT_EQ(worker.host_keys_from, "~/.ssh/known_hosts:1");
}

TEST_F(KnownHostsFilesTest, WhatIsPinnedAlreadyCountsMoreButNotMoreThanARevocation) {
  Write("/home/alice/.ssh/known_hosts", "10.0.0.1 " + kFirst + "\n");
  Write("/etc/ssh/ssh_known_hosts", "@revoked * " + kSecond + "\n");
  WorkerAccess pinned = Worker();
  pinned.host_keys = {kSecond};
  pinned = Consult(pinned);
  EXPECT_EQ(pinned.host_keys, Keys{kSecond});
  EXPECT_EQ(pinned.host_keys_from, "");
  EXPECT_EQ(pinned.revoked_keys, Keys{kSecond});
}

TEST_F(KnownHostsFilesTest, AnAuthorityAloneIsAReasonNotToTrust) {
  Write("/home/alice/.ssh/known_hosts", "@cert-authority * " + kFirst + "\n");
  EXPECT_EQ(Consult(Worker()).distrust,
            "~/.ssh/known_hosts:1 has a certificate authority for it, and podctl's own SSH cannot "
            "check host certificates: write `ssh: {transport: openssh}`");
  WorkerAccess pinned = Worker();
  pinned.host_keys = {kSecond};
  EXPECT_EQ(Consult(pinned).distrust, "");
}

TEST_F(KnownHostsFilesTest, AFileThatCannotBeReadIsAReasonNotToTrust) {
  ASSERT_TRUE(files_.MakeFolders("/home/alice/.ssh/known_hosts"));
  const std::string distrust = Consult(Worker()).distrust;
  EXPECT_NE(distrust.find("/home/alice/.ssh/known_hosts"), std::string::npos) << distrust;
  EXPECT_NE(distrust.find("it may revoke keys"), std::string::npos) << distrust;
}

}  // namespace
}  // namespace podctl::ssh

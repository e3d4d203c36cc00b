// What a worker that root runs can do to the machine: nothing, whatever its commands and its
// startup-script try.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/providers/emulator/workers_fixture.h"

namespace podctl::emulator {
namespace {

class WorkerWallsTest : public WorkersTest {
 protected:
  // Names that nothing on the machine has.
  const std::string mark_ = "podctl-walls-" + std::to_string(::getpid());
  bool OnTheMachine(const std::string& folder) {
    return std::filesystem::exists(std::filesystem::symlink_status(folder + "/" + mark_));
  }
  void ExpectNothingOnTheMachine() {
    for (const char* folder : {"/etc", "/usr/local/bin", "/opt", "/srv", "/var/lib", "/var/tmp",
                               "/tmp", "/", "/run", "/var/log", "/dev/shm", "/root", "/home"}) {
      EXPECT_FALSE(OnTheMachine(folder)) << folder;
    }
  }
};

TEST_F(WorkerWallsTest, RootInAWorkerCannotWriteTheMachine) {
  if (!Isolated()) GTEST_SKIP() << "no namespaces here: a worker is the emulator's own user";
  Create("v3-8", "tpu-vm-tf-2.11.0", "alice",
         ",'startup-script':'#!/bin/sh\\nfor f in /etc /usr/local/bin /opt /var/lib /var/tmp / "
         "/tmp; do echo $f > $f/" +
             mark_ + "; done; echo done > /tmp/done'");
  ASSERT_TRUE(Eventually([&] { return Ssh("alice", 0, "cat /tmp/done").code == 0; }));
  for (const char* folder :
       {"/etc", "/usr/local/bin", "/opt", "/srv", "/var/lib", "/", "/boot", "/run/tpu-vm",
        "/run/tpu-vm/etc", "/run/tpu-vm/ssh", "/sys/fs/cgroup", "/proc/sys/kernel"}) {
    EXPECT_NE(Ssh("alice", 0, std::string("sudo touch ") + folder + "/" + mark_).code, 0) << folder;
  }
  // What is its own.
  for (const char* folder :
       {"/tmp", "/var/tmp", "/run", "/var/log", "/dev/shm", "/root", "/home", "/home/alice"}) {
    EXPECT_EQ(Ssh("alice", 0, std::string("sudo touch ") + folder + "/" + mark_).code, 0) << folder;
  }
  EXPECT_EQ(Ssh("alice", 0, "sudo sh -c 'echo 127.0.0.9 more >> /etc/hosts'").code, 0);
  EXPECT_THAT(Shell("cat /etc/hosts").text, Not(HasSubstr("127.0.0.9 more")));
  ExpectNothingOnTheMachine();
}

TEST_F(WorkerWallsTest, RootInAWorkerCannotTakeTheWallsDown) {
  if (!Isolated()) GTEST_SKIP() << "no namespaces here: a worker is the emulator's own user";
  Create("v3-8", "tpu-vm-tf-2.11.0", "alice");
  const std::string pattern = Shell("cat /proc/sys/kernel/core_pattern").text;
  for (const char* attempt :
       {"mount -o remount,rw /", "mount -o remount,bind,rw /", "umount -l /run/tpu-vm",
        "mount -t tmpfs tmpfs /mnt", "unshare --mount true", "mknod /tmp/disk b 8 0",
        "sh -c 'echo \"|/tmp/x\" > /proc/sys/kernel/core_pattern'",
        "sh -c 'echo h > /proc/sysrq-trigger'", "nsenter --target 1 --mount true",
        "hostname changed", "date -s 2001-01-01"}) {
    EXPECT_NE(Ssh("alice", 0, std::string("sudo ") + attempt).code, 0) << attempt;
  }
  EXPECT_EQ(Shell("cat /proc/sys/kernel/core_pattern").text, pattern);
  // sudo itself goes on working, to root and to others.
  EXPECT_EQ(Ssh("alice", 0, "sudo id -u; sudo -u nobody id -un").text,
            ::access("/usr/bin/sudo", X_OK) == 0 ? "0\nnobody\n" : "0\nroot\n");
}

// The emulator makes homes from outside, as the machine's root.
TEST_F(WorkerWallsTest, ALinkInAWorkersFolderLeadsTheEmulatorNowhere) {
  if (!Isolated()) GTEST_SKIP() << "no namespaces here: a worker is the emulator's own user";
  Create("v3-8", "tpu-vm-tf-2.11.0", "alice");
  const std::string victim = folder_ + "/victim";
  std::filesystem::create_directory(victim);
  ASSERT_EQ(Ssh("alice", 0, "sudo ln -s " + victim + " /home/mallory").code, 0);
  Patch("{'ssh-keys':'alice:" + key_ + "\\nmallory:" + key_ + "'}");
  EXPECT_TRUE(std::filesystem::is_empty(victim));
  struct stat status {};
  ASSERT_EQ(::stat(victim.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, ::geteuid());
  Patch("{'ssh-keys':'alice:" + key_ + "'}");
  EXPECT_EQ(Ssh("alice", 0, "true").code, 0);
}

// Where other users of the machine look.
TEST_F(WorkerWallsTest, TheDataFolderIsItsUsersAlone) {
  Start();
  ASSERT_NE(emulator_, nullptr);
  struct stat status {};
  ASSERT_EQ(::stat(options_.data_folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
}

}  // namespace
}  // namespace podctl::emulator

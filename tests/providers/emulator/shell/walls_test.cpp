// What a worker that root runs can do to the machine: nothing, whatever its commands and its
// startup-script try.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "providers/emulator/shell/worker_texts.h"
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

// Its first process, where the machine lets no terminals of its own be mounted: with the machine's
// /dev its root would have the machine's disks.
TEST_F(WorkerWallsTest, WithoutADevOfItsOwnAWorkerDoesNotStart) {
  if (::geteuid() != 0 || Shell("unshare --mount --pid --ipc --uts --fork true").code != 0) {
    GTEST_SKIP() << "no namespaces here: a worker is the emulator's own user";
  }
  const std::string vm = folder_ + "/vm";
  Shell("mkdir -p " + vm + "/home " + vm + "/root " + vm + "/etc " + vm + "/bin && cd /etc && cp " +
        "passwd group shadow sudoers hosts hostname profile " + vm + "/etc");
  const auto program = [](const std::string& path, const std::string& text) {
    std::ofstream(path) << "#!/bin/bash\n" << text << "\n";
    ::chmod(path.c_str(), 0755);
  };
  std::string init(kNamespaceInit);
  const std::string mark = "@CAPABILITIES@";
  init.replace(init.find(mark), mark.size(), kWorkerCapabilities);
  std::ofstream(vm + "/init") << init;
  for (const char* part : {"make-keys", "walls", "boot", "systemctl"}) {
    program(vm + "/bin/" + part, "exit 0");
  }
  const auto start = [&](const std::string& variable) {
    return Shell("unshare --mount --pid --ipc --uts --fork env " + variable + " bash " + vm +
                 "/init " + vm + " host ls /dev");
  };
  const Output whole = start("A=");
  EXPECT_EQ(whole.code, 0) << whole.text;
  EXPECT_THAT(whole.text, HasSubstr("accel0\n"));
  std::ofstream(folder_ + "/refuse")
      << "mount() { case $* in *devpts*) return 32 ;; esac; command mount \"$@\"; }\n";
  const Output refused = start("BASH_ENV=" + folder_ + "/refuse");
  EXPECT_EQ(refused.code, 1) << refused.text;
  EXPECT_EQ(refused.text,
            "no /dev of its own can be mounted here, and it does not get the machine's\n");
}

// In a user namespace root has all capabilities again, and cgroups may be mounted anew: all of the
// machine's, to be frozen and killed.
TEST_F(WorkerWallsTest, NobodyInAWorkerMakesAUserNamespace) {
  if (!Isolated()) GTEST_SKIP() << "no namespaces here: a worker is the emulator's own user";
  Create("v3-8", "tpu-vm-tf-2.11.0", "alice");
  for (const char* attempt :
       {"sudo unshare --user --map-root-user true", "unshare --user --map-root-user true",
        "sudo unshare -UrCm sh -c 'mount -t cgroup2 none /mnt && ls /mnt'",
        "sudo unshare -UrCm sh -c 'mount -t cgroup -o freezer none /mnt && ls /mnt'"}) {
    EXPECT_NE(Ssh("alice", 0, attempt).code, 0) << attempt;
  }
  // By the calls themselves: clone, and clone3, whose flags no filter can read.
  EXPECT_THAT(Ssh("alice", 0,
                  "perl -e 'my $r = syscall(" + std::to_string(SYS_clone) +
                      ", 0x10000000 | 17, 0, 0, 0, 0); exit 0 if defined $r && $r == 0; "
                      "print \"$r $!\"'")
                  .text,
              HasSubstr("-1 Operation not permitted"));
  EXPECT_THAT(Ssh("alice", 0,
                  "perl -e 'my $words = pack(\"Q8\", 0x10000000, 0, 0, 0, 17, 0, 0, 0); "
                  "my $r = syscall(" +
                      std::to_string(SYS_clone3) +
                      ", $words, 64); "
                      "exit 0 if defined $r && $r == 0; print \"$r $!\"'")
                  .text,
              HasSubstr("-1 Function not implemented"));
  // Processes and threads are made as ever, and what was put into a worker has no more.
  EXPECT_EQ(Ssh("alice", 0, "sh -c 'echo $(echo made)'").text, "made\n");
  Act(0, "hold-tpu");
  ASSERT_TRUE(Eventually([&] { return Ssh("alice", 0, "pgrep -f train.py").code == 0; }));
  EXPECT_EQ(
      Ssh("alice", 0, "grep -c 'Seccomp:.*2' /proc/1/status /proc/$(pgrep -of train.py)/status")
          .code,
      0);
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

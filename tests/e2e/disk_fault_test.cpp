// The real binary on a disk that fails: ENOSPC, EIO, EMFILE, EINTR and short writes at each access
// to the state, once and for good; a disk that is really full; too few open files.
//
// A run that could not do all says so, the good generation stands there still, what could not be
// saved lies beside it (or in TMPDIR) and can be pushed, and the next run makes all good.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "tests/e2e/struck_run.h"

namespace podctl::testing {
namespace {

const Scenario& Named(const std::string& name) {
  for (const Scenario& scenario : Scenarios()) {
    if (scenario.name == name) return scenario;
  }
  ADD_FAILURE() << "no scenario " << name;
  return Scenarios().front();
}

class DiskFaultTest : public ::testing::Test {
 protected:
  struct Fault {
    std::string what;
    bool sticky = false;
    int stride = 1;  // by default only every so manieth access meets it
  };
  struct Trial {
    Scenario scenario;
    Fault fault;
    long at = 0;
  };

  void SetUp() override { cloud_.StartEmulator("none", "0s"); }

  // Every access to the state that a run makes which meets no fault.
  std::vector<Trial> Enumerate(const Scenario& scenario) {
    static const std::vector<Fault> faults = {
        {"ENOSPC", false, 6},  {"ENOSPC", true, 6},  {"EIO", false, 3},   {"EIO", true, 6},
        {"EMFILE", false, 4},  {"EMFILE", true, 4},  {"EINTR", false, 9}, {"short", false, 2},
        {"EDQUOT", false, 25}, {"EACCES", true, 25}, {"EROFS", true, 25}};
    std::vector<Trial> trials;
    for (const Fault& fault : faults) {
      StruckRun whole(scenario, cloud_);
      const RunResult run = whole.Run({.what = fault.what, .state_only = true});
      EXPECT_EQ(run.code, 0) << run;
      const int stride = WholeEnumeration() ? 1 : fault.stride;
      for (long k = 1; k <= whole.counted(); k += stride) trials.push_back({scenario, fault, k});
    }
    return trials;
  }

  void Strike(const Trial& trial) {
    const std::string name = trial.scenario.name + "-" + trial.fault.what +
                             (trial.fault.sticky ? "-sticky-" : "-") + std::to_string(trial.at);
    StruckRun run(trial.scenario, cloud_);
    const RunResult result = run.Run({.at = trial.at,
                                      .what = trial.fault.what,
                                      .sticky = trial.fault.sticky,
                                      .state_only = true});
    SCOPED_TRACE(name + ": " + run.struck());
    run.ExpectStateTellsOfEveryNode();
    run.ExpectHonesty(result);
    if (IsHarmless(trial.fault.what, run.struck())) {
      EXPECT_EQ(result.code, 0) << result;
    }
    run.ExpectRecovery();
  }

  // A short write is gone on with; a call that a signal can interrupt is made again.
  static bool IsHarmless(const std::string& what, const std::string& call) {
    if (what == "short") return true;
    if (what != "EINTR") return false;
    for (const char* slow : {"openat ", "read ", "write ", "fsync ", "flock "}) {
      if (call.starts_with(slow)) return true;
    }
    return false;
  }

  Sandbox cloud_;
};

TEST_F(DiskFaultTest, AtEachAccessToTheState) {
  std::vector<Trial> trials = Enumerate(Named("create"));
  const std::vector<Trial> more =
      WholeEnumeration() ? Enumerate(Named("everything")) : std::vector<Trial>();
  trials.insert(trials.end(), more.begin(), more.end());
  InLanes(static_cast<int>(trials.size()),
          [&](int i) { Strike(trials[static_cast<std::size_t>(i)]); });
  std::cout << trials.size() << " faults at accesses to the state\n";
}

TEST_F(DiskFaultTest, TooFewOpenFiles) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizers look into memory through pipes of their own, and end the program "
                  "where they get none; the release suite runs this";
#endif
  const Scenario& scenario = Named("create");
  constexpr int kFewest = 6;  // three streams, a pipe for signals, and one for whatever is opened
  constexpr int kMost = 24;
  std::atomic<int> failed = 0;
  InLanes(kMost - kFewest + 1, [&](int i) {
    const std::string limit = std::to_string(kFewest + i);
    StruckRun run(scenario, cloud_);
    const RunResult result =
        run.RunUnder({"sh", "-c", "ulimit -n " + limit + " && exec \"$@\"", "sh"});
    SCOPED_TRACE(limit + " open files");
    // With less than the loader needs there is no podctl that could say anything.
    if (result.code == 127) return;
    failed += result.code != 0 ? 1 : 0;
    run.ExpectStateTellsOfEveryNode();
    run.ExpectHonesty(result);
    run.ExpectRecovery();
  });
  EXPECT_GT(failed, 0) << "no limit was small enough";
}

// A small disk of its own for the state, in a mount namespace of this process.
class FullDiskTest : public DiskFaultTest {
 protected:
  // False where this user may not mount anything, by no means.
  static bool OwnMounts() {
    static const bool own = [] {
      if (unshare(CLONE_NEWNS) != 0 && !OwnUsers()) return false;
      return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    }();
    return own;
  }

  // In a namespace of users that knows nobody, nobody can write a file: this user stays who it is.
  static bool OwnUsers() {
    const std::string user = std::to_string(geteuid());
    const std::string group = std::to_string(getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << user << " " << user << " 1";
    std::ofstream("/proc/self/gid_map") << group << " " << group << " 1";
    return std::to_string(geteuid()) == user;
  }

  static bool Mount(const std::string& folder) {
    return OwnMounts() && mount("none", folder.c_str(), "tmpfs", 0, "size=64k,mode=700") == 0;
  }

  // Writes until there is no room but for `pages` of 4 KiB.
  static void Fill(const Sandbox& box, int pages) {
    const std::string all(64 * 1024, 'x');
    box.WriteFile("state/filler", all);
    ASSERT_EQ(
        truncate(
            box.Path("state/filler").c_str(),
            static_cast<off_t>(std::max<std::size_t>(
                box.ReadFile("state/filler").size() - static_cast<std::size_t>(pages) * 4096, 0))),
        0);
  }
};

// However little room there is: what was begun is known, and with room again all is made good.
TEST_F(FullDiskTest, AnyRoom) {
  for (int pages = 0; pages <= 6; ++pages) {
    SCOPED_TRACE(std::to_string(pages) + " pages of room");
    StruckRun run(Named("create"), cloud_);
    if (!Mount(run.box().Path("state"))) {
      // A limit for the size of files instead: 0 bytes, 512 ... What podctl says must not meet it.
      const std::string limited = "(trap '' XFSZ; ulimit -f " + std::to_string(pages) +
                                  " && exec \"$@\") >said.out 2>said.err";
      const RunResult result =
          run.RunUnder({"sh", "-c",
                        "mkfifo said.out said.err && { cat said.out & cat said.err >&2 & } && " +
                            limited + "; code=$?; wait; exit $code",
                        "sh"});
      run.ExpectStateTellsOfEveryNode();
      run.ExpectHonesty(result);
      run.ExpectRecovery();
      continue;
    }
    Fill(run.box(), pages);
    const RunResult result = run.Run({});
    EXPECT_EQ(result.code, pages < 2 ? 1 : result.code) << result;
    run.ExpectStateTellsOfEveryNode();
    ASSERT_EQ(unlink(run.box().Path("state/filler").c_str()), 0);
    run.ExpectHonesty(result);
    run.ExpectRecovery();
    umount(run.box().Path("state").c_str());
  }
}

// The disk fills up while the create is under way: its result goes to TMPDIR, is pushed from there,
// and then there is nothing left to do.
TEST_F(FullDiskTest, FullInTheMiddle) {
  Sandbox slow;
  slow.StartEmulator("none", "2s");
  StruckRun run(Named("create"), slow);
  Sandbox& box = run.box();
  if (!Mount(box.Path("state"))) {
    GTEST_SKIP()
        << "this user can mount no small disk (neither root nor a namespace of users): that "
           "a state goes to TMPDIR is shown with injected errors only, by DiskFaultTest";
  }
  auto apply = box.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(Eventually([&] {
    return !UnderWay(run.StateNow(), "pod.research")["operation"].AsString().empty();
  })) << apply->err();
  Fill(box, 0);
  const RunResult result = apply->Result();
  EXPECT_EQ(result.code, 1) << result;
  EXPECT_NE(result.err.find("podctl state push"), std::string::npos) << result;
  run.ExpectStateTellsOfEveryNode();
  ASSERT_EQ(unlink(box.Path("state/filler").c_str()), 0);
  run.ExpectHonesty(result);  // pushes
  const RunResult plan = box.Run({"plan", "--detailed-exitcode"});
  EXPECT_EQ(plan.code, 0) << plan;
  umount(box.Path("state").c_str());
}

}  // namespace
}  // namespace podctl::testing

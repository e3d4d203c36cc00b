// Files of a spec: written in one step, kept as they are to be, never through a link and never over
// what is somebody else's, whatever ended a run.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "plans/kinds/file/disk.h"
#include "plans/kinds/file/record.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/text.h"
#include "state/state_json.h"
#include "tests/plans/harness.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using testing::Actions;
using testing::ChangeOf;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kPath = "/project/hosts";

class FileTest : public ::testing::Test {
 protected:
  // `entries`: the text below `files:`, indented by two.
  void Files(const std::string& entries, const std::string& pods = "") {
    harness_.SpecText(
        "project: p\nzone: europe-west4-a\nvariables:\n  token: {sensitive: true, "
        "default: s3cret}\npods:" +
        (pods.empty() ? " {}\n" : "\n" + pods) + "files:\n" + entries);
  }
  void Hosts(const std::string& content) { Files(Entry("hosts", content)); }
  static std::string Entry(const std::string& name, const std::string& content,
                           const std::string& path = "hosts") {
    return "  " + name + ": {path: " + path + ", content: \"" + content + "\"}\n";
  }
  std::string Text(const std::string& path = kPath) {
    return harness_.files.FileText(path).value_or("(none)");
  }
  // What a plan says against itself.
  std::string Refusal() {
    std::string text;
    const Diagnostics diagnostics = harness_.TryPlan();
    for (const Diagnostic& diagnostic : diagnostics.items()) text += diagnostic.summary + "\n";
    return text;
  }
  Error OnlyFailure(const ExecuteResult& result) {
    EXPECT_EQ(result.failures.size(), 1U);
    return result.failures.empty() ? Error{} : result.failures.front().error;
  }
  bool IsRemembered(const std::string& address) {
    return harness_.Stored().records.contains(Addr(address));
  }

  Harness harness_;
};

TEST_F(FileTest, IsWrittenWithWhatItRefersTo) {
  Files(Entry("hosts", "${pod.research.networkEndpoints[0].ipAddress} tpu\\n"),
        Harness::Pod("research"));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("create pod.research", "create file.hosts"));
  EXPECT_THAT(testing::Lines(ChangeOf(plan, "file.hosts").attributes),
              ElementsAre("content: (none) -> (unknown)", "mode: (none) -> 0644",
                          "path: (none) -> /project/hosts"));
  harness_.ApplyAll();
  const std::string address =
      harness_.Node("research")["networkEndpoints"].AsList().front()["ipAddress"].AsString();
  ASSERT_FALSE(address.empty());
  EXPECT_EQ(Text(), address + " tpu\n");
  EXPECT_EQ(harness_.files.FileMode(kPath), 0644U);
}

TEST_F(FileTest, FollowsWhatTheSameApplyChanges) {
  const auto spec = [&](const std::string& team) {
    Files(Entry("hosts", "${pod.a.labels.team}\\n"),
          Harness::Pod("a", "    labels: {team: " + team + "}\n"));
  };
  spec("red");
  harness_.ApplyAll();
  spec("blue");
  EXPECT_THAT(testing::Lines(ChangeOf(harness_.MakePlan(), "file.hosts").attributes),
              ElementsAre("content: red\n -> blue\n"));
  harness_.ApplyAll();
  EXPECT_EQ(Text(), "blue\n");
}

TEST_F(FileTest, MovesOverBeforeTheOldNodeGoes) {
  const auto spec = [&](const std::string& type) {
    Files(Entry("hosts", "${pod.a.networkEndpoints[0].ipAddress}\\n"),
          "  a: {acceleratorType: " + type +
              ", runtimeVersion: tpu-vm-tf-2.11.0-pod, lifecycle: {createBeforeDestroy: true}}\n");
  };
  spec("v3-32");
  harness_.ApplyAll();
  spec("v3-64");
  harness_.ApplyAll();
  EXPECT_LT(harness_.events.At("done file.hosts"), harness_.events.At("start pod.a (deposed a)"));
}

TEST_F(FileTest, IsRemovedBeforeWhatItTellsOf) {
  Files(Entry("hosts", "${pod.a.networkEndpoints[0].ipAddress}\n"), Harness::Pod("a"));
  harness_.ApplyAll();
  // Also where the spec is not there any more.
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_LT(harness_.events.At("done file.hosts"), harness_.events.At("start pod.a"));
}

TEST_F(FileTest, RemembersWhatItRefersToWhenItsTextStays) {
  const auto depends_on = [&] {
    return RecordsOf<FileRecord>(harness_.Stored()).at(Addr("file.hosts")).depends_on;
  };
  const std::string pod = Harness::Pod("a", "    labels: {team: red}\n");
  Files(Entry("hosts", "red"), pod);  // or by a podctl that did not remember it
  harness_.ApplyAll();
  EXPECT_THAT(depends_on(), IsEmpty());
  Files(Entry("hosts", "${pod.a.labels.team}"), pod);
  EXPECT_TRUE(harness_.MakePlan().Empty());
  harness_.ApplyAll();
  EXPECT_THAT(depends_on(), ElementsAre("pod.a"));
  Files(Entry("hosts", "red"), pod);
  harness_.ApplyAll();
  EXPECT_THAT(depends_on(), IsEmpty());
}

TEST_F(FileTest, AReferenceThatLeadsNowhereIsToldBeforeAnythingIsDone) {
  Files(Entry("hosts", "x\\n"), Harness::Pod("a"));
  harness_.ApplyAll();
  Files(Entry("hosts", "${pod.a.networkEndpoints[9].ipAddress}\\n"), Harness::Pod("a"));
  EXPECT_THAT(Refusal(), HasSubstr("file.hosts refers to `${pod.a.networkEndpoints[9].ipAddress}`, "
                                   "which is not there"));
}

TEST_F(FileTest, InAnotherCheckoutItIsWrittenThere) {
  Hosts("one\\n");
  harness_.ApplyAll();
  State state = harness_.Stored();
  FileRecord& record = EditableRecordsOf<FileRecord>(state)[Addr("file.hosts")];
  record.current.locator = "/elsewhere/hosts";
  harness_.files.SetFile("/project/podctl.state.json", StateToJson(state));
  EXPECT_TRUE(harness_.MakePlan().Empty());
  EXPECT_THAT(harness_.MakePlan().drift, IsEmpty());
  ASSERT_TRUE(harness_.files.Remove(kPath));
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("create file.hosts"));
  EXPECT_THAT(harness_.MakePlan().drift, IsEmpty());
  harness_.files.SetFile("/elsewhere/hosts", "theirs\n");
  harness_.ApplyAll();
  EXPECT_EQ(Text(), "one\n");
  EXPECT_EQ(Text("/elsewhere/hosts"), "theirs\n");
  EXPECT_EQ(RecordsOf<FileRecord>(harness_.Stored()).at(Addr("file.hosts")).current.locator, kPath);
}

TEST_F(FileTest, RefersToATrainingJobAsSoonAsThatHasAnId) {
  const std::string content = "${trainingJob.mnist.id} ${trainingJob.mnist.region}\\n";
  harness_.SpecText("project: p\ntrainingJobs:\n  mnist: {tpuSpec: 8xV3, image: i}\nfiles:\n" +
                    Entry("job", content, "job"));
  EXPECT_THAT(testing::Lines(ChangeOf(harness_.MakePlan(), "file.job").attributes),
              ::testing::Contains("content: (none) -> (unknown)"));
  harness_.ApplyAll();
  EXPECT_EQ(Text("/project/job"), "projects/p/locations/us-central1/customJobs/101 us-central1\n");
  EXPECT_LT(harness_.events.At("done trainingJob.mnist"), harness_.events.At("start file.job"));
}

TEST_F(FileTest, ChangedByHandIsDriftAndIsPutBack) {
  Hosts("one\\n");
  harness_.ApplyAll();
  harness_.files.SetFile(kPath, "other\n", 0644);
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("update file.hosts"));
  ASSERT_THAT(plan.drift, SizeIs(1));
  EXPECT_EQ(plan.drift.front().sentence, "has another content than podctl wrote");
  EXPECT_THAT(testing::Lines(ChangeOf(plan, "file.hosts").attributes),
              ElementsAre("content: other\n -> one\n"));
  harness_.ApplyAll();
  EXPECT_EQ(Text(), "one\n");

  harness_.files.SetFile(kPath, "one\n", 0600);
  EXPECT_THAT(testing::Lines(ChangeOf(harness_.MakePlan(), "file.hosts").attributes),
              ElementsAre("mode: 0600 -> 0644"));
  harness_.ApplyAll();
  EXPECT_EQ(harness_.files.FileMode(kPath), 0644U);
}

TEST_F(FileTest, RemovedByHandIsWrittenAgain) {
  Hosts("one\\n");
  harness_.ApplyAll();
  ASSERT_TRUE(harness_.files.Remove(kPath));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("create file.hosts"));
  ASSERT_THAT(plan.drift, SizeIs(1));
  EXPECT_EQ(plan.drift.front().sentence, "is gone");
  harness_.ApplyAll();
  EXPECT_EQ(Text(), "one\n");
}

TEST_F(FileTest, SomebodyElsesFileIsLeftAlone) {
  harness_.files.SetFile(kPath, "mine\n");
  Hosts("one\\n");
  EXPECT_THAT(Refusal(), HasSubstr("/project/hosts is there already, and podctl did not write it"));
  harness_.files.SetFile(kPath, "one\n", 0644);  // what was to be written is nobody's loss
  harness_.ApplyAll();
  // Made between the plan and its apply.
  Files(Entry("hosts", "one\\n") + Entry("other", "two\\n", "other"));
  harness_.events.on_line = [&](const std::string& line) {
    if (line == "start file.other") harness_.files.SetFile("/project/other", "mine\n");
  };
  EXPECT_THAT(OnlyFailure(harness_.Apply()).message, HasSubstr("podctl did not write it"));
  EXPECT_EQ(Text("/project/other"), "mine\n");
  EXPECT_FALSE(IsRemembered("file.other"));
}

TEST_F(FileTest, AnEditBetweenPlanAndApplyIsNotWrittenOver) {
  Hosts("one\\n");
  harness_.ApplyAll();
  Hosts("two\\n");
  harness_.events.on_line = [&](const std::string& line) {
    if (line == "start file.hosts") harness_.files.SetFile(kPath, "mine\n", 0644);
  };
  EXPECT_THAT(OnlyFailure(harness_.Apply()).message,
              HasSubstr("was changed after the plan was made"));
  harness_.events.on_line = nullptr;
  EXPECT_EQ(Text(), "mine\n");
  harness_.ApplyAll();
  EXPECT_EQ(Text(), "two\n");
}

TEST_F(FileTest, NothingIsWrittenThroughALink) {
  harness_.files.SetFile("/home/alice/.bashrc", "mine\n");
  harness_.files.SetLink(kPath, "/home/alice/.bashrc");
  Hosts("one\\n");
  EXPECT_THAT(Refusal(), HasSubstr("/project/hosts is no file"));
  ASSERT_TRUE(harness_.files.Remove(kPath));

  harness_.files.SetLink("/project/out", "/home/alice");
  Files(Entry("hosts", "one\\n", "out/hosts"));
  EXPECT_THAT(Refusal(), HasSubstr("/project/out/hosts is no file"));
  ASSERT_TRUE(harness_.files.Remove("/project/out"));
  harness_.events.on_line = [&](const std::string& line) {
    if (line == "start file.hosts") harness_.files.SetLink("/project/out", "/home/alice");
  };
  EXPECT_THAT(OnlyFailure(harness_.Apply()).message, HasSubstr("/project/out is a symbolic link"));
  harness_.events.on_line = nullptr;
  EXPECT_EQ(Text("/home/alice/hosts"), "(none)");
  EXPECT_EQ(Text("/home/alice/.bashrc"), "mine\n");
  // The way of an absolute path is the user's own.
  Files(Entry("hosts", "one\\n", "/project/out/hosts"));
  EXPECT_TRUE(harness_.Apply().ok());
}

// Somebody exchanges a folder on the way for a link, again and again.
TEST(FileRaceTest, NoMomentIsShortEnough) {
  const std::string base = ::testing::TempDir() + "file_race_" + std::to_string(::getpid());
  std::filesystem::create_directories(base + "/out");
  std::filesystem::create_directories(base + "/theirs");
  std::ofstream(base + "/theirs/hosts") << "theirs";
  std::filesystem::create_directory_symlink("theirs", base + "/link");
  std::atomic<bool> over = false;
  std::thread swapper([&] {
    while (!over) {
      ::renameat2(AT_FDCWD, (base + "/out").c_str(), AT_FDCWD, (base + "/link").c_str(),
                  RENAME_EXCHANGE);
    }
  });
  RealFileSystem files;
  constexpr int kRounds = 2000;
  for (int i = 0; i < kRounds; ++i) {
    FileOnDisk file{.path = base + "/out/hosts",
                    .folder = base,
                    .content = "ours",
                    .mode = 0644,
                    .replaces = DigestOf("ours", false, {}),
                    .digest_key = "key",
                    .nonce = std::to_string(i)};
    static_cast<void>(WriteFile(files, file).has_value());
    const auto seen = LookAtFile(files, file.path, file.folder);
    if (seen) {
      EXPECT_NE((*seen)["content"], Value("theirs"));
    }
    file.replaces = DigestOf("theirs", false, {});
    static_cast<void>(RemoveFile(files, file).has_value());
  }
  over = true;
  swapper.join();
  std::ifstream theirs(base + "/theirs/hosts");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(theirs), {}), "theirs");
  std::filesystem::remove_all(base);
}

// A line of its own in a known_hosts or an ssh_config.
TEST_F(FileTest, WhatOthersWroteBeginsNoLineOfItsOwn) {
  const auto pod = [](const std::string& description) {
    return Harness::Pod("a", "    description: \"" + description + "\"\n");
  };
  const std::string entry = Entry("hosts", "# ${pod.a.description}\\n");
  Files(entry, pod("x\\n ProxyCommand y"));
  EXPECT_EQ(OnlyFailure(harness_.Apply()).message,
            "it refers to `${pod.a.description}`, which holds the control character \\x0a (at byte "
            "1)");
  for (const std::string odd : {"\\e[31m", "a\\tb", "\\u202e", "\\u0085"}) {
    Files(entry, pod(odd));
    EXPECT_THAT(Refusal(), HasSubstr("file.hosts refers to `${pod.a.description}`, which holds the "
                                     "control character \\"))
        << odd;
  }
  EXPECT_EQ(Text(), "(none)");
  Files(entry, pod("plain – text"));
  harness_.ApplyAll();
  EXPECT_EQ(Text(), "# plain – text\n");
  // Nor does what the service calls an address.
  Files(Entry("hosts", "${pod.a.networkEndpoints[1].accessConfig.externalIp}"),
        pod("plain – text"));
  harness_.Edit("a", [](Value& node) {
    Value::List endpoints = node["networkEndpoints"].AsList();
    endpoints[1].SetPath("accessConfig.externalIp", "-oProxyCommand=x");
    node.Set("networkEndpoints", Value(std::move(endpoints)));
  });
  EXPECT_THAT(Refusal(), HasSubstr("which is no IP address: -oProxyCommand=x"));
}

TEST_F(FileTest, GoesWithItsEntryUnlessSomethingElseIsThere) {
  Hosts("one\\n");
  harness_.ApplyAll();
  Files("  other: {path: other, content: x}\n");
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("create file.other", "delete file.hosts"));
  harness_.ApplyAll();
  EXPECT_EQ(Text(), "(none)");
  EXPECT_FALSE(IsRemembered("file.hosts"));

  ASSERT_TRUE(harness_.files.Remove("/project/other"));
  harness_.files.SetFile("/home/alice/x", "mine\n");
  harness_.files.SetLink("/project/other", "/home/alice/x");
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_EQ(Text("/home/alice/x"), "mine\n");
  EXPECT_THAT(harness_.Stored().records, IsEmpty());
}

// Who may write to the repository leads a folder away, to where somebody else's file lies.
TEST_F(FileTest, NothingIsReadOrRemovedThroughALink) {
  Files(Entry("hosts", "one\\n", "out/hosts"));
  harness_.ApplyAll();
  ASSERT_TRUE(harness_.files.Remove("/project/out/hosts"));
  harness_.files.SetFile("/home/alice/hosts", "one\n", 0644);
  harness_.files.SetLink("/project/out", "/home/alice");
  Files("  other: {path: other, content: x}\n");
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_EQ(Text("/home/alice/hosts"), "one\n");
  EXPECT_FALSE(IsRemembered("file.hosts"));
}

TEST_F(FileTest, WhatWasEditedByHandStaysWhenItsEntryGoes) {
  Files(Entry("a", "one\\n", "a") + Entry("b", "one\\n", "b"));
  harness_.ApplyAll();
  harness_.files.SetFile("/project/a", "mine\n", 0644);
  harness_.files.SetFile("/project/b", "mine\n", 0644);
  Files(Entry("b", "two\\n", "c"));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(plan.drift, SizeIs(2));
  EXPECT_EQ(WordsOf(ChangeOf(plan, "file.a")).headline,
            "is not as podctl wrote it: it stays, and will be forgotten");
  EXPECT_EQ(WordsOf(ChangeOf(plan, "file.a")).done, "Forgotten") << "it is not destroyed";
  harness_.ApplyAll();
  EXPECT_EQ(Text("/project/a"), "mine\n");
  EXPECT_EQ(Text("/project/b"), "mine\n");
  EXPECT_EQ(Text("/project/c"), "two\n");
}

// A state that was tampered with names a file that podctl never wrote.
TEST_F(FileTest, OnlyWhatHasItsDigestIsRemoved) {
  Hosts("one\\n");
  harness_.ApplyAll();
  harness_.files.SetFile("/etc/hosts", "root\n");
  State state = harness_.Stored();
  EditableRecordsOf<FileRecord>(state)[Addr("file.hosts")].current.locator = "/etc/hosts";
  harness_.files.SetFile("/project/podctl.state.json", StateToJson(state));
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_EQ(Text("/etc/hosts"), "root\n");
}

TEST_F(FileTest, AFileThatCannotBeReadConcernsNoOther) {
  Files(Entry("a", "one\\n", "a") + Entry("b", "one\\n", "b"));
  harness_.ApplyAll();
  harness_.files.SetFile("/project/a", std::string(17 << 20, 'x'));
  Files(Entry("a", "one\\n", "a") + Entry("b", "two\\n", "b"));
  EXPECT_THAT(Refusal(), HasSubstr("/project/a cannot be read"));
  harness_.plan_options.targets = {"file.b"};
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_EQ(Text("/project/b"), "two\n");
  harness_.plan_options.targets = {};
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_THAT(Text("/project/a"), SizeIs(17 << 20));
}

// One goes from a path to which another comes, in whichever order they begin.
TEST_F(FileTest, PathsAreTakenOverSwappedAndRotated) {
  const std::vector<std::string> specs = {
      Entry("a", "A\\n", "1") + Entry("b", "B\\n", "2"),
      Entry("a", "A\\n", "2") + Entry("b", "B\\n", "1"),
      Entry("a", "A\\n", "3") + Entry("c", "C\\n", "2"),
      Entry("c", "C2\\n", "3") + Entry("a", "A\\n", "1"),
      Entry("b", "B\\n", "3") + Entry("c", "B\\n", "1") + Entry("a", "A\\n", "2"),
  };
  const std::vector<std::map<std::string, std::string>> expected = {
      {{"1", "A\n"}, {"2", "B\n"}},
      {{"1", "B\n"}, {"2", "A\n"}},
      {{"2", "C\n"}, {"3", "A\n"}},
      {{"1", "A\n"}, {"3", "C2\n"}},
      {{"1", "B\n"}, {"2", "A\n"}, {"3", "B\n"}},
  };
  for (int parallelism : {0, 1, 10}) {
    Harness harness;
    harness.options.parallelism = parallelism;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      SCOPED_TRACE(::testing::Message() << "parallelism " << parallelism << ", spec " << i);
      harness.SpecText("project: p\npods: {}\nfiles:\n" + specs[i]);
      harness.ApplyAll();
      for (const std::string path : {"1", "2", "3"}) {
        const auto want = expected[i].find(path);
        EXPECT_EQ(harness.files.FileText("/project/" + path).value_or("(none)"),
                  want == expected[i].end() ? "(none)" : want->second)
            << path;
      }
    }
  }
}

TEST_F(FileTest, AnotherNameForTheSameFileKeepsIt) {
  Hosts("one\\n");
  harness_.ApplyAll();
  Files(Entry("renamed", "two\\n"));
  harness_.ApplyAll();
  EXPECT_EQ(Text(), "two\n");
  EXPECT_FALSE(IsRemembered("file.hosts"));
  EXPECT_TRUE(IsRemembered("file.renamed"));
}

TEST_F(FileTest, AnotherPathTakesTheOldFileAway) {
  Hosts("one\\n");
  harness_.ApplyAll();
  Files(Entry("hosts", "one\\n", "sub/hosts"));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("replace file.hosts"));
  EXPECT_THAT(testing::Lines(ChangeOf(plan, "file.hosts").attributes),
              ElementsAre("content: (none) -> one\n", "mode: (none) -> 0644",
                          "path: /project/hosts -> /project/sub/hosts"));
  harness_.ApplyAll();
  EXPECT_EQ(Text(), "(none)");
  EXPECT_EQ(Text("/project/sub/hosts"), "one\n");
}

TEST_F(FileTest, WhatIsSensitiveIsForTheOwnerAndInNoState) {
  Files("  auth: {path: auth, content: \"t=${var.token}\"}\n");
  const Plan plan = harness_.MakePlan();
  EXPECT_TRUE(ChangeOf(plan, "file.auth").attributes.front().sensitive);
  harness_.ApplyAll();
  EXPECT_EQ(Text("/project/auth"), "t=s3cret");
  EXPECT_EQ(harness_.files.FileMode("/project/auth"), 0600U);
  EXPECT_THAT(StateToJson(harness_.Stored()), Not(HasSubstr("s3cret")));
  harness_.files.SetFile("/project/auth", "t=guess", 0600);
  const Plan again = harness_.MakePlan();
  EXPECT_THAT(again.drift, SizeIs(1));
  EXPECT_TRUE(ChangeOf(again, "file.auth").attributes.front().sensitive);
}

TEST_F(FileTest, AFullDiskLeavesWhatWasThere) {
  Hosts("one\\n");
  harness_.ApplyAll();
  Hosts(std::string(100'000, 'x'));
  harness_.files.LimitSpace(50'000);
  EXPECT_EQ(harness_.Apply().failures.size(), 1U);
  EXPECT_EQ(Text(), "one\n");
  harness_.files.LimitSpace(std::nullopt);
  harness_.ApplyAll();
  EXPECT_THAT(Text(), SizeIs(100'000));
  for (const std::string& path : harness_.files.AllFiles()) {
    EXPECT_THAT(path, Not(HasSubstr("podctl-tmp")));
  }
}

// A known_hosts file of plain ssh is written of what podctl itself checks the workers by.
TEST_F(FileTest, TellsTheHostKeysOfAPodsWorkers) {
  Files(Entry("hosts", "worker-1 ${pod.research.sshHostKeys[1]}\\n"), Harness::Pod("research"));
  EXPECT_THAT(testing::Lines(ChangeOf(harness_.MakePlan(), "file.hosts").attributes).front(),
              "content: (none) -> (unknown)");
  harness_.ApplyAll();
  const std::string key =
      Pods(harness_.Stored()).Get(Addr("pod.research"))->host_keys.at(1).front();
  EXPECT_THAT(key, HasSubstr("ssh-ed25519 "));
  EXPECT_EQ(Text(), "worker-1 " + key + "\n");
  EXPECT_TRUE(harness_.MakePlan().Empty());
  // A patch of the pod leaves them as they are.
  Files(Entry("hosts", "worker-1 ${pod.research.sshHostKeys[1]}\\n"),
        Harness::Pod("research", "    labels: {team: a}\n"));
  harness_.ApplyAll();
  EXPECT_EQ(Text(), "worker-1 " + key + "\n");
}

TEST_F(FileTest, AHostKeyThatNobodyKnowsIsNotMadeUp) {
  Files(" {}\n", Harness::Pod("research"));
  harness_.ApplyAll();
  Files(Entry("hosts", "${pod.research.sshHostKeys[17]}"), Harness::Pod("research"));
  EXPECT_EQ(Refusal(),
            "file.hosts refers to `${pod.research.sshHostKeys[17]}`, which is not there\n");
}

// Nobody can tell whose a file of a name is that anybody could have chosen.
TEST_F(FileTest, AUsersFileIsNotTakenForALeftover) {
  const std::string mine = "/project/.hosts.podctl-tmp";
  const std::string guess = mine + "-0123456789abcdef0123456789abcdef";
  for (const std::string& path : {mine, guess}) harness_.files.SetFile(path, "mine");
  Hosts("one\\n");
  harness_.ApplyAll();
  Hosts("two\\n");
  harness_.ApplyAll();
  Files(" {}\n");
  harness_.ApplyAll();
  EXPECT_EQ(Text(), "(none)");
  for (const std::string& path : {mine, guess}) EXPECT_EQ(Text(path), "mine") << path;
}

// Another state does not know the name; of its own a killed run's is taken away.
TEST_F(FileTest, ALeftoverIsKnownByTheStatesKey) {
  Hosts("one\\n");
  harness_.ApplyAll();
  const std::string key = harness_.Stored().digest_key;
  const std::string nonce = "11111111-1111-4111-8111-111111111111";
  const std::string own = TemporaryOf(kPath, key, nonce);
  const std::string of_older = TemporaryOf(kPath, key, "");
  const std::string other = TemporaryOf(kPath, "another key", nonce);
  EXPECT_NE(own, other);
  for (const std::string& path : {own, of_older, other}) harness_.files.SetFile(path, "half");
  Hosts("two\\n");
  harness_.ApplyAll();
  EXPECT_EQ(Text(own), "(none)");
  EXPECT_EQ(Text(of_older), "(none)");
  EXPECT_EQ(Text(other), "half");
}

// In a shared folder others see the name while a write lasts, and could make a folder of it.
TEST_F(FileTest, NoNameOfATemporaryFileIsUsedTwice) {
  Hosts("one\\n");
  harness_.ApplyAll();
  std::string name;
  for (int call = 1; name.empty() && call < 100; ++call) {
    Hosts("one " + std::to_string(call) + "\\n");
    harness_.files.Interleave(call, [&] {
      for (const std::string& path : harness_.files.AllFiles()) {
        if (path.find(".hosts.podctl-tmp-") != std::string::npos) name = path;
      }
    });
    EXPECT_TRUE(harness_.Apply().ok());
  }
  ASSERT_NE(name, "");
  harness_.files.SetFolder(name);
  Hosts("two\\n");
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_EQ(Text(), "two\n");
}

// A kill -9 at any step of a write, a change, a removal.
TEST_F(FileTest, AKillAtAnyStepLosesNothing) {
  for (int stage = 0; stage < 5; ++stage) {
    for (int steps = 0; steps < 80; ++steps) {
      SCOPED_TRACE(::testing::Message() << "stage " << stage << ", killed after " << steps);
      Harness harness;
      const auto spec = [&](const std::string& files) {
        harness.SpecText("project: p\nzone: europe-west4-a\npods: {}\nfiles:" + files);
      };
      const std::string one = "\n" + Entry("hosts", "one\\n");
      spec(one);
      if (stage > 0) harness.ApplyAll();
      if (stage == 1) spec("\n" + Entry("hosts", "two\\n"));
      if (stage == 2) spec(" {}\n");
      if (stage == 3) spec("\n" + Entry("hosts", "two\\n", "moved"));
      if (stage == 4) spec("\n" + Entry("renamed", "two\\n"));
      harness.files.StopAfter(steps);
      harness.TryApply();
      const bool stopped = harness.files.Stopped();
      harness.files.Restart();
      EXPECT_THAT(harness.MakePlan().drift, IsEmpty()) << "what podctl did itself is no drift";
      harness.ApplyAll();
      EXPECT_EQ(harness.files.FileText(kPath).value_or("(none)"), stage == 0 ? "one\n"
                                                                  : stage == 1 || stage == 4
                                                                      ? "two\n"
                                                                      : "(none)");
      EXPECT_EQ(harness.files.FileText("/project/moved").value_or("(none)"),
                stage == 3 ? "two\n" : "(none)");
      EXPECT_EQ(harness.Stored().records.size(), stage == 2 ? 0U : 1U);
      for (const std::string& path : harness.files.AllFiles()) {
        EXPECT_THAT(path, Not(HasSubstr("podctl-tmp"))) << "as no other program shall read";
      }
      if (!stopped) break;
    }
  }
}

TEST_F(FileTest, RefreshOnlyTakesItAsItIs) {
  Files(Entry("hosts", "one\\n") + Entry("gone", "x", "gone"));
  harness_.ApplyAll();
  harness_.files.SetFile(kPath, "other\n", 0644);
  ASSERT_TRUE(harness_.files.Remove("/project/gone"));
  harness_.plan_options.mode = PlanMode::kRefreshOnly;
  harness_.plan_options.targets = {"file.gone"};
  EXPECT_THAT(harness_.MakePlan().drift, SizeIs(1));
  harness_.plan_options.targets.clear();
  EXPECT_THAT(harness_.MakePlan().drift, SizeIs(2));
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_THAT(harness_.MakePlan().drift, IsEmpty());
  EXPECT_EQ(Text(), "other\n");
  EXPECT_FALSE(IsRemembered("file.gone"));
}

// ---- What a state says of one: podctl looks there, and removes what it finds as it was written.

std::string WhyRefused(const std::function<void(FileRecord&)>& edit) {
  FileRecord record;
  record.path = "out/hosts";
  record.current = {"/project/out/hosts", "", Present{}};
  record.digest = DigestOf("x", false, "");
  record.mode = 0644;
  edit(record);
  State state;
  state.lineage = "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa";
  state.records.emplace(Addr("file.hosts"), record);
  const auto read = StateFromJson(StateToJson(state), "x", testing::AllKinds().remembered);
  return read ? "" : read.error().message;
}

TEST(FileRecordTest, ItsPlaceIsOneThatASpecCanHave) {
  const auto at = [](const std::string& path, const std::string& locator) {
    return WhyRefused([&](FileRecord& record) {
      record.path = path;
      record.current.locator = locator;
    });
  };
  EXPECT_EQ(at("out/hosts", "/project/out/hosts"), "");
  EXPECT_EQ(at("./out//hosts", "/project/out/hosts"), "");
  EXPECT_EQ(at("/etc/../srv/hosts", "/srv/hosts"), "");
  const std::string head = "file.hosts.payload has a ";
  for (const auto& [path, locator] : std::vector<std::pair<std::string, std::string>>{
           {"hosts", "/etc/passwd"},
           {"hosts", "/project/nohosts"},
           {"/project/hosts", "/project/other"},
           {"project/out/hosts/x", "/project/out/hosts"}}) {
    EXPECT_THAT(at(path, locator),
                HasSubstr(head + "`locator` and a `path` that are not of one place"))
        << path;
  }
  for (const std::string locator :
       {"", "/", "hosts", "/project/../etc/hosts", "/project//hosts", "/project/hosts/"}) {
    EXPECT_THAT(at("hosts", locator), HasSubstr(head + "`locator` that is no path from the root"))
        << locator;
  }
  EXPECT_THAT(at("../hosts", "/hosts"), HasSubstr("leads out of its folder"));
  for (const std::string path : {"", "hosts/", "hosts/."}) {
    EXPECT_THAT(at(path, "/project/hosts"), HasSubstr("at which no file of a spec can be")) << path;
  }
  EXPECT_THAT(at("podctl.state.json", "/project/podctl.state.json"),
              HasSubstr("at which no file of a spec can be"));
}

TEST(FileRecordTest, ItsDigestsAreDigests) {
  const std::string keyed = DigestOf("x", true, "key");
  EXPECT_EQ(WhyRefused([&](FileRecord& record) { record.digest = keyed; }), "");
  for (const std::string& digest :
       std::vector<std::string>{"", "sha256:", "sha256:00ff", keyed + "0",
                                "md5:" + std::string(64, '0'), "sha256:" + std::string(64, 'F')}) {
    EXPECT_THAT(WhyRefused([&](FileRecord& record) { record.digest = digest; }),
                HasSubstr("file.hosts.payload has a `digest` that is none"));
    if (digest.empty()) continue;
    EXPECT_THAT(WhyRefused([&](FileRecord& record) { record.old_digest = digest; }),
                HasSubstr("file.hosts.payload has an `old_digest` that is none"));
  }
}

TEST(FileRecordTest, ItIsOneFile) {
  EXPECT_THAT(WhyRefused([](FileRecord& record) {
                record.deposed.push_back({"/etc/passwd", "", Present{}});
              }),
              HasSubstr("has other objects than its one file"));
}

}  // namespace
}  // namespace podctl

// What is wrong with an entry of `files` is told at its place, with what to write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cmd/views/snippet.h"
#include "plans/kinds/file/record.h"
#include "plans/kinds/file/spec.h"
#include "plans/kinds/kinds.h"
#include "plans/spec/loader.h"
#include "providers/os/environment.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FileReaderTest : public ::testing::Test {
 protected:
  FileSpec Load(const std::string& entry) {
    files_.SetFile("team/podctl.yaml",
                   "variables:\n  token: {sensitive: true, default: s}\nfiles:\n" + entry);
    LoadOptions options;
    options.kinds = kinds_.known();
    options.paths = {"team/podctl.yaml"};
    Diagnostics diagnostics;
    const Spec spec = LoadSpec(options, files_, FixedEnvironment({}), diagnostics);
    report_ = FormatDiagnostics(diagnostics, {});
    for (const Declared& declared : spec.declared) {
      if (const auto* file = declared.wanted.As<FileSpec>()) return *file;
    }
    return {};
  }

  testing::FakeFileSystem files_;
  BuiltInKinds kinds_{{files_}};
  std::string report_;
};

TEST_F(FileReaderTest, APathStartsAtTheSpec) {
  const FileSpec file = Load("  a: {path: ./out/a, content: x}\n");
  EXPECT_THAT(report_, IsEmpty());
  EXPECT_EQ(file.path, "team/out/a");
  EXPECT_EQ(file.folder, "team");
  EXPECT_EQ(file.mode, 0644U);
  EXPECT_EQ(Load("  a: {path: /etc/a, content: x, mode: 0640}\n").folder, "");
  EXPECT_EQ(Load("  a: {path: a, content: x, mode: \"600\"}\n").mode, 0600U);
  EXPECT_EQ(Load("  a: {path: a, content: \"${var.token}\"}\n").mode, 0600U);
}

TEST_F(FileReaderTest, WhatIsWrongIsToldWhereItStands) {
  const auto report = [&](const std::string& entry) {
    Load(entry);
    return report_;
  };
  EXPECT_THAT(report("  a: {path: ../a, content: x}\n"),
              AllOf(HasSubstr("`../a` leads out of the spec's folder"),
                    HasSubstr("write an absolute path"), HasSubstr("podctl.yaml:4:13")));
  EXPECT_THAT(report("  a: {path: x/../../a, content: x}\n"), HasSubstr("leads out of"));
  EXPECT_THAT(report("  a: {path: out/, content: x}\n"), HasSubstr("`out/` names no file"));
  EXPECT_THAT(report("  a: {path: .git/hooks/pre-commit, content: x}\n"),
              HasSubstr("`.git/hooks/pre-commit` is below a folder `.git`"));
  EXPECT_THAT(report("  a: {path: /home/me/x/.podctl/a, content: x}\n"), HasSubstr("`.podctl`"));
  EXPECT_THAT(report("  a: {content: x}\n"), HasSubstr("the file has no `path`"));
  EXPECT_THAT(report("  a: {path: a}\n"), HasSubstr("the file has no `content`"));
  EXPECT_THAT(report("  a: {path: a, content: x, mod: 0600}\n"), HasSubstr("`mode`"));
  EXPECT_THAT(report("  a: {path: a, content: x, mode: rw}\n"), HasSubstr("no mode of a file"));
  EXPECT_THAT(report("  a: {path: a, content: x, mode: 1777}\n"), HasSubstr("no mode of a file"));
  EXPECT_THAT(report("  a: {path: a, content: \"${var.token}\", mode: 0644}\n"),
              HasSubstr("others could read it"));
  EXPECT_THAT(report("  a: {path: a, content: x}\n  b: {path: ./a, content: y}\n"),
              HasSubstr("file.a and file.b have the same path, team/a"));
  EXPECT_THAT(report("  a: {path: a, content: \"${pod.b.state}\"}\n"),
              HasSubstr("there is no pod `b`"));
  EXPECT_THAT(report("  a: {path: a, content: \"${trainingJob.b.id}\"}\n"),
              HasSubstr("there is no training job `b`"));
  EXPECT_THAT(report("  a: {path: a, content: \"${trainingJob.b.image}\"}\ntrainingJobs:\n"
                     "  b: {image: i, project: p}\n"),
              AllOf(HasSubstr("a training job has no `image` to refer to"), HasSubstr("`region`")));
  EXPECT_THAT(
      report("  a: {path: a, content: \"${trainingJobs.b.id}\"}\n"),
      AllOf(HasSubstr("unknown expression"), HasSubstr("did you mean `${trainingJob.b.id}`")));
  EXPECT_THAT(report("  a: {path: \"${trainingJob.b.id}\", content: x}\n"),
              HasSubstr("`path` cannot refer to a `trainingJob`"));
  EXPECT_THAT(report("  a: {path: a, content: x}\n  a: {path: b, content: y}\n"),
              HasSubstr("twice"));
}

// Else a line of progress could be two, and a terminal could be driven by it.
TEST_F(FileReaderTest, APathHasNoControlCharacters) {
  for (const char* path : {"a\\nb", "a\\x1b[2J", "a\\tb", "a\\u0085"}) {
    Load(std::string("  a: {path: \"") + path + "\", content: x}\n");
    EXPECT_THAT(report_,
                AllOf(HasSubstr("a control character in the name of a file"),
                      HasSubstr("podctl.yaml:4:13"), HasSubstr("write the path without it")))
        << path;
  }
}

// Each would be written over by the other.
TEST_F(FileReaderTest, TwoWaysToOneFileAreAnError) {
  files_.SetFolder("/srv/real/deep");
  files_.SetLink("/srv/link", "/srv/real");
  files_.SetLink("/srv/more", "/srv/link/deep");
  const auto report = [&](const std::string& one, const std::string& other) {
    Load("  a: {path: " + one + ", content: x}\n  b: {path: " + other + ", content: y}\n");
    return report_;
  };
  EXPECT_THAT(report("/srv/real/x", "/srv/link/x"),
              AllOf(HasSubstr("file.a and file.b are the same file, /srv/real/x"),
                    HasSubstr("A folder on the way is a symbolic link."),
                    HasSubstr("podctl.yaml:5:3"), HasSubstr("give one of them another `path`")));
  EXPECT_THAT(report("/srv/more/x", "/srv/link/deep/x"), HasSubstr("are the same file"));
  EXPECT_THAT(report("/srv/link/deep", "/srv/more/x"), HasSubstr("is a folder of file.b"));
  EXPECT_THAT(report("/srv/real/x", "/srv/link/y"), IsEmpty());
  EXPECT_THAT(report("/srv/nowhere/x", "/srv/link/x"), IsEmpty());
}

// A saved plan travels where others can write.
TEST(FilePayloadTest, OneThatWasAlteredIsRefused) {
  const Kind& kind = *FindKind(testing::AllKinds().all, "file");
  const FileSpec spec{"a", "out/a", ".", "out/a", "x", false, 0644};
  const auto problem = [&](const std::vector<std::pair<std::string, std::string>>& altered) {
    Value payload = kind.WritePayload(Payload(spec, &kind));
    for (const auto& [member, value] : altered) payload.Set(member, value);
    std::string why;
    Change change;
    change.address = FileAddress("a");
    change.verb = Verb::kCreate;
    change.payload = kind.ReadPayload(payload, "p", &why);
    return why.empty() ? kind.WhatCannotBe(change) : why;
  };
  EXPECT_EQ(problem({}), "");
  EXPECT_EQ(problem({{"folder", ""}}), "p.path and .folder do not agree");
  EXPECT_EQ(problem({{"folder", "out"}}), "p.path and .folder do not agree");
  EXPECT_EQ(problem({{"path", "/etc/a"}}), "p.path and .folder do not agree");
  EXPECT_EQ(problem({{"path", "../a"}, {"written", "../a"}}), "p.path and .folder do not agree");
  EXPECT_EQ(problem({{"path", "out/a\nb"}, {"written", "out/a\nb"}}),
            "p.path is no path of a file");
  EXPECT_EQ(problem({{"replaces", "sha256:00"}}), "cannot be changed so");
  EXPECT_EQ(problem({{"name", "b"}}), "is no address of a change");
}

}  // namespace
}  // namespace podctl

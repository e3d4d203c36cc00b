// init and validate, through what they print and write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "cmd/commands/init.h"
#include "cmd/commands/validate.h"
#include "cmd/views/snippet.h"
#include "providers/base/json.h"
#include "templates/catalog.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/golden.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSchema = "{}\n";

class SpecCommandsTest : public ::testing::Test {
 protected:
  int Init(InitOptions options) {
    Clear();
    options.schema = kSchema;
    const auto done = RunInit(options, files_, streams_);
    if (!done) err_ << FormatDiagnostic(DiagnosticOf("", done.error()), {});
    return done ? 0 : 1;
  }
  int Validate(bool json = false) {
    Clear();
    streams_.json = json;
    return RunValidate(testing::WithKinds(), files_, FixedEnvironment({}), streams_);
  }
  void Clear() {
    out_.str("");
    err_.str("");
  }

  testing::FakeFileSystem files_;
  std::ostringstream out_;
  std::ostringstream err_;
  Streams streams_{out_, err_};
};

TEST_F(SpecCommandsTest, InitWritesASpecThatIsValid) {
  EXPECT_EQ(Init({}), 0);
  testing::ExpectGolden("cmd/init.txt", out_.str());
  EXPECT_EQ(Validate(), 0);
  EXPECT_EQ(err_.str(), "");
  EXPECT_EQ(out_.str(), "Success! The configuration is valid.\n1 pod in 1 file.\n");
}

TEST_F(SpecCommandsTest, InitTakesATemplateAndAFolder) {
  EXPECT_EQ(Init({.template_name = "colab", .folder = "work/here"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("podctl plan -f work/here/podctl.yaml\n"));
  EXPECT_THAT(files_.FileText("work/here/podctl.yaml").value_or(""), HasSubstr("8888"));
}

TEST_F(SpecCommandsTest, InitWritesTheProjectAndTheZoneThatWereSaid) {
  EXPECT_EQ(Init({.folder = "one", .project = "vision-42", .zone = "us-central2-b"}), 0);
  testing::ExpectGolden("cmd/init_place.txt",
                        out_.str() + files_.FileText("one/podctl.yaml").value_or(""));
  EXPECT_EQ(err_.str(), "");
  EXPECT_EQ(Init({.folder = "two", .zone = "us-central2-b"}), 0);
  EXPECT_THAT(out_.str(),
              HasSubstr("Next: set the spec's project, put another type in place of v3-8 ("));
  EXPECT_THAT(files_.FileText("two/podctl.yaml").value_or(""), HasSubstr("\nproject: my-project "));
  // Each template has a place for both, and is valid with them. A pipeline's key is its owner's.
  files_.SetFile(
      "pipeline.pub",
      "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGfBxTVr1hXMZmwHHlEg9Gt1a3cVDXG0ak0tQMTuuVAN\n");
  for (const Template& item : Templates()) {
    const std::string folder = "all/" + std::string(item.name);
    ASSERT_EQ(Init({.template_name = std::string(item.name),
                    .folder = folder,
                    .project = "vision-42",
                    .zone = "us-central2-b"}),
              0);
    const std::string text = files_.FileText(folder + "/podctl.yaml").value_or("");
    EXPECT_THAT(text, HasSubstr("\nproject: vision-42\n")) << item.name;
    EXPECT_THAT(text, HasSubstr("\nzone: us-central2-b\n")) << item.name;
    files_.SetFile("podctl.yaml", text);
    EXPECT_EQ(Validate(), 0) << item.name << err_.str();
  }
}

TEST_F(SpecCommandsTest, InitRefusesAPlaceThatIsNone) {
  EXPECT_EQ(Init({.zone = "us-centrall-a"}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("--zone: `us-centrall-a` is no zone"));
  EXPECT_THAT(err_.str(), HasSubstr("Did you mean `us-central1-a`?"));
  EXPECT_EQ(Init({.project = "Vision\nzone: x"}), 1);
  EXPECT_FALSE(files_.FileText("podctl.yaml"));
  EXPECT_EQ(Init({.zone = "mars-north1-a"}), 0) << "it may be new";
  EXPECT_THAT(err_.str(),
              HasSubstr("Warning: --zone: `mars-north1-a` is no zone that podctl knows"));
}

TEST_F(SpecCommandsTest, InitFromALineTakesThePlaceThatTheLineLacks) {
  const std::string line =
      "gcloud compute tpus tpu-vm create x --accelerator-type=v4-8 "
      "--version=tpu-ubuntu2204-base";
  EXPECT_EQ(Init({.folder = "a", .from_command = line, .project = "p1", .zone = "us-central2-b"}),
            0);
  EXPECT_THAT(files_.FileText("a/podctl.yaml").value_or(""),
              ::testing::AllOf(HasSubstr("project: p1\n"), HasSubstr("zone: us-central2-b\n")));
  EXPECT_EQ(Init({.folder = "b", .from_command = line + " --project=p2", .project = "p1"}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("the line says `project: p2`, and --project says `p1`"));
  EXPECT_FALSE(files_.FileText("b/podctl.yaml"));
}

TEST_F(SpecCommandsTest, InitNeverOverwrites) {
  files_.SetFile("podctl.yaml", "mine");
  EXPECT_EQ(Init({}), 1);
  EXPECT_EQ(files_.FileText("podctl.yaml"), "mine");
  EXPECT_EQ(out_.str(), "");
  testing::ExpectGolden("cmd/init_exists.txt", err_.str());
}

// Editors find the schema by the spec's first line, also where a line of another tool was given.
TEST_F(SpecCommandsTest, InitPutsTheSchemaBesideTheSpecThatNamesIt) {
  const std::string line =
      "gcloud compute tpus tpu-vm create x --accelerator-type=v4-8 "
      "--version=tpu-ubuntu2204-base --zone=us-central2-b";
  for (const InitOptions& options :
       {InitOptions{.folder = "made"}, InitOptions{.folder = "taken", .from_command = line}}) {
    EXPECT_EQ(Init(options), 0);
    EXPECT_TRUE(files_.FileText(options.folder + "/podctl.yaml")
                    .value_or("")
                    .starts_with("# yaml-language-server: $schema=podctl.schema.json\n"));
    EXPECT_EQ(files_.FileText(options.folder + "/podctl.schema.json"), kSchema);
    EXPECT_THAT(out_.str(), HasSubstr("Wrote " + options.folder + "/podctl.schema.json"));
  }
  // To standard output there is no file to name.
  EXPECT_EQ(Init({.folder = "-", .from_command = line}), 0);
  EXPECT_THAT(out_.str(), ::testing::Not(HasSubstr("schema")));
  EXPECT_FALSE(files_.FileText("podctl.schema.json"));
}

// Another spec of the folder may have brought it.
TEST_F(SpecCommandsTest, InitLeavesASchemaThatIsThereAsItIs) {
  files_.SetFile("podctl.schema.json", "mine");
  EXPECT_EQ(Init({}), 0);
  EXPECT_EQ(files_.FileText("podctl.schema.json"), "mine");
  EXPECT_THAT(out_.str(), ::testing::Not(HasSubstr("schema")));
  EXPECT_THAT(files_.FileText("podctl.yaml").value_or(""), HasSubstr("$schema=podctl.schema.json"));
}

TEST_F(SpecCommandsTest, ATemplateOfSeveralFilesIsWrittenWholeOrNotAtAll) {
  files_.SetFile("ours/pipeline.sh", "mine");
  EXPECT_EQ(Init({.template_name = "gitops", .folder = "ours"}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("`ours/pipeline.sh` is there already"));
  EXPECT_FALSE(files_.FileText("ours/podctl.yaml"));

  EXPECT_EQ(Init({.template_name = "gitops", .folder = "theirs"}), 0);
  testing::ExpectGolden("cmd/init_gitops.txt", out_.str());
  for (const char* file : {"podctl.yaml", "pipeline.sh", ".github/workflows/podctl.yml"}) {
    EXPECT_TRUE(files_.FileText(std::string("theirs/") + file)) << file;
  }
}

TEST_F(SpecCommandsTest, APipelineOfOneForgeIsWrittenWhole) {
  for (const Template& item : Pipelines()) {
    const std::string name(item.name);
    InitOptions options{.template_name = "gitops", .folder = name};
    options.forge = name;
    EXPECT_EQ(Init(options), 0);
    EXPECT_THAT(out_.str(), HasSubstr("from the template `gitops` for " + name + ".\n"));
    EXPECT_THAT(out_.str(), HasSubstr("do what " + name + "/pipeline.md says"));
    for (const TemplateFile& file : item.files) {
      EXPECT_EQ(files_.FileText(name + "/" + std::string(file.path)), std::string(file.text));
    }
  }
}

TEST_F(SpecCommandsTest, InitListsTemplates) {
  EXPECT_EQ(Init({.list = true}), 0);
  testing::ExpectGolden("cmd/init_list.txt", out_.str());
  EXPECT_TRUE(files_.AllFiles().empty());
  EXPECT_EQ(Init({.template_name = "colob"}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("Did you mean `colab`?"));
}

TEST_F(SpecCommandsTest, InitAnswersInJson) {
  streams_.json = true;
  EXPECT_EQ(Init({}), 0);
  EXPECT_EQ(out_.str(),
            R"({"format_version":"1.0","other_files":["podctl.schema.json"],"path":"podctl.yaml",)"
            R"("template":"minimal"})"
            "\n");
  EXPECT_EQ(Init({.list = true}), 0);
  EXPECT_EQ((*ParseJson(out_.str()))["templates"].AsList().size(), Templates().size());
}

constexpr const char* kBroken =
    "project: p\nzone: europe-west4-a\npods:\n  a:\n    acceleratorType: v3-33\n"
    "    runtimeVersion: x\n    lables: {x: y}\n    lables: {}\n";

TEST_F(SpecCommandsTest, ValidateShowsEveryProblem) {
  files_.SetFile("podctl.yaml", kBroken);
  EXPECT_EQ(Validate(), 1);
  EXPECT_EQ(out_.str(), "");
  testing::ExpectGolden("cmd/validate_broken.txt", err_.str());
}

TEST_F(SpecCommandsTest, ValidateAnswersInTerraformsForm) {
  files_.SetFile("podctl.yaml", kBroken);
  EXPECT_EQ(Validate(/*json=*/true), 1);
  EXPECT_EQ(err_.str(), "");
  testing::ExpectGolden("cmd/validate_broken.json", out_.str());
}

TEST_F(SpecCommandsTest, AWarningIsNoError) {
  files_.SetFile("podctl.yaml",
                 "project: p\nzone: europe-west4-a\npods:\n"
                 "  a: {acceleratorType: v9-8, runtimeVersion: x}\n");
  EXPECT_EQ(Validate(), 0);
  EXPECT_THAT(err_.str(), HasSubstr("Warning: v9-8 is unknown"));
  EXPECT_THAT(out_.str(), HasSubstr("Success! The configuration is valid"));
}

}  // namespace
}  // namespace podctl

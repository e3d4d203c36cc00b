#include "templates/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cmd/views/snippet.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/loader.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/folders.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using ::testing::HasSubstr;

Spec Load(const Template& item, std::string* report) {
  testing::FakeFileSystem files;
  files.SetFile("podctl.yaml", std::string(item.text));
  // What gitops has whoever sets it up make.
  files.SetFile("pipeline.pub",
                "ssh-ed25519 "
                "AAAAC3NzaC1lZDI1NTE5AAAAIPQITM0BLRSbYb3vB6r5DzyYpXqYf5pxM/T8f8lFC/dg pipeline\n");
  Diagnostics diagnostics;
  Spec spec = LoadSpec(testing::WithKinds(), files, FixedEnvironment({}), diagnostics);
  *report = FormatDiagnostics(diagnostics, {});
  return spec;
}

TEST(CatalogTest, EveryTemplateLoadsWithoutARemark) {
  ASSERT_GE(Templates().size(), 7u);
  for (const Template& item : Templates()) {
    std::string report;
    const Spec spec = Load(item, &report);
    // Caliban's jobs have no pod.
    EXPECT_EQ(testing::PodsOf(spec).empty(), item.name == "caliban") << item.name;
    EXPECT_EQ(report, "") << item.name;
  }
}

TEST(CatalogTest, EveryPipelineLoadsWithoutARemark) {
  std::vector<std::string> forges;
  for (const Template& item : Pipelines()) {
    std::string report;
    forges.emplace_back(item.name);
    EXPECT_EQ(testing::PodsOf(Load(item, &report)).size(), 1U) << item.name;
    EXPECT_EQ(report, "") << item.name;
    const bool has_page = std::any_of(item.files.begin(), item.files.end(),
                                      [](const auto& file) { return file.path == "pipeline.md"; });
    EXPECT_TRUE(has_page) << item.name;
  }
  EXPECT_THAT(forges, ::testing::ElementsAre("atlantis", "gitea", "github", "gitlab"));
}

std::string Source(const std::string& path) {
  std::ifstream file(podctl::testing::SourceFolder() + "/templates/" + path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(CatalogTest, TheTextIsTheFileByteForByte) {
  for (const Template& item : Templates()) {
    const std::string name(item.name);
    const std::string text =
        Source(item.files.empty() ? name + ".yaml.tmpl" : name + "/podctl.yaml");
    EXPECT_EQ(item.text, text) << name;
    EXPECT_EQ(text.substr(0, item.description.size() + 2), "# " + std::string(item.description));
    for (const TemplateFile& file : item.files) {
      EXPECT_EQ(file.text, Source(name + "/" + std::string(file.path))) << file.path;
      EXPECT_NE(file.text, "") << file.path;
    }
  }
}

TEST(CatalogTest, AFolderComesWithAllItsFilesAlsoHiddenOnes) {
  const Template* gitops = FindTemplate("gitops");
  ASSERT_NE(gitops, nullptr);
  std::vector<std::string> paths;
  for (const TemplateFile& file : gitops->files) paths.emplace_back(file.path);
  EXPECT_THAT(paths, ::testing::ElementsAre(".github/workflows/podctl.yml", ".gitlab-ci.yml",
                                            ".podctl/.gitignore", "pipeline.md", "pipeline.sh"));
  std::string report;
  EXPECT_EQ(Load(*gitops, &report).state, "gs://my-project-podctl/state") << report;
}

TEST(CatalogTest, ColabIsJupyterOnWorkerZeroForAColabNotebook) {
  const Template* colab = FindTemplate("colab");
  ASSERT_NE(colab, nullptr);
  std::string report;
  const Spec spec = Load(*colab, &report);
  const PodSpec& pod = testing::PodsOf(spec).at(0);
  EXPECT_EQ(pod.node["acceleratorType"], Value("v3-32"));
  EXPECT_EQ(pod.metadata.at("tensorflow-env-vars").text,
            "-e LIBTPU_INIT_ARGS=--xla_jf_conv_full_precision=true");
  EXPECT_EQ(pod.tunnels.at(0).remote, 8888);
  EXPECT_EQ(pod.tunnels.at(0).open, "jupyter");
  const StepSpec& step = pod.bootstrap.at(0);
  EXPECT_THAT(*step.workers, ::testing::ElementsAre(0));
  for (const char* part :
       {"jupyter_http_over_ws", "matplotlib", "scipy", "--port=8888", "export TPU_LOAD_LIBRARY=0",
        "port_retries=0", ".allow_origin='https://colab.research.google.com'"}) {
    EXPECT_THAT(step.run, HasSubstr(part));
  }
  EXPECT_EQ(step.run.find("${"), std::string::npos);
}

// torch_xla asks for no torch: whoever names both without a version gets two that do not fit.
TEST(CatalogTest, TorchAndTorchXlaAreOfOneVersion) {
  const std::string xla = "'torch_xla[tpu]";
  int count = 0;
  for (const Template& item : Templates()) {
    const std::string_view text = item.text;
    for (auto at = text.find(xla); at != std::string_view::npos; at = text.find(xla, at + 1)) {
      ++count;
      const std::string_view rest = text.substr(at + xla.size());
      const std::string version(rest.substr(0, rest.find('\'')));
      const std::string torch = "'torch" + version + "' ";
      EXPECT_TRUE(version.starts_with("==")) << item.name;
      EXPECT_TRUE(text.substr(0, at).ends_with(torch)) << item.name << " wants " << torch;
    }
  }
  EXPECT_GE(count, 8);
}

// What PyPI has is taken from there and from nowhere else; half an installer is never run.
TEST(CatalogTest, StepsInstallFromPlacesThatServeWholeFiles) {
  for (const Template& item : Templates()) {
    EXPECT_THAT(std::string(item.text), ::testing::Not(HasSubstr("| sh\n"))) << item.name;
    EXPECT_THAT(std::string(item.text), ::testing::Not(HasSubstr("releases/index.html")))
        << item.name;
    EXPECT_THAT(std::string(item.text), ::testing::Not(HasSubstr("libtpu_releases.html")))
        << item.name;
  }
}

TEST(CatalogTest, AnUnknownNameIsNone) {
  EXPECT_EQ(FindTemplate("maximal"), nullptr);
}

}  // namespace
}  // namespace podctl

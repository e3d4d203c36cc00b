#include "templates/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "cmd/views/snippet.h"
#include "plans/spec/loader.h"
#include "tests/support/fake_file_system.h"

namespace podctl {
namespace {

using ::testing::HasSubstr;

Spec Load(const Template& item, std::string* report) {
  testing::FakeFileSystem files;
  files.SetFile("podctl.yaml", std::string(item.text));
  Diagnostics diagnostics;
  Spec spec = LoadSpec({}, files, FixedEnvironment({}), diagnostics);
  *report = FormatDiagnostics(diagnostics, {});
  return spec;
}

TEST(CatalogTest, EveryTemplateLoadsWithoutARemark) {
  ASSERT_EQ(Templates().size(), 2u);
  for (const Template& item : Templates()) {
    std::string report;
    EXPECT_EQ(Load(item, &report).pods.size(), 1u) << item.name;
    EXPECT_EQ(report, "") << item.name;
  }
}

TEST(CatalogTest, TheTextIsTheFileByteForByte) {
  for (const Template& item : Templates()) {
    std::ifstream file(std::string(PODCTL_SOURCE_DIR) + "/templates/" + std::string(item.name) +
                       ".yaml.tmpl");
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_EQ(item.text, text.str());
    EXPECT_EQ(text.str().substr(0, item.description.size() + 2),
              "# " + std::string(item.description));
  }
}

TEST(CatalogTest, ColabIsJupyterOnWorkerZeroForAColabNotebook) {
  const Template* colab = FindTemplate("colab");
  ASSERT_NE(colab, nullptr);
  std::string report;
  const Spec spec = Load(*colab, &report);
  const PodSpec& pod = spec.pods.at(0);
  EXPECT_EQ(pod.node["acceleratorType"], Value("v3-32"));
  EXPECT_EQ(pod.metadata.at("tensorflow-env-vars").text,
            "-e LIBTPU_INIT_ARGS=--xla_jf_conv_full_precision=true");
  const StepSpec& step = pod.bootstrap.at(0);
  EXPECT_THAT(*step.workers, ::testing::ElementsAre(0));
  EXPECT_EQ(step.env.at("TPU_LOAD_LIBRARY"), "0");
  for (const char* part : {"jupyter_http_over_ws", "matplotlib", "scipy", "--port=8888",
                           "--NotebookApp.allow_origin='https://colab.research.google.com'"}) {
    EXPECT_THAT(step.run, HasSubstr(part));
  }
  EXPECT_EQ(step.run.find("${"), std::string::npos);
}

TEST(CatalogTest, AnUnknownNameIsNone) {
  EXPECT_EQ(FindTemplate("maximal"), nullptr);
}

}  // namespace
}  // namespace podctl

// `podctl schema` in the hands of others: yaml-language-server from npm, which editors ask
// (language_server.py), and check-jsonschema from PyPI (tests/schema/agree.py). Both are installed
// below the build folder, so this is for `./dev test --all`, where it is an error when they cannot
// be had.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "tests/e2e/harness.h"
#include "tests/support/folders.h"

namespace podctl::testing {
namespace {

constexpr const char* kServer = "yaml-language-server@2.0.0";
constexpr const char* kChecker = "check-jsonschema==0.39.0";

RunResult RunLong(Sandbox& sandbox, const Arguments& words) {
  const auto process = sandbox.StartProgram(words);
  process->Wait(std::chrono::minutes(10));  // packages come from afar
  return process->Result();
}

TEST(LanguageServerTest, AnEditorShowsErrorsHoverTextsAndCompletions) {
  if (std::getenv("PODCTL_TEST_ALL") == nullptr) {
    GTEST_SKIP() << "it installs yaml-language-server from npm: only with ./dev test --all";
  }
  Sandbox sandbox;
  RunResult done = RunLong(sandbox, {"npm", "install", "--prefix", sandbox.Path("npm"),
                                     "--ignore-scripts", "--no-fund", "--no-audit", kServer});
  ASSERT_EQ(done.code, 0) << done;
  done = RunLong(sandbox, {"python3", LANGUAGE_SERVER_SCRIPT, BinaryFolder() + "/podctl",
                           sandbox.Path("npm/node_modules/yaml-language-server/bin/"
                                        "yaml-language-server")});
  EXPECT_EQ(done.code, 0) << done;
  EXPECT_EQ(done.out, "all well\n");
}

TEST(LanguageServerTest, CheckJsonschemaSaysWhatPodctlSays) {
  if (std::getenv("PODCTL_TEST_ALL") == nullptr) {
    GTEST_SKIP() << "it installs check-jsonschema from PyPI: only with ./dev test --all";
  }
  Sandbox sandbox;
  RunResult done = RunLong(sandbox, {"python3", "-m", "venv", sandbox.Path("venv")});
  ASSERT_EQ(done.code, 0) << done;
  done = RunLong(sandbox, {sandbox.Path("venv/bin/python3"), "-m", "pip", "install", "--quiet",
                           "--disable-pip-version-check", kChecker});
  ASSERT_EQ(done.code, 0) << done;
  done = RunLong(sandbox, {"python3", AGREE_SCRIPT, "--podctl", BinaryFolder() + "/podctl", "--all",
                           "--check-jsonschema", sandbox.Path("venv/bin/check-jsonschema")});
  EXPECT_EQ(done.code, 0) << done;
}

}  // namespace
}  // namespace podctl::testing

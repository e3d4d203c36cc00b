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

// The newest that says of no version of Node that it is too old for it.
constexpr const char* kServer = "yaml-language-server@1.20.0";
constexpr const char* kChecker = "check-jsonschema==0.39.0";

const std::string kServerFolder = std::string(PODCTL_LANGUAGE_SERVER "/") + kServer;
const std::string kCheckerFolder = std::string(PODCTL_LANGUAGE_SERVER "/") + kChecker;
const std::string kServerProgram =
    kServerFolder + "/node_modules/yaml-language-server/bin/yaml-language-server";
const std::string kCheckerProgram = kCheckerFolder + "/bin/check-jsonschema";

bool WorksByItself(const std::string& line) {
  return std::system((line + " </dev/null >/dev/null 2>&1").c_str()) == 0;
}

// Its environment is this process's own: the settings of npm and pip are the machine's.
void Install(const std::string& line) {
  ASSERT_EQ(std::system((line + " </dev/null >&2").c_str()), 0)
      << "`" << line << "` fails, so it is not shown what an editor says of a spec";
}

RunResult RunLong(Sandbox& sandbox, const Arguments& words) {
  const auto process = sandbox.StartProgram(words);
  process->Wait(std::chrono::minutes(20));  // podctl is started thousands of times
  return process->Result();
}

TEST(LanguageServerTest, AnEditorShowsErrorsHoverTextsAndCompletions) {
  if (std::getenv("PODCTL_TEST_ALL") == nullptr) {
    GTEST_SKIP() << "it installs yaml-language-server from npm: only with ./dev test --all";
  }
  if (!WorksByItself("test -e " + kServerProgram)) {
    ASSERT_NO_FATAL_FAILURE(Install("npm install --prefix " + kServerFolder +
                                    " --ignore-scripts --no-fund --no-audit " + kServer));
  }
  Sandbox sandbox;
  const RunResult done = RunLong(
      sandbox, {"python3", LANGUAGE_SERVER_SCRIPT, BinaryFolder() + "/podctl", kServerProgram});
  EXPECT_EQ(done.code, 0) << done;
  EXPECT_EQ(done.out, "all well\n");
}

TEST(LanguageServerTest, CheckJsonschemaSaysWhatPodctlSays) {
  if (std::getenv("PODCTL_TEST_ALL") == nullptr) {
    GTEST_SKIP() << "it installs check-jsonschema from PyPI: only with ./dev test --all";
  }
  if (!WorksByItself(kCheckerProgram + " --version")) {
    ASSERT_NO_FATAL_FAILURE(Install("python3 -m venv --clear " + kCheckerFolder + " && " +
                                    kCheckerFolder + "/bin/python3 -m pip install --quiet " +
                                    kChecker));
  }
  Sandbox sandbox;
  const RunResult done =
      RunLong(sandbox, {"python3", AGREE_SCRIPT, "--podctl", BinaryFolder() + "/podctl",
                        "--check-jsonschema", kCheckerProgram});
  EXPECT_EQ(done.code, 0) << done;
}

}  // namespace
}  // namespace podctl::testing

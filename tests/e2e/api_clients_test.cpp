// Google's own API clients of Python against the emulator, in a venv from PyPI: google-cloud-tpu,
// google-cloud-secret-manager and google-cloud-storage over REST, and googleapiclient by its
// discovery documents. What they do stands in api_clients.py.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

TEST(ApiClientsTest, GooglesClientsOfPythonAreServed) {
  if (std::getenv("PODCTL_TEST_ALL") == nullptr) {
    GTEST_SKIP() << "it installs packages from PyPI: ./dev test --all -R api_clients";
  }
  Sandbox sandbox;
  sandbox.StartEmulator("none", "0s");
  const std::string python = sandbox.Path("venv/bin/python3");
  const auto run = [&](const Arguments& words) {
    const auto process = sandbox.StartProgram(words);
    process->Wait(std::chrono::minutes(10));  // packages come from afar
    return process->Result();
  };
  RunResult done = run({"python3", "-m", "venv", sandbox.Path("venv")});
  ASSERT_EQ(done.code, 0) << done;
  done = run({python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
              "google-cloud-tpu", "google-cloud-secret-manager", "google-cloud-storage",
              "google-crc32c", "google-api-python-client", "requests"});
  ASSERT_EQ(done.code, 0) << done;
  done = run({python, API_CLIENTS_SCRIPT, sandbox.url()});
  EXPECT_EQ(done.code, 0) << done;
  EXPECT_EQ(done.out, "all well\n");
}

}  // namespace
}  // namespace podctl::testing

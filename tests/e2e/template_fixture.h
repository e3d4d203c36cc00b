// A spec that `podctl init --template` wrote, beside an emulator with workers.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "providers/base/text.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {

class TemplateTest : public ::testing::Test {
 protected:
  void SetUp() override { box_.StartEmulator(); }

  // Writes the template into a folder of its name. Where workers share this machine's network they
  // are not on port 22, which the spec is then told.
  std::string Init(const std::string& name) {
    const RunResult made = box_.Run({"init", "--template", name, name});
    EXPECT_EQ(made.code, 0) << made;
    std::string spec = box_.ReadFile(name + "/podctl.yaml");
    if (const std::string more = box_.SpecDefaults(); !more.empty()) {
      const std::string mark = "defaults:\n";
      const auto at = spec.find("\n" + mark);
      spec = at == std::string::npos ? spec + more
                                     : spec.insert(at + 1 + mark.size(), more.substr(mark.size()));
      box_.WriteFile(name + "/podctl.yaml", spec);
    }
    return name + "/podctl.yaml";
  }
  RunResult Run(const std::string& spec, Arguments words) {
    words.insert(words.begin(), {"-f", spec});
    return box_.Run(words);
  }
  void ExpectOk(const RunResult& run) { EXPECT_EQ(run.code, 0) << run; }

  Sandbox box_;
};

}  // namespace podctl::testing

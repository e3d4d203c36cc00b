// What is wrong with an entry of `outputs` is told at its place, with what to write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cmd/views/snippet.h"
#include "plans/kinds/kinds.h"
#include "plans/kinds/output/record.h"
#include "plans/kinds/output/spec.h"
#include "plans/spec/loader.h"
#include "providers/os/environment.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class OutputReaderTest : public ::testing::Test {
 protected:
  OutputSpec Load(const std::string& entries) {
    return LoadText(
        "project: p\nzone: europe-west4-a\nvariables:\n  token: {sensitive: true, default: s3}\n"
        "  plain: {default: \"$${x}\"}\npods:\n  a: {acceleratorType: v3-8, runtimeVersion: r}\n"
        "outputs:\n" +
        entries);
  }
  OutputSpec LoadText(const std::string& text) {
    files_.SetFile("podctl.yaml", text);
    LoadOptions options;
    options.kinds = kinds_.known();
    Diagnostics diagnostics;
    const Spec spec = LoadSpec(options, files_, FixedEnvironment({}), diagnostics);
    report_ = FormatDiagnostics(diagnostics, {});
    for (const Declared& declared : spec.declared) {
      if (const auto* output = declared.wanted.As<OutputSpec>()) return *output;
    }
    return {};
  }

  testing::FakeFileSystem files_;
  BuiltInKinds kinds_{{files_}};
  std::string report_;
};

TEST_F(OutputReaderTest, IsATextOrAMap) {
  OutputSpec output = Load("  a: ${pod.a.networkEndpoints[0].ipAddress}:80\n");
  EXPECT_THAT(report_, IsEmpty());
  EXPECT_EQ(output.text, "${pod.a.networkEndpoints[0].ipAddress}:80");
  EXPECT_FALSE(output.sensitive);
  EXPECT_THAT(output.depends_on, ElementsAre(Address("pod", "a")));
  output = Load("  a: {value: \"${var.token}\", sensitive: true, description: for CI}\n");
  EXPECT_THAT(report_, IsEmpty());
  EXPECT_EQ(output.text, "s3");
  EXPECT_TRUE(output.sensitive);
  EXPECT_EQ(output.description, "for CI");
  EXPECT_EQ(Load("  a: 7\n").text, "7");
  EXPECT_EQ(Load("  a: \"${var.plain}\"\n").text, "$${x}") << "it is no reference";
}

TEST_F(OutputReaderTest, WhatIsWrongIsToldWhereItStands) {
  const auto report = [&](const std::string& entries) {
    Load(entries);
    return report_;
  };
  EXPECT_THAT(report("  a: {sensitive: true}\n"),
              AllOf(HasSubstr("the output has no `value`"), HasSubstr("podctl.yaml:9:3")));
  EXPECT_THAT(report("  a: {value: x, sensitiv: true}\n"), HasSubstr("did you mean `sensitive`?"));
  EXPECT_THAT(report("  a.b: x\n"), HasSubstr("`a.b` is no name for an output"));
  EXPECT_THAT(report("  a: [x]\n"), HasSubstr("`a` must be text, found a list"));
  EXPECT_THAT(report("  a: x\n  a: y\n"), HasSubstr("`a`"));
  EXPECT_THAT(report("  a: ${pod.b.state}\n"), HasSubstr("there is no pod `b`"));
  EXPECT_THAT(report("  a: x\n  b: ${output.a.value}\n"), HasSubstr("unknown expression"));
}

TEST_F(OutputReaderTest, WhoLetsASecretOutSaysSo) {
  Load("  a: \"${var.token}\"\n");
  EXPECT_THAT(report_, AllOf(HasSubstr("the output `a` would show a sensitive variable"),
                             HasSubstr("sensitive: true"), Not(HasSubstr("s3"))));
  Load("  a: {value: \"${var.token}\", sensitive: false}\n");
  EXPECT_THAT(report_, HasSubstr("the output `a` would show a sensitive variable"));
}

// An unfinished file must not read as "delete everything".
TEST_F(OutputReaderTest, AloneItIsNoSpec) {
  LoadText("outputs: {a: x}\n");
  EXPECT_THAT(report_, HasSubstr("there is no `pods`"));
  LoadText("pods: {}\noutputs: {a: x}\n");
  EXPECT_THAT(report_, IsEmpty());
}

}  // namespace
}  // namespace podctl

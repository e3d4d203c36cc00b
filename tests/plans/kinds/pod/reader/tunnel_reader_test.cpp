// What a pod may say of `tunnels`, and the step `xrtVersion`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cmd/views/snippet.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/loader.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/golden.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

class TunnelReaderTest : public ::testing::Test {
 protected:
  PodSpec Load(const std::string& keys) {
    files_.SetFile("podctl.yaml",
                   "project: p\nzone: europe-west4-a\npods:\n  a:\n    acceleratorType: v3-32\n"
                   "    runtimeVersion: tpu-vm-tf-2.11.0-pod\n" +
                       keys);
    Diagnostics diagnostics;
    Spec spec = LoadSpec(testing::WithKinds(), files_, FixedEnvironment({}), diagnostics);
    report_ = FormatDiagnostics(diagnostics, {});
    return testing::PodsOf(spec).empty() ? PodSpec{} : testing::PodsOf(spec)[0];
  }

  testing::FakeFileSystem files_;
  std::string report_;
};

TEST_F(TunnelReaderTest, ATunnelIsAPortAndWhatItNeedNotSay) {
  const PodSpec pod = Load(
      "    tunnels:\n"
      "      - {name: jupyter, remote: 8888, open: jupyter}\n"
      "      - {remote: 6006, local: 0, worker: 3, open: http}\n");
  EXPECT_EQ(report_, "");
  ASSERT_EQ(pod.tunnels.size(), 2U);
  EXPECT_EQ(pod.tunnels[0].name, "jupyter");
  EXPECT_EQ(pod.tunnels[0].local, 8888);
  EXPECT_EQ(pod.tunnels[0].worker, 0);
  EXPECT_EQ(pod.tunnels[0].open, "jupyter");
  EXPECT_EQ(pod.tunnels[1].remote, 6006);
  EXPECT_EQ(pod.tunnels[1].local, 0);
  EXPECT_EQ(pod.tunnels[1].worker, 3);
}

TEST_F(TunnelReaderTest, WhatIsWrongIsToldWithItsPlace) {
  Load(
      "    tunnels:\n"
      "      - {name: 8888, remote: 8888}\n"
      "      - {name: a, local: 1}\n"
      "      - {name: b, remote: 99999}\n"
      "      - {name: c, remote: 1, open: firefox}\n"
      "      - {name: c, remote: 2}\n"
      "      - {remote: 3, local: 2}\n"
      "      - {remote: 4, port: 5}\n"
      "      - 8888\n");
  testing::ExpectGolden("spec/tunnels.txt", report_);
}

TEST_F(TunnelReaderTest, AnXrtVersionIsAStepOfItsOwn) {
  const PodSpec pod = Load("    bootstrap: [{name: xrt, xrtVersion: \"1.15.0\", workers: [0]}]\n");
  EXPECT_EQ(report_, "");
  ASSERT_EQ(pod.bootstrap.size(), 1U);
  EXPECT_EQ(pod.bootstrap[0].xrt_version, "1.15.0");
  EXPECT_EQ(pod.bootstrap[0].run, "");
  EXPECT_EQ(Load("    bootstrap: [{name: xrt, xrtVersion: 1.15.0}]\n").bootstrap[0].xrt_version,
            "1.15.0");
  EXPECT_EQ(
      Load("    bootstrap: [{name: x, xrtVersion: TPU-dev20200325}]\n").bootstrap[0].xrt_version,
      "TPU-dev20200325");

  Load(
      "    bootstrap:\n"
      "      - {name: both, xrtVersion: \"1.15.0\", run: echo}\n"
      "      - {name: odd, xrtVersion: \"1.15/../x\"}\n"
      "      - {name: none, xrtVersion: \"\"}\n");
  testing::ExpectGolden("spec/xrt_version.txt", report_);
}

}  // namespace
}  // namespace podctl

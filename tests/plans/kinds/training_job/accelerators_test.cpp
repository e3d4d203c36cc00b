// Caliban's grammar and tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "plans/kinds/training_job/requests.h"

namespace podctl {
namespace {

using ::testing::HasSubstr;

std::string Read(std::string_view text, AcceleratorKind kind) {
  const auto parsed = ParseAcceleratorSpec(text, kind);
  if (const auto* problem = std::get_if<AcceleratorProblem>(&parsed)) return problem->summary;
  const auto& spec = std::get<AcceleratorSpec>(parsed);
  return std::to_string(spec.count) + " " + spec.type;
}
std::string Tpu(std::string_view text) {
  return Read(text, AcceleratorKind::kTpu);
}
std::string Gpu(std::string_view text) {
  return Read(text, AcceleratorKind::kGpu);
}

TEST(Accelerators, ACountIsWhatPythonTakesForAnInt) {
  EXPECT_EQ(PythonInt("8"), 8);
  EXPECT_EQ(PythonInt("+8"), 8);
  EXPECT_EQ(PythonInt("-8"), -8);
  EXPECT_EQ(PythonInt(" 8\n"), 8);
  EXPECT_EQ(PythonInt("08"), 8);
  EXPECT_EQ(PythonInt("1_0"), 10);
  for (const char* bad : {"", " ", "8.0", "_8", "8_", "1__0", "0x8", "eight", "+", "8 8"}) {
    EXPECT_EQ(PythonInt(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(PythonInt("99999999999999999999999"), std::numeric_limits<std::int64_t>::max());
}

TEST(Accelerators, TwoPartsAtALowerCaseX) {
  EXPECT_EQ(Tpu("8xV3"), "8 V3");
  EXPECT_EQ(Tpu("8xv2"), "8 V2");
  EXPECT_EQ(Tpu(" 8xV2"), "8 V2");
  EXPECT_EQ(Tpu("+8xV2"), "8 V2");
  EXPECT_EQ(Tpu("8XV2"), "`8XV2` has no `x` between count and type");
  EXPECT_EQ(Tpu("V3"), "`V3` has no `x` between count and type");
  EXPECT_EQ(Tpu("8xV3x"), "`8xV3x` has more than one `x`");
  EXPECT_EQ(Tpu("eightxV3"), "the count `eight` of `eightxV3` is no number");
  EXPECT_EQ(Tpu("xV3"), "the count `` of `xV3` is no number");
  EXPECT_EQ(Tpu("8x"), "`` is no TPU type");
  EXPECT_EQ(Tpu("8xV4"), "`V4` is no TPU type");
  EXPECT_EQ(Tpu("8xP100"), "`P100` is no TPU type");
  EXPECT_EQ(Gpu("1xp100"), "1 P100");
  EXPECT_EQ(Gpu("1xH100"), "`H100` is no GPU type");
}

TEST(Accelerators, OnlyEightTpusAreToBeHad) {
  EXPECT_EQ(Tpu("4xV3"), "no machine takes 4 TPUs of type V3");
  EXPECT_EQ(Tpu("-8xV2"), "no machine takes -8 TPUs of type V2");
  // A GPU's count is checked with its machine.
  EXPECT_EQ(Gpu("3xP100"), "3 P100");
  const auto parsed = ParseAcceleratorSpec("32xV3", AcceleratorKind::kTpu);
  EXPECT_EQ(std::get<AcceleratorProblem>(parsed).suggestion, "take 8 of them");
  EXPECT_THAT(std::get<AcceleratorProblem>(parsed).detail, HasSubstr("https://cloud.google.com/"));
}

TEST(Accelerators, EveryProblemPointsToThePageOfValidCombinations) {
  for (const char* bad : {"8XV2", "axV2", "8xV9", "4xV2"}) {
    const auto parsed = ParseAcceleratorSpec(bad, AcceleratorKind::kTpu);
    EXPECT_THAT(std::get<AcceleratorProblem>(parsed).detail,
                HasSubstr("https://cloud.google.com/vertex-ai/docs/training/configure-compute"));
  }
}

std::string OnMachine(std::int64_t count, const std::string& type, std::string_view machine) {
  const auto problem = CheckGpuOnMachine({count, type}, machine);
  return problem ? problem->summary : "ok";
}

TEST(Accelerators, WhatAMachineTakes) {
  EXPECT_EQ(OnMachine(1, "P100", "n1-standard-8"), "ok");
  EXPECT_EQ(OnMachine(8, "V100", "n1-highmem-2"), "ok");
  EXPECT_EQ(OnMachine(1, "V100", "n1-standard-16"), "`n1-standard-16` does not take 1xV100");
  EXPECT_EQ(OnMachine(2, "P100", "n1-standard-32"), "ok");
  EXPECT_EQ(OnMachine(1, "P100", "n1-standard-32"), "`n1-standard-32` does not take 1xP100");
  EXPECT_EQ(OnMachine(4, "P100", "n1-standard-64"), "`n1-standard-64` does not take 4xP100");
  EXPECT_EQ(OnMachine(4, "P100", "n1-highcpu-64"), "ok");
  EXPECT_EQ(OnMachine(8, "K80", "n1-highcpu-64"), "ok");
  EXPECT_EQ(OnMachine(8, "K80", "n1-highcpu-96"), "`n1-highcpu-96` does not take 8xK80");
  EXPECT_EQ(OnMachine(3, "P100", "n1-standard-8"), "no machine takes 3 GPUs of type P100");
  EXPECT_EQ(OnMachine(1, "A100", "n1-standard-4"), "no machine takes 1 GPU of type A100");
  EXPECT_EQ(CheckGpuOnMachine({3, "P100"}, "n1-standard-8")->suggestion, "take 1, 2 or 4 of them");
  EXPECT_THAT(CheckGpuOnMachine({1, "V100"}, "n1-standard-16")->detail,
              HasSubstr("Machines for 1xV100: n1-standard-4, n1-standard-8, n1-highmem-2"));
}

TEST(Accelerators, WhichMachinesThereAre) {
  EXPECT_EQ(MasterMachines().size(), 17U);
  EXPECT_EQ(CheckMachine("n1-highcpu-32"), std::nullopt);
  EXPECT_EQ(CheckMachine("n1-standard-9")->suggestion, "did you mean `n1-standard-4`?");
  EXPECT_EQ(CheckMachine("cloud_tpu")->summary, "`cloud_tpu` is no machine type for a master");
}

TEST(Accelerators, WhichRegionsHaveThem) {
  const AcceleratorSpec v3{8, "V3"};
  EXPECT_EQ(CheckRegionOf(v3, AcceleratorKind::kTpu, "us-central1"), std::nullopt);
  EXPECT_EQ(CheckRegionOf(v3, AcceleratorKind::kTpu, "europe-west4"), std::nullopt);
  const auto problem = CheckRegionOf(v3, AcceleratorKind::kTpu, "us-west1");
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->summary, "`us-west1` has no TPUs of type V3");
  EXPECT_EQ(problem->suggestion, "europe-west4 or us-central1");
  EXPECT_EQ(CheckRegionOf({1, "T4"}, AcceleratorKind::kGpu, "asia-northeast3"), std::nullopt);
  EXPECT_TRUE(CheckRegionOf({1, "P100"}, AcceleratorKind::kGpu, "europe-west4"));
}

std::string Master(TrainingJobSpec job, bool no_gpu = false) {
  FillInMaster(no_gpu, &job);
  return job.machine_type + " " + std::to_string(job.gpu.count) + job.gpu.type;
}

TEST(Accelerators, ATpuWithoutAGpuMeansACpuMaster) {
  TrainingJobSpec job;
  EXPECT_EQ(Master(job), "n1-standard-8 1P100");
  EXPECT_EQ(Master(job, true), "n1-highcpu-32 0");
  job.tpu = {8, "V3"};
  EXPECT_EQ(Master(job), "n1-highcpu-32 0");
  job.gpu = {8, "V100"};
  EXPECT_EQ(Master(job), "n1-standard-8 8V100");
  job.machine_type = "n1-highmem-8";
  EXPECT_EQ(Master(job), "n1-highmem-8 8V100");
}

}  // namespace
}  // namespace podctl

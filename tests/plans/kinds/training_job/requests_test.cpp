// What is sent for a training job: today, and before 2025.
#include "plans/kinds/training_job/requests.h"

#include <gtest/gtest.h>

#include "providers/base/json.h"

namespace podctl {
namespace {

TrainingJobSpec Mnist() {
  TrainingJobSpec job;
  job.name = "mnist";
  job.region = "us-central1";
  job.tpu = {8, "V3"};
  job.machine_type = "n1-highcpu-32";
  job.image = "gcr.io/p/mnist:1";
  job.args = {"--rate", "0.1", "--Fast_Mode"};
  job.labels = {{"team", "vision"}};
  return job;
}

TEST(Requests, AMasterAndAPoolOfTpus) {
  EXPECT_EQ(
      ToJson(CustomJobBody(Mnist())),
      R"({"displayName":"mnist","jobSpec":{"workerPoolSpecs":[{"containerSpec":{"args":["--rate",)"
      R"("0.1","--Fast_Mode"],"imageUri":"gcr.io/p/mnist:1"},"machineSpec":{"machineType":)"
      R"("n1-highcpu-32"},"replicaCount":"1"},{"containerSpec":{"args":["--rate","0.1",)"
      R"("--Fast_Mode"],"imageUri":"gcr.io/p/mnist:1"},"machineSpec":{"acceleratorCount":8,)"
      R"("acceleratorType":"TPU_V3","machineType":"cloud-tpu"},"replicaCount":"1"}]},)"
      R"("labels":{"team":"vision"}})");
}

TEST(Requests, AMasterWithGpusAlone) {
  TrainingJobSpec job = Mnist();
  job.tpu = {};
  job.gpu = {8, "V100"};
  job.args.clear();
  job.labels.clear();
  EXPECT_EQ(ToJson(CustomJobBody(job)),
            R"({"displayName":"mnist","jobSpec":{"workerPoolSpecs":[{"containerSpec":{"imageUri":)"
            R"("gcr.io/p/mnist:1"},"machineSpec":{"acceleratorCount":8,"acceleratorType":)"
            R"("NVIDIA_TESLA_V100","machineType":"n1-highcpu-32"},"replicaCount":"1"}]}})");
}

TEST(Requests, TheOldRequestIsThatOfCaliban) {
  EXPECT_EQ(
      ToJson(LegacyJobBody(Mnist(), "20250131_120000")),
      R"({"jobId":"mnist_20250131_120000_1","labels":{"docker_image":"gcriopmnist1",)"
      R"("fast_mode":"","gpu_enabled":"false","job_name":"mnist","rate":"01","team":"vision",)"
      R"("tpu_enabled":"true"},"trainingInput":{"args":["--rate","0.1","--Fast_Mode"],)"
      R"("masterConfig":{"acceleratorConfig":{"count":0,"type":"ACCELERATOR_TYPE_UNSPECIFIED"},)"
      R"("imageUri":"gcr.io/p/mnist:1"},"masterType":"n1-highcpu-32","region":"us-central1",)"
      R"("scaleTier":"CUSTOM","workerConfig":{"acceleratorConfig":{"count":8,"type":"TPU_V3"},)"
      R"("tpuTfVersion":"1.14"},"workerCount":1,"workerType":"cloud_tpu"}})");
  TrainingJobSpec gpu = Mnist();
  gpu.tpu = {};
  gpu.gpu = {1, "P100"};
  const Value input = LegacyJobBody(gpu, "x")["trainingInput"];
  EXPECT_EQ(input.Find("workerCount"), nullptr);
  EXPECT_EQ(ToJson(input["masterConfig"]["acceleratorConfig"]),
            R"({"count":1,"type":"NVIDIA_TESLA_P100"})");
}

TEST(Requests, LabelsAreAsTheServicesTakeThem) {
  EXPECT_EQ(SanitizedLabelKey("--Learning.Rate"), "learningrate");
  EXPECT_EQ(SanitizedLabelKey("123"), "");
  EXPECT_EQ(SanitizedLabelValue("A b/C_d-1"), "abc_d-1");
  EXPECT_EQ(SanitizedLabelValue(std::string(80, 'x')).size(), 63U);
}

}  // namespace
}  // namespace podctl

// Lines of other tools, and the specs that they become: tests/golden/from_command. Every spec is
// one that `podctl validate` takes.
#include "plans/from_command/from_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cmd/views/snippet.h"
#include "plans/spec/loader.h"
#include "plans/training/requests.h"
#include "providers/base/json.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/golden.h"

namespace podctl {
namespace {

using ::testing::HasSubstr;

struct Row {
  const char* name;
  const char* line;
};

std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.line;
}

constexpr Row kRows[] = {
    {"tpu_vm_seed",
     "gcloud compute tpus tpu-vm create research --zone=europe-west4-a --accelerator-type=v3-32 "
     "--version=tpu-vm-tf-2.11.0-pod --project my-project "
     "--metadata='tensorflow-env-vars=-e LIBTPU_INIT_ARGS=--xla_jf_conv_full_precision=true'"},
    {"tpu_vm_every_flag",
     "gcloud compute tpus tpu-vm create t1 \\\n  --project=p-1 --zone us-central1-a \\\n"
     "  --accelerator-type=V2-8 --version tpu-ubuntu2204-base --description 'a b' \\\n"
     "  --network=n --subnetwork=s --internal-ips --queue-count=8 --range=10.0.0.0/29 \\\n"
     "  --service-account=a@b.c --scopes=cloud-platform,storage-ro --labels=team=x,env=y \\\n"
     "  --tags=a,b --metadata=^:^a=1,2:b=3 --metadata-from-file=startup-script=boot.sh \\\n"
     "  --data-disk=source=projects/p/zones/z/disks/d,mode=read-only --data-disk=source=e \\\n"
     "  --shielded-secure-boot --preemptible --async --format=json -q --nonsense=1"},
    {"tpu_vm_runtime_variables",
     "gcloud compute tpus tpu-vm create t --zone=us-central1-a --accelerator-type=v2-8 "
     "--version=v --project=p --metadata='^;^tensorflow-env-vars=-e LIBTPU_INIT_ARGS=\"--a=1 "
     "--b=2\" -e TF_CPP_MIN_LOG_LEVEL=1;x=${HOME}'"},
    {"tpu_vm_runtime_kept",
     "gcloud compute tpus tpu-vm create t --zone=us-central1-a --accelerator-type=v2-8 "
     "--version=v --project=p --metadata='tensorflow-env-vars=--privileged -e A=1'"},
    {"tpu_vm_topology",
     "gcloud compute tpus tpu-vm create t3 --zone=us-central2-b --type=v4 --topology=2x2x2 "
     "--version=v2-alpha-tpuv4 --project=p --spot"},
    {"tpu_vm_alpha",
     "gcloud alpha compute tpus tpu-vm create t11 --zone=europe-west4-a --project=p "
     "--accelerator-type=v5p-8 --version=v2-alpha-tpuv5 "
     "--reservation=projects/1/locations/europe-west4-a/reservations/res-1 "
     "--provisioning-model=reservation-bound --autocheckpoint-enabled "
     "--boot-disk=confidential-compute=true,kms-key=projects/k/locations/l/keyRings/r/cryptoKeys/"
     "c"},
    {"tpu_vm_variables",
     "export ZONE=x; gcloud compute tpus tpu-vm create $TPU_NAME --zone=$ZONE "
     "--accelerator-type=${TYPE} --version=tpu-ubuntu2204-base --project $PROJECT && echo done"},
    {"tpu_vm_variables_kept",
     "gcloud compute tpus tpu-vm create $TPU_NAME --zone=$ZONE --accelerator-type=${TYPE} "
     "--version=tpu-ubuntu2204-base --project $PROJECT && echo done"},
    {"tpu_vm_minimal", "sudo X=1 /usr/bin/gcloud compute tpus tpu-vm create t1"},
    {"queued_spot",
     "gcloud compute tpus queued-resources create qr3 --zone=europe-west4-a --node-id=n3 --spot "
     "--valid-until-duration=6h --accelerator-type=v5litepod-16 "
     "--runtime-version=v2-alpha-tpuv5-lite --project=p"},
    {"queued_multislice",
     "gcloud compute tpus queued-resources create qr2 --zone=europe-west4-a --node-count=3 "
     "--node-prefix=ms --accelerator-type=v5litepod-16 --runtime-version=v2-alpha-tpuv5-lite "
     "--project=p --guaranteed --min-duration=1d --valid-after-time=2026-11-22T08:00:00Z"},
    {"queued_reserved",
     "gcloud compute tpus queued-resources create qr5 --zone=europe-west4-a --node-id=n5 "
     "--reserved --accelerator-type=v5litepod-16 --runtime-version=v2-alpha-tpuv5-lite --project=p "
     "--valid-until-time=tomorrow"},
    {"queued_alpha",
     "gcloud alpha compute tpus queued-resources create qr11 --zone=europe-west4-a --node-id=n11 "
     "--provisioning-model=flex-start --max-run-duration=10h --valid-until-duration=10h "
     "--accelerator-type=v5litepod-16 --runtime-version=v2-alpha-tpuv5-lite "
     "--project=p --network-config=network=n,external-ips=false"},
    {"tpu_node_of_old",
     "gcloud compute tpus create old --zone=us-central1-b --accelerator-type=v2-8 --version=1.15 "
     "--range=10.240.0.0/29 --network=default --use-service-networking --project=p"},
    {"xla_dist_conda",
     "python -m torch_xla.distributed.xla_dist --tpu=my-tpu --conda-env=torch-xla-1.13 "
     "--env XLA_USE_BF16=1 --env=XRT_TPU_CONFIG=x --env XLA_EMIT_STEPLOG=1 -- python "
     "/usr/share/t/train.py --fake_data "
     "--rate '0.1 0.2'"},
    {"xla_dist_docker",
     "python3 -m torch_xla.distributed.xla_dist --tpu $TPU --docker-image gcr.io/p/i:1 "
     "--docker-run-flag=--shm-size=16GB --docker-run-flag=--rm --restart-tpuvm-pod-server "
     "--vm a --conda-env x python train.py"},
    {"caliban_tpu",
     "caliban cloud --tpu_spec 8xV3 --project_id my-project --region europe-west4 --name mnist-1 "
     "--label team=Vision -l a=b mnist.py -- --rate 0.1"},
    {"caliban_every_flag",
     "caliban cloud --gpu_spec 2xV100 --machine_type n1-highmem-8 --image_tag gcr.io/p/i:1 --force "
     "--dry_run --no_cache --docker_run_args '--shm-size=1g' --experiment_config exp.json --xgroup "
     "g --cloud_key key.json --extras e -d data --nonsense trainer.train"},
    {"caliban_cpu", "caliban cloud --nogpu --project_id p train.py"},
};

class FromCommandTest : public ::testing::TestWithParam<Row> {};

TEST_P(FromCommandTest, BecomesASpecThatIsValid) {
  const auto made = SpecFromCommand(GetParam().line);
  const std::string name = std::string("from_command/") + GetParam().name + ".txt";
  if (!made) {
    return testing::ExpectGolden(name, made.error().message + "\n" + made.error().hint + "\n");
  }
  std::string told = made->text + "---\n";
  for (const Remark& remark : made->remarks) {
    told += remark.subject + ": " + remark.reason + "\n";
  }
  testing::ExpectGolden(name, told);

  testing::FakeFileSystem files;
  files.SetFile("podctl.yaml", made->text);
  files.SetFile("boot.sh", "#!/bin/sh\n");
  Diagnostics diagnostics;
  LoadSpec({}, files, FixedEnvironment({}), diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.items()) {
    EXPECT_EQ(diagnostic.severity, Severity::kWarning)
        << made->text << FormatDiagnostics(diagnostics, {});
  }
}

INSTANTIATE_TEST_SUITE_P(Lines, FromCommandTest, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.name); });

std::string ErrorOf(std::string_view line) {
  const auto made = SpecFromCommand(line);
  return made ? "none" : made.error().message + " | " + made.error().hint;
}

TEST(FromCommand, WhatIsNoLineOfAKnownToolIsRefused) {
  EXPECT_THAT(ErrorOf("terraform apply"),
              HasSubstr("`terraform` is no command that can be turned into a spec | Known are"));
  EXPECT_THAT(ErrorOf("python train.py"), HasSubstr("`python` is no command"));
  EXPECT_THAT(ErrorOf("gcloud compute instances create x"),
              HasSubstr("`gcloud compute instances create x` creates no TPU"));
  EXPECT_THAT(ErrorOf("gcloud compute tpus tpu-vm delete x"), HasSubstr("creates no TPU"));
  EXPECT_THAT(ErrorOf("gcloud compute tpus tpu-vm create"), HasSubstr("the line names no TPU"));
  EXPECT_THAT(ErrorOf("python -m torch_xla.distributed.xla_dist --tpu=t"),
              HasSubstr("the line has no command to run"));
  EXPECT_THAT(ErrorOf("python -m torch_xla.distributed.xla_dist -- python x"),
              HasSubstr("the line names no TPU"));
  EXPECT_THAT(ErrorOf("caliban run x.py"), HasSubstr("`caliban run` submits no job"));
  EXPECT_THAT(ErrorOf("gcloud 'x"), HasSubstr("open single quote"));
  EXPECT_THAT(ErrorOf("A=1"), HasSubstr("there is no command in the line"));
}

TEST(FromCommand, CalibansRulesHoldForItsLines) {
  EXPECT_THAT(ErrorOf("caliban cloud --tpu_spec 8XV2 x.py"),
              HasSubstr("`8XV2` has no `x` between count and type"));
  EXPECT_THAT(ErrorOf("caliban cloud --tpu_spec 4xV2 x.py"), HasSubstr("Which counts, types"));
  EXPECT_THAT(ErrorOf("caliban cloud --tpu_spec 8xV2 --region us-west1 x.py"),
              HasSubstr("`us-west1` has no TPUs of type V2"));
  EXPECT_THAT(ErrorOf("caliban cloud --gpu_spec 1xV100 --machine_type n1-standard-64 x.py"),
              HasSubstr("does not take 1xV100"));
  EXPECT_THAT(ErrorOf("caliban cloud --nogpu --gpu_spec 1xV100 x.py"), HasSubstr("exclude"));
}

TEST(FromCommand, ACalibanLineIsTheOldRequestToo) {
  const auto made = SpecFromCommand("caliban cloud --tpu_spec 8xV3 --name n --image_tag i x.py");
  ASSERT_TRUE(made);
  ASSERT_TRUE(made->training);
  EXPECT_EQ(LegacyJobBody(*made->training, "t")["trainingInput"]["masterType"],
            Value("n1-highcpu-32"));
}

TEST(FromCommand, NoSecretOfTheLineIsRepeatedAside) {
  const auto made = SpecFromCommand("TOKEN=s3cret gcloud compute tpus tpu-vm create t && x s3cret");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->text.find("s3cret"), std::string::npos);
}

}  // namespace
}  // namespace podctl

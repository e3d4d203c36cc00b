// Lines of other tools, and the specs that they become: tests/golden/from_command. Every spec is
// one that `podctl validate` takes.
#include "plans/from_command/from_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "cmd/views/snippet.h"
#include "plans/kinds/training_job/requests.h"
#include "plans/spec/loader.h"
#include "providers/base/json.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/golden.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using ::testing::AllOf;
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
     "  --shielded-secure-boot --preemptible --async --format=json -q"},
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
     "--reservation-host-project=shared --valid-until-time=2026-11-22T09:30:00.5+01:00"},
    {"queued_interval",
     "gcloud compute tpus queued-resources create qr6 --zone=europe-west4-a --node-id=n6 "
     "--accelerator-type=v5litepod-16 --runtime-version=v2-alpha-tpuv5-lite --project=p "
     "--valid-after-time=2026-11-22T08:00:00Z --valid-until-time=2026-11-23T08:00:00-0200"},
    {"queued_interval_from_now",
     "gcloud compute tpus queued-resources create qr6 --zone=europe-west4-a --node-id=n6 "
     "--accelerator-type=v5litepod-16 --runtime-version=v2-alpha-tpuv5-lite --project=p "
     "--valid-after-duration=90m --valid-until-duration=P1D"},
    {"queued_guaranteed_reserved",
     "gcloud alpha compute tpus queued-resources create qr13 --zone=europe-west4-a --node-id=n13 "
     "--reserved --guaranteed --accelerator-type=v5litepod-16 "
     "--runtime-version=v2-alpha-tpuv5-lite --project=p"},
    {"queued_folder_and_interfaces",
     "gcloud alpha compute tpus queued-resources create qr15 --zone=europe-west4-a "
     "--node-count=2 --node-prefix=x --workload-type=throughput-optimized "
     "--reservation-host-folder=77 --accelerator-type=v6e-16 --runtime-version=v2-alpha-tpuv6e "
     "--project=p --network-config=network=a --network-config=network=b,external-ips=false"},
    {"tpu_vm_model_spot",
     "gcloud alpha compute tpus tpu-vm create t12 --zone=europe-west4-a --project=p "
     "--accelerator-type=v6e-8 --version=v2-alpha-tpuv6e --provisioning-model=spot"},
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
     "g --cloud_key key.json --extras e -d data trainer.train -- --seed 7"},
    {"caliban_flag_file", "caliban cloud --flagfile=flags.txt train.py -- --flagfile=mine"},
    {"caliban_cpu", "caliban cloud --nogpu --project_id p train.py"},
};

// The files that lie next to the lines, and the time of day.
LineWorld World() {
  static const std::map<std::string, std::string> files = {
      {"exp.json",
       R"([{"rate": [0.1, 0.2], "[depth, width]": [[1, "a"], [2, "b"]], "fast": true},
           {"rate": 1, "fast": [true, false]}])"},
      {"flags.txt", "# ours\n--flagfile more.txt\n--name=from-file\n"},
      {"more.txt", "--nogpu\n--project_id=p\n"},
      {"itself.txt", "--flagfile=itself.txt\n"},
      {"arity.json", R"({"[a,b]": [[1, 2], [3]]})"},
      {"key.json", R"({"a b": 1})"},
      {"nested.json", R"({"a": [[1]]})"},
      {"huge.json", R"({"a":[1,2,3,4,5,6,7,8,9,0],"b":[1,2,3,4,5,6,7,8,9,0],
                        "c":[1,2,3,4,5,6,7,8,9,0],"d":[1,2]})"},
  };
  const auto read = [](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found != files.end()) return found->second;
    return MakeError(ErrorCode::kNotFound, path + ": there is no such file");
  };
  return {read, "2026-11-22T08:00:00Z"};
}

class FromCommandTest : public ::testing::TestWithParam<Row> {};

TEST_P(FromCommandTest, BecomesASpecThatIsValid) {
  const auto made = SpecFromCommand(GetParam().line, World());
  const std::string name = std::string("from_command/") + GetParam().name + ".txt";
  if (!made) {
    return testing::ExpectGolden(name, made.error().message + "\n" + made.error().hint + "\n");
  }
  std::string reported = made->text + "---\n";
  for (const Remark& remark : made->remarks) {
    reported += remark.subject + ": " + remark.reason + "\n";
  }
  testing::ExpectGolden(name, reported);

  testing::FakeFileSystem files;
  files.SetFile("podctl.yaml", made->text);
  files.SetFile("boot.sh", "#!/bin/sh\n");
  Diagnostics diagnostics;
  LoadSpec(testing::WithKinds(), files, FixedEnvironment({}), diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.items()) {
    EXPECT_EQ(diagnostic.severity, Severity::kWarning)
        << made->text << FormatDiagnostics(diagnostics, {});
  }
}

INSTANTIATE_TEST_SUITE_P(Lines, FromCommandTest, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.name); });

std::string ErrorOf(std::string_view line) {
  const auto made = SpecFromCommand(line, World());
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

TEST(FromCommand, AFlagThatWouldBeLostIsRefusedByItsName) {
  const std::string vm = "gcloud compute tpus tpu-vm create t --zone=z --project=p ";
  const std::string queued =
      "gcloud compute tpus queued-resources create q --node-id=n --zone=us-central2-b "
      "--project=p --accelerator-type=v4-8 --runtime-version=v ";
  EXPECT_THAT(ErrorOf(vm + "--nonsense=1"), HasSubstr("--nonsense: podctl does not know"));
  EXPECT_THAT(ErrorOf(vm + "--accelerator-typ=v4-8"),
              HasSubstr("--accelerator-typ: podctl does not know this flag; did you mean "
                        "`--accelerator-type`?"));
  EXPECT_THAT(ErrorOf(vm + "--nonsense=1 --other -x"), HasSubstr("3 things in the line\n--"));
  EXPECT_THAT(ErrorOf(vm + "--nonsense=1 --other -x"),
              AllOf(HasSubstr("--nonsense: "), HasSubstr("--other: "), HasSubstr("-x: ")));
  EXPECT_THAT(ErrorOf(vm + "--flags-file=f.yaml"), HasSubstr("--flags-file: "));
  EXPECT_THAT(ErrorOf(vm + "more words"), HasSubstr("more: a second name beside `t`"));
  EXPECT_THAT(ErrorOf(vm + "--node-id=n"), HasSubstr("--node-id: it belongs to queued resources"));
  EXPECT_THAT(ErrorOf(vm + "--data-disk=source=d,size=3"), HasSubstr("`size` is no part of it"));
  EXPECT_THAT(ErrorOf(vm + "--labels=team"), HasSubstr("--labels: `team` has no `=`"));
  EXPECT_THAT(ErrorOf(vm + "--zone"), HasSubstr("--zone: its value is missing"));
  EXPECT_THAT(ErrorOf(vm + "--network=n --network-config=network=m"),
              HasSubstr("--network-config: goes not together with"));
  EXPECT_THAT(ErrorOf(queued + "--valid-until-time=tomorrow"),
              HasSubstr("--valid-until-time: `tomorrow` is no moment in full"));
  EXPECT_THAT(ErrorOf(queued + "--valid-until-time=2026-13-22T08:00:00Z"),
              HasSubstr("is no moment in full"));
  EXPECT_THAT(ErrorOf(queued + "--valid-until-duration=soon"), HasSubstr("is no duration"));
  EXPECT_THAT(ErrorOf("caliban cloud --nonsense x.py"), HasSubstr("--nonsense: "));
  EXPECT_THAT(ErrorOf("caliban cloud x.py more"), HasSubstr("more: arguments of the program"));
  EXPECT_THAT(ErrorOf("caliban cloud --label nothing x.py"), HasSubstr("`nothing` is no label"));
  EXPECT_THAT(ErrorOf("python -m torch_xla.distributed.xla_dist --tpu=t --odd=1 -- python x"),
              HasSubstr("--odd: "));
}

TEST(FromCommand, AVariableIsToldOnce) {
  const auto made = SpecFromCommand("gcloud compute tpus tpu-vm create $NAME --zone=$ZONE");
  ASSERT_TRUE(made) << made.error().message;
  for (const std::string name : {"$NAME", "$ZONE"}) {
    const auto tells = [&](const Remark& remark) {
      return (remark.subject + remark.reason).find(name) != std::string::npos;
    };
    EXPECT_EQ(std::count_if(made->remarks.begin(), made->remarks.end(), tells), 1) << name;
  }
}

// Each flag of gcloud's is put into the spec, told, or refused by name: none is merely gone.
TEST(FromCommand, NoFlagOfGcloudIsMerelyGone) {
  const std::map<std::string, std::string> values = {
      {"zone", "europe-west4-b"},
      {"project", "p-2"},
      {"data-disk", "source=d"},
      {"boot-disk", "kms-key=k"},
      {"labels", "team=x"},
      {"metadata", "a=b"},
      {"metadata-from-file", "a=f"},
      {"network-config", "network=n"},
      {"queue-count", "4"},
      {"node-count", "3"},
      {"valid-after-time", "2026-11-22T08:00:00Z"},
      {"valid-until-time", "2026-11-22T08:00:00Z"},
      {"valid-after-duration", "5h"},
      {"valid-until-duration", "5h"},
      {"max-run-duration", "5h"},
      {"min-duration", "5h"},
      {"workload-type", "throughput-optimized"},
      {"provisioning-model", "flex-start"},
  };
  for (const std::string command : {"tpu-vm", "queued-resources"}) {
    const std::string line = "gcloud alpha compute tpus " + command + " create t";
    const auto plain = SpecFromCommand(line, World());
    ASSERT_TRUE(plain);
    for (const FlagRule& rule : GcloudFlags()) {
      const std::string name(rule.name);
      const auto value = values.find(name);
      const std::string flag =
          " --" + name +
          (!rule.takes_value ? "" : "=" + (value == values.end() ? "word" : value->second));
      const auto made = SpecFromCommand(line + flag, World());
      if (made) {
        EXPECT_NE(made->text, plain->text) << line << flag;
      } else {
        EXPECT_THAT(made.error().message, HasSubstr("--" + name)) << line << flag;
      }
    }
  }
}

TEST(FromCommand, AnExperimentConfigThatIsNoneIsRefused) {
  const std::string line = "caliban cloud --project_id p x.py --experiment_config ";
  EXPECT_THAT(ErrorOf(line + "gone.json"),
              HasSubstr("--experiment_config: gone.json: there is no"));
  EXPECT_THAT(ErrorOf(line + "arity.json"),
              HasSubstr("arity.json: `[a,b]` and its values are not"));
  EXPECT_THAT(ErrorOf(line + "key.json"), HasSubstr("`a b` is no name of a flag"));
  EXPECT_THAT(ErrorOf(line + "nested.json"), HasSubstr("`a` must be text, a number"));
  EXPECT_THAT(ErrorOf(line + "huge.json"), HasSubstr("more than 1000 experiments"));
  EXPECT_THAT(ErrorOf(line + "flags.txt"), HasSubstr("--experiment_config: flags.txt: "));
  EXPECT_THAT(ErrorOf("caliban cloud --flagfile gone x.py"), HasSubstr("--flagfile: gone: "));
  EXPECT_THAT(ErrorOf("caliban cloud --flagfile itself.txt x.py"),
              HasSubstr("the files name one another"));
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

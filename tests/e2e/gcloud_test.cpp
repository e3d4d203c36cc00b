// The real gcloud as a client of the emulator: its commands end there as they do at Google's, with
// the same exit code and the same kind of complaint.
//
// The table is of facts about gcloud 528: a command, what there must be for it, how it ends. Where
// gcloud starts ssh or scp, a double of them is found first, so that its own behaviour is seen and
// not a machine's. By default one command of each kind runs; with PODCTL_TEST_ALL=1 all of them.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cctype>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

constexpr std::chrono::seconds kLimit{180};  // gcloud tries a broken ssh ten times, 5 s apart
const std::string kZone = "/v2/projects/demo-project/locations/europe-west4-a";

// What there is before the command runs.
enum class Given {
  kNothing,
  kNodes,       // pod (v3-32), single (v3-8), and podint without external addresses
  kQueued,      // qr with its node qn, ACTIVE, and qm with two slices
  kStopped,     // kNodes, and single is stopped
  kSoldOut,     // no v3-32 to be had
  kOverQuota,   // a project may not hold one
  kDenied,      // the next create is forbidden
  kBusy,        // kNodes, and the next patch is in conflict
  kNoGuests,    // kNodes, and guest attributes are forbidden
  kTerminated,  // kNodes, and pod is TERMINATED
  kRepairing,   // kNodes, and pod is REPAIRING
  kOverloaded,  // kNodes, and the next two lists answer 503
  kSecret,      // a secret s with two versions, "one" and "two"
  kObject       // a bucket e2e-bucket with an object o, "one"
};

struct Row {
  const char* name;
  bool brief;  // runs without PODCTL_TEST_ALL too
  Given given;
  int ssh_code;  // with which the doubles of ssh and scp end
  int code;
  const char* says;     // a part of what is printed
  const char* command;  // for a shell, without "gcloud"
};

std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << "gcloud " << row.command;
}

constexpr bool kBrief = true;
constexpr bool kAll = false;
#define ZONE " --zone=europe-west4-a"
#define V2_8 " --accelerator-type=v2-8 --version=tpu-ubuntu2204-base"
#define POD " --accelerator-type=v3-32 --version=tpu-vm-tf-2.11.0-pod"
#define V5 " --accelerator-type=v5litepod-16 --runtime-version=v2-alpha-tpuv5-lite"
#define VM "compute tpus tpu-vm "
#define QR "compute tpus queued-resources "

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      // Nodes are made …
      {"CreateMinimal", kAll, Given::kNothing, 0, 0, "Created tpu [t1]",
       VM "create t1 --version=tpu-ubuntu2204-base" ZONE},
      {"CreatePod", kBrief, Given::kNothing, 0, 0, "Created tpu [pod]",
       VM
       "create pod" ZONE POD
       " --metadata='tensorflow-env-vars=-e LIBTPU_INIT_ARGS=--xla_jf_conv_full_precision=true'"},
      {"CreateTopology", kAll, Given::kNothing, 0, 0, "Created tpu [t3]",
       VM "create t3 --zone=us-central2-b --type=v4 --topology=2x2x2 --version=v2-alpha-tpuv4"},
      {"CreateWithDisk", kAll, Given::kNothing, 0, 0, "Created tpu [t4]",
       VM "create t4" ZONE V2_8
          " --data-disk=source=projects/demo-project/zones/europe-west4-a/disks/d"},
      {"CreateSpot", kAll, Given::kNothing, 0, 0, "Created", VM "create t5" ZONE V2_8 " --spot"},
      {"CreatePreemptible", kAll, Given::kNothing, 0, 0, "Created",
       VM "create t6" ZONE V2_8 " --preemptible"},
      {"CreateAsync", kAll, Given::kNothing, 0, 0, "Create request issued",
       VM "create t8" ZONE V2_8 " --async"},
      {"CreateAsyncJson", kAll, Given::kNothing, 0, 0, "google.cloud.tpu.v2.OperationMetadata",
       VM "create t9" ZONE V2_8 " --async --format=json"},
      {"CreateAlpha", kAll, Given::kNothing, 0, 0, "Created",
       "alpha " VM "create t10" ZONE " --accelerator-type=v6e-8 --version=v2-alpha-tpuv6e --spot"},
      {"CreateAlphaWithReservation", kBrief, Given::kNothing, 0, 0, "Created tpu [t11]",
       "alpha " VM "create t11" ZONE " --accelerator-type=v5p-8 --version=v2-alpha-tpuv5"
       " --reservation=res-1 --provisioning-model=reservation-bound --autocheckpoint-enabled"
       " --boot-disk=confidential-compute=true,"
       "kms-key=projects/k/locations/l/keyRings/r/cryptoKeys/c"},
      {"CreateUpperCase", kAll, Given::kNothing, 0, 0, "Created",
       VM "create t12" ZONE " --accelerator-type=V3-8 --version=tpu-vm-tf-2.11.0"},
      // … or are not.
      {"CreateSoldOut", kBrief, Given::kSoldOut, 0, 1, "There is no more capacity in the zone",
       VM "create exhausted" ZONE POD},
      {"CreateOverQuota", kBrief, Given::kOverQuota, 0, 1, "RESOURCE_EXHAUSTED: Quota limit",
       VM "create quota" ZONE POD},
      {"CreateDenied", kAll, Given::kDenied, 0, 1, "PERMISSION_DENIED",
       VM "create denied" ZONE POD},
      {"CreateExists", kAll, Given::kNodes, 0, 1, "ALREADY_EXISTS", VM "create pod" ZONE POD},
      {"CreateBadType", kAll, Given::kNothing, 0, 1, "the accelerator v9-1 was not found in zone",
       VM "create bad" ZONE " --accelerator-type=v9-1 --version=x"},
      {"CreateTypeAndTopology", kAll, Given::kNothing, 0, 2, "",
       VM "create bad" ZONE " --accelerator-type=v4-8 --type=v4 --topology=2x2x1 --version=x"},
      {"CreateV5eTopology", kAll, Given::kNothing, 0, 2, "",
       VM "create t" ZONE " --type=v5litepod --topology=4x4 --version=v2-alpha-tpuv5-lite"},
      {"CreateWithoutZone", kAll, Given::kNothing, 0, 1, "", VM "create t --version=x"},
      // Secrets.
      {"SecretCreate", kAll, Given::kNothing, 0, 0, "Created version [1] of the secret [new]",
       "secrets create new --data-file=token"},
      {"SecretCreateExists", kAll, Given::kSecret, 0, 1, "already exists",
       "secrets create s --replication-policy=automatic"},
      {"SecretAdd", kAll, Given::kSecret, 0, 0, "Created version [3] of the secret [s]",
       "secrets versions add s --data-file=token"},
      {"SecretAccess", kAll, Given::kSecret, 0, 0, "two",
       "secrets versions access latest --secret=s"},
      {"SecretAccessFirst", kAll, Given::kSecret, 0, 0, "one",
       "secrets versions access 1 --secret=s"},
      {"SecretAccessNone", kAll, Given::kSecret, 0, 1, "NOT_FOUND",
       "secrets versions access 7 --secret=s"},
      {"SecretVersions", kAll, Given::kSecret, 0, 0, "enabled", "secrets versions list s"},
      {"SecretList", kAll, Given::kSecret, 0, 0, "s", "secrets list"},
      {"SecretDisable", kAll, Given::kSecret, 0, 0, "Disabled version [2] of the secret [s]",
       "secrets versions disable 2 --secret=s"},
      {"SecretDestroy", kAll, Given::kSecret, 0, 0, "Destroyed version [2] of the secret [s]",
       "secrets versions destroy 2 --secret=s"},
      {"SecretLabels", kAll, Given::kSecret, 0, 0, "Updated secret [s]",
       "secrets update s --update-labels=a=b"},
      {"SecretDelete", kAll, Given::kSecret, 0, 0, "Deleted secret [s]", "secrets delete s"},
      // Objects.
      {"StorageBucket", kAll, Given::kNothing, 0, 0, "Creating gs://new-bucket/",
       "storage buckets create gs://new-bucket --location=EU --uniform-bucket-level-access"},
      {"StorageBucketExists", kAll, Given::kObject, 0, 1, "you already own it",
       "storage buckets create gs://e2e-bucket"},
      {"StorageVersions", kAll, Given::kObject, 0, 0, "Updating gs://e2e-bucket/",
       "storage buckets update gs://e2e-bucket --versioning"},
      {"StorageUp", kBrief, Given::kObject, 0, 0, "Copying file://payload.txt to gs://e2e-bucket/p",
       "storage cp payload.txt gs://e2e-bucket/p"},
      {"StorageUpIf", kAll, Given::kObject, 0, 1, "412",
       "storage cp payload.txt gs://e2e-bucket/o --if-generation-match=0"},
      {"StorageDown", kAll, Given::kObject, 0, 0, "Copying gs://e2e-bucket/o to file://x",
       "storage cp gs://e2e-bucket/o x"},
      {"StorageCat", kBrief, Given::kObject, 0, 0, "one", "storage cat gs://e2e-bucket/o"},
      {"StorageCatNone", kAll, Given::kObject, 0, 1, "matched no objects",
       "storage cat gs://e2e-bucket/none"},
      {"StorageList", kAll, Given::kObject, 0, 0, "gs://e2e-bucket/o#",
       "storage ls --all-versions gs://e2e-bucket"},
      {"StorageDescribe", kAll, Given::kObject, 0, 0, "metageneration: 1",
       "storage objects describe gs://e2e-bucket/o"},
      {"StorageMove", kAll, Given::kObject, 0, 0, "Removing gs://e2e-bucket/o",
       "storage mv gs://e2e-bucket/o gs://e2e-bucket/q"},
      {"StorageRemove", kAll, Given::kObject, 0, 0, "Removing gs://e2e-bucket/o",
       "storage rm gs://e2e-bucket/o"},
      // They are looked at, stopped and deleted.
      {"Describe", kAll, Given::kNodes, 0, 0, "state: READY", VM "describe pod" ZONE},
      {"DescribeJson", kAll, Given::kNodes, 0, 0, "\"state\": \"READY\"",
       VM "describe pod" ZONE " --format=json"},
      {"DescribeNobody", kAll, Given::kNodes, 0, 1, "NOT_FOUND: Resource 'projects/demo-project",
       VM "describe nope" ZONE},
      {"List", kAll, Given::kNodes, 0, 0, "podint", VM "list" ZONE},
      {"ListPaged", kAll, Given::kNodes, 0, 0, "single", VM "list" ZONE " --page-size=1"},
      {"ListAllZones", kAll, Given::kNodes, 0, 0, "podint", VM "list --zone=-"},
      {"ListForAnotherProject", kAll, Given::kNodes, 0, 0, "podint",
       VM "list" ZONE " --billing-project=quota-proj"},
      {"ListAfterTrouble", kAll, Given::kOverloaded, 0, 0, "podint", VM "list" ZONE},
      {"StopSingle", kBrief, Given::kNodes, 0, 0, "", VM "stop single" ZONE},
      {"StopPod", kAll, Given::kNodes, 0, 1, "single TPU nodes", VM "stop pod" ZONE},
      {"StartSingle", kAll, Given::kStopped, 0, 0, "", VM "start single" ZONE},
      {"Delete", kBrief, Given::kNodes, 0, 0, "Deleted tpu [pod]", VM "delete pod" ZONE},
      {"DeleteAsync", kAll, Given::kNodes, 0, 0, "", VM "delete pod" ZONE " --async"},
      {"DeleteNobody", kAll, Given::kNodes, 0, 1, "NOT_FOUND", VM "delete nope" ZONE},
      {"GuestAttributes", kAll, Given::kNodes, 0, 0, "", VM "get-guest-attributes pod" ZONE},
      {"GuestAttributesOfOne", kAll, Given::kNodes, 0, 0, "",
       VM "get-guest-attributes pod" ZONE " --query-path=hostkeys/"},
      {"PerformMaintenance", kAll, Given::kNodes, 0, 0, "",
       "alpha " VM "perform-maintenance pod" ZONE},
      {"SimulateMaintenance", kAll, Given::kNodes, 0, 0, "",
       "alpha " VM "simulate-maintenance-event pod" ZONE " --workers=0,1"},
      // They are changed.
      {"UpdateLabels", kBrief, Given::kNodes, 0, 0, "Updated tpu [pod]",
       VM "update pod" ZONE " --update-labels=env=prod,new=2 --remove-labels=old"},
      {"ClearLabels", kAll, Given::kNodes, 0, 0, "Updated", VM "update pod" ZONE " --clear-labels"},
      {"AddTags", kAll, Given::kNodes, 0, 0, "Updated",
       VM "update pod" ZONE " --add-tags=b,c --remove-tags=a"},
      {"ClearTags", kAll, Given::kNodes, 0, 0, "Updated", VM "update pod" ZONE " --clear-tags"},
      {"UpdateMetadata", kAll, Given::kNodes, 0, 0, "Updated",
       VM "update pod" ZONE " --update-metadata=x=1 --remove-metadata=keep"},
      {"MetadataFromFile", kAll, Given::kNodes, 0, 0, "Updated",
       VM "update pod" ZONE " --metadata-from-file=startup-script=payload.txt"},
      {"Description", kAll, Given::kNodes, 0, 0, "Updated",
       VM "update pod" ZONE " --description='new text' --update-labels=env=x"},
      {"InternalIps", kAll, Given::kNodes, 0, 0, "Updated", VM "update pod" ZONE " --internal-ips"},
      {"AttachDisk", kAll, Given::kNodes, 0, 0, "Updated",
       VM "update single" ZONE
          " --attach-disk=source=projects/demo-project/zones/europe-west4-a/disks/d"},
      {"AttachDiskToWorkers", kAll, Given::kNodes, 0, 0, "Updated",
       "alpha " VM "update pod" ZONE
       " --attach-disk=source=projects/demo-project/zones/europe-west4-a/disks/d,mode=read-only"
       " --worker=0,2"},
      {"UpdateNothing", kAll, Given::kNodes, 0, 1, "No fields would change",
       VM "update pod" ZONE " --update-labels=env=dev"},
      {"UpdateNobody", kAll, Given::kNodes, 0, 1, "NOT_FOUND",
       VM "update nope" ZONE " --description=x"},
      // Workers are reached, or would be.
      {"SshDryRun", kAll, Given::kNodes, 0, 0, "", VM "ssh pod" ZONE " --dry-run"},
      {"SshTunnel", kAll, Given::kNodes, 0, 0, "8888",
       VM "ssh pod" ZONE " --dry-run -- -L 8888:localhost:8888"},
      {"SshAllDryRun", kAll, Given::kNodes, 0, 0, "",
       VM "ssh pod" ZONE " --dry-run --worker=all --command='sudo systemctl restart tpu-runtime'"},
      {"SshRange", kAll, Given::kNodes, 0, 0, "bob@",
       VM "ssh bob@pod" ZONE " --dry-run --worker=0,2-3 --command=\"echo 'a  b' | wc\""},
      {"SshInternal", kAll, Given::kNodes, 0, 0, "",
       VM "ssh pod" ZONE " --dry-run --internal-ip --worker=1"},
      {"SshWithoutExternal", kAll, Given::kNodes, 0, 0, "",
       VM "ssh podint" ZONE " --dry-run --worker=0"},
      {"SshBatch", kAll, Given::kNodes, 0, 0, "",
       "alpha " VM "ssh pod" ZONE " --dry-run --worker=all --batch-size=2 --command=hostname"},
      {"SshIap", kAll, Given::kNodes, 0, 0, "",
       "alpha " VM "ssh pod" ZONE
       " --dry-run --worker=all --tunnel-through-iap --command=hostname"},
      {"SshIapUnknownHost", kAll, Given::kNoGuests, 0, 1, "",
       "alpha " VM "ssh pod" ZONE " --dry-run --tunnel-through-iap"},
      {"SshUnknownHostKeys", kAll, Given::kNoGuests, 0, 0, "",
       VM "ssh pod" ZONE " --dry-run --worker=all --command=hostname"},
      {"SshStrict", kAll, Given::kNodes, 0, 0, "ssh -t",
       VM "ssh pod" ZONE " --dry-run --strict-host-key-checking=yes --plain"},
      {"SshFlags", kAll, Given::kNodes, 0, 0, "",
       VM "ssh pod" ZONE " --dry-run --ssh-flag='-L 80:%TPU%:80' --ssh-flag='-o SetEnv=U=%USER%'"},
      {"SshOne", kBrief, Given::kNodes, 0, 0, "", VM "ssh pod" ZONE " --command=hostname"},
      {"SshAllFail", kAll, Given::kNodes, 7, 7, "",
       VM "ssh pod" ZONE " --worker=all --command=false"},
      {"SshSomeFail", kAll, Given::kNodes, 7, 0, "failed with exit status 7",
       VM "ssh pod" ZONE " --worker=2,3 --command=false"},
      {"SshBatchFails", kAll, Given::kNodes, 3, 3, "",
       "alpha " VM "ssh pod" ZONE " --worker=all --batch-size=2 --command=false"},
      {"SshOutputFolder", kAll, Given::kNodes, 0, 1, "None/0.log",
       VM "ssh pod" ZONE " --worker=all --command=hostname --output-directory=outdir"},
      {"SshUnreachable", kAll, Given::kNodes, 255, 255, "",
       VM "ssh pod" ZONE " --worker=0 --command=hostname"},
      {"SshWhileBusy", kAll, Given::kBusy, 0, 0, "", VM "ssh pod" ZONE " --command=hostname"},
      {"SshDead", kAll, Given::kTerminated, 0, 1, "terminal state \"TERMINATED\"",
       VM "ssh pod" ZONE " --dry-run"},
      {"SshRepairing", kAll, Given::kRepairing, 0, 0, "REPAIRING", VM "ssh pod" ZONE " --dry-run"},
      {"SshNoSuchWorker", kAll, Given::kNodes, 0, 1, "worker index 9",
       VM "ssh pod" ZONE " --dry-run --worker=9"},
      {"SshAllWithoutCommand", kAll, Given::kNodes, 0, 1, "",
       VM "ssh pod" ZONE " --dry-run --worker=all"},
      {"ScpUp", kAll, Given::kNodes, 0, 0, "",
       VM "scp fakebin bob@pod:" ZONE " --dry-run --recurse --compress"},
      {"ScpDown", kAll, Given::kNodes, 0, 0, "",
       VM "scp pod:/tmp/x ./x" ZONE " --dry-run --worker=1"},
      {"ScpDownFromAll", kAll, Given::kNodes, 0, 1, "",
       VM "scp pod:/tmp/x ./x" ZONE " --dry-run --worker=all"},
      {"ScpToAll", kAll, Given::kNodes, 0, 0, "", VM "scp payload.txt pod:" ZONE " --worker=all"},
      // Requests wait in the queue.
      {"QueueOne", kBrief, Given::kNothing, 0, 0, "Created queued_resource [qr1]",
       QR "create qr1" ZONE V5 " --node-id=n1"},
      {"QueueMultislice", kAll, Given::kNothing, 0, 0, "Created",
       QR "create qr2" ZONE V5 " --node-count=3 --node-prefix=ms"},
      {"QueueSpotUntil", kAll, Given::kNothing, 0, 0, "Created",
       QR "create qr3" ZONE V5 " --node-id=n3 --spot --valid-until-duration=6h"},
      {"QueueGuaranteed", kAll, Given::kNothing, 0, 0, "Created",
       QR "create qr4" ZONE V5 " --node-id=n4 --guaranteed"},
      {"QueueReserved", kAll, Given::kNothing, 0, 0, "Created",
       QR "create qr5" ZONE V5 " --node-id=n5 --reserved"},
      {"QueueLater", kAll, Given::kNothing, 0, 0, "Created",
       QR "create qr7" ZONE V5 " --node-id=n7 --valid-after-duration=PT1H30M"},
      {"QueueInterval", kAll, Given::kNothing, 0, 0, "Created",
       QR "create qr6" ZONE V5 " --node-id=n6 --valid-after-duration=1h --valid-until-duration=2h"},
      {"QueueTopology", kAll, Given::kNothing, 0, 0, "Created",
       QR "create qr9 --zone=us-central2-b --node-id=n9 --type=v4 --topology=2x2x2"
          " --runtime-version=v2-alpha-tpuv4"},
      {"QueueBestEffort", kAll, Given::kNothing, 0, 0, "Created",
       "alpha " QR "create qr10" ZONE V5 " --node-id=n10 --best-effort"},
      {"QueueFlexStart", kAll, Given::kNothing, 0, 0, "Created",
       "alpha " QR "create qr11" ZONE V5 " --node-id=n11 --provisioning-model=flex-start"
       " --max-run-duration=10h --valid-until-duration=10h"},
      {"QueueMultiNode", kAll, Given::kNothing, 0, 0, "Created",
       "alpha " QR "create qr12" ZONE V5
       " --node-count=2 --node-prefix=x --workload-type=AVAILABILITY_OPTIMIZED"},
      {"QueueAlphaReserved", kAll, Given::kNothing, 0, 0, "Created",
       "alpha " QR "create qr13" ZONE V5 " --node-id=n13 --reserved --guaranteed"},
      {"QueueAlphaSpot", kAll, Given::kNothing, 0, 0, "Created",
       "alpha " QR "create qr31" ZONE V5 " --node-id=n31 --spot"},
      {"QueueAsync", kAll, Given::kNothing, 0, 0, "",
       QR "create qr14" ZONE V5 " --node-id=n14 --async"},
      {"QueueList", kAll, Given::kQueued, 0, 0, "ACTIVE", QR "list" ZONE},
      {"QueueDescribe", kAll, Given::kQueued, 0, 0, "activeData", QR "describe qr" ZONE},
      {"QueueReset", kAll, Given::kQueued, 0, 0, "", QR "reset qr" ZONE},
      {"QueueSsh", kAll, Given::kQueued, 0, 0, "",
       QR "ssh qm" ZONE " --dry-run --node=all --worker=all --command=hostname"},
      {"QueueDeleteRefused", kAll, Given::kQueued, 0, 1, "FAILED_PRECONDITION",
       QR "delete qr" ZONE},
      {"QueueDeleteForced", kBrief, Given::kQueued, 0, 0, "", QR "delete qr" ZONE " --force"},
      {"QueueDeleteAsync", kAll, Given::kQueued, 0, 0, "", QR "delete qr" ZONE " --force --async"},
      // What zones offer.
      {"AcceleratorTypes", kAll, Given::kNothing, 0, 0, "v3-32", VM "accelerator-types list" ZONE},
      {"AcceleratorType", kAll, Given::kNothing, 0, 0, "v3-8",
       VM "accelerator-types describe v3-8" ZONE},
      {"Topologies", kAll, Given::kNothing, 0, 0, "4x4", "compute tpus topologies list" ZONE},
      {"Versions", kAll, Given::kNothing, 0, 0, "tpu-ubuntu2204-base", VM "versions list" ZONE},
      {"Version", kAll, Given::kNothing, 0, 0, "tpu-ubuntu2204-base",
       VM "versions describe tpu-ubuntu2204-base" ZONE},
      {"Locations", kBrief, Given::kNothing, 0, 0, "us-central2-b", "compute tpus locations list"},
      {"Location", kAll, Given::kNothing, 0, 0, "europe-west4-a",
       "compute tpus locations describe europe-west4-a"},
      {"Reservations", kAll, Given::kNothing, 0, 0, "",
       "alpha compute tpus reservations list" ZONE},
      {"ServiceIdentity", kAll, Given::kNothing, 0, 0, "cloud-tpu.iam.gserviceaccount.com",
       VM "service-identity create" ZONE}};
  return rows;
}

std::vector<Row> Chosen() {
  std::vector<Row> chosen;
  for (const Row& row : Rows()) {
    if (row.brief || std::getenv("PODCTL_TEST_ALL") != nullptr) chosen.push_back(row);
  }
  return chosen;
}

class Gcloud : public ::testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    if (sandbox_.RunProgram({"sh", "-c", "command -v gcloud"}).code != 0) {
      GTEST_SKIP() << "gcloud is not on this machine";
    }
    sandbox_.StartEmulator("none", "0s");
    MakeDoubles();
    MakeEnvironment();
    Give(GetParam().given);
  }

  // ssh and scp that do nothing but end as they are told.
  void MakeDoubles() {
    ::mkdir(sandbox_.Path("doubles").c_str(), 0700);
    ::mkdir(sandbox_.Path("fakebin").c_str(), 0700);
    ::mkdir(sandbox_.Path("outdir").c_str(), 0700);
    for (const char* name : {"doubles/ssh", "doubles/scp"}) {
      sandbox_.WriteFile(name, "#!/bin/sh\nexit " + std::to_string(GetParam().ssh_code) + "\n");
      ::chmod(sandbox_.Path(name).c_str(), 0700);
    }
    sandbox_.WriteFile("payload.txt", "x");
    sandbox_.WriteFile("token", "a-token");
    ::mkdir(sandbox_.Path("home").c_str(), 0700);
    ::mkdir(sandbox_.Path("home/.ssh").c_str(), 0700);
    const RunResult made =
        sandbox_.RunProgram({"ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", Key()});
    ASSERT_EQ(made.code, 0) << made;
  }

  void MakeEnvironment() {
    const std::string url = sandbox_.url() + "/";
    sandbox_.SetVariable("HOME", sandbox_.Path("home"));
    sandbox_.SetVariable("PATH", sandbox_.Path("doubles") + ":" + std::getenv("PATH"));
    sandbox_.SetVariable("CLOUDSDK_CONFIG", sandbox_.Path("gcloud"));
    sandbox_.SetVariable("CLOUDSDK_CORE_PROJECT", "demo-project");
    sandbox_.SetVariable("CLOUDSDK_CORE_DISABLE_PROMPTS", "1");
    sandbox_.SetVariable("CLOUDSDK_CORE_DISABLE_USAGE_REPORTING", "1");
    sandbox_.SetVariable("CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK", "1");
    sandbox_.SetVariable("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", sandbox_.Path("token"));
    sandbox_.SetVariable("CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU", url);
    sandbox_.SetVariable("CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE", url + "compute/v1/");
    sandbox_.SetVariable("CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER", url);
    sandbox_.SetVariable("CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER", url);
    sandbox_.SetVariable("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", url + "storage/v1/");
  }

  void MakeNode(const std::string& id, const std::string& type, const std::string& network) {
    sandbox_.Change("POST", kZone + "/nodes?nodeId=" + id,
                    "{acceleratorType:'" + type +
                        "',runtimeVersion:'tpu-vm-tf-2.11.0-pod',description:'seeded',tags:['a'],"
                        "labels:{env:'dev',old:'1'},metadata:{keep:'me'},networkConfig:{" +
                        network + "}}");
  }

  void MakeQueued(const std::string& id, const std::string& naming) {
    sandbox_.Change("POST", kZone + "/queuedResources?queuedResourceId=" + id,
                    "{tpu:{nodeSpec:[{parent:'projects/demo-project/locations/europe-west4-a'," +
                        naming +
                        ",node:{acceleratorType:'v6e-8',runtimeVersion:'v2-alpha-tpuv6e',"
                        "networkConfig:{enableExternalIps:true}}}]}}");
    const bool active = Eventually([&] {
      return sandbox_.Http("GET", kZone + "/queuedResources/" + id)
                 .body["state"]["state"]
                 .AsString() == "ACTIVE";
    });
    EXPECT_TRUE(active) << id;
  }

  void Give(Given given) {
    const bool nodes = given != Given::kNothing && given != Given::kQueued &&
                       given != Given::kSoldOut && given != Given::kOverQuota &&
                       given != Given::kDenied && given != Given::kSecret &&
                       given != Given::kObject;
    if (nodes) {
      MakeNode("pod", "v3-32", "enableExternalIps:true");
      MakeNode("single", "v3-8", "enableExternalIps:true");
      MakeNode("podint", "v3-32", "");
    }
    const auto post = [&](const std::string& path, const std::string& body) {
      EXPECT_EQ(sandbox_.Http("POST", "/emulator/" + path, body).status, 200) << path << body;
    };
    if (given == Given::kQueued) {
      MakeQueued("qr", "nodeId:'qn'");
      MakeQueued("qm", "multisliceParams:{nodeCount:2}");
    }
    if (given == Given::kSecret) {
      const std::string secrets = "/v1/projects/demo-project/secrets";
      sandbox_.Http("POST", secrets + "?secretId=s", "{replication:{automatic:{}}}");
      sandbox_.Http("POST", secrets + "/s:addVersion", "{payload:{data:'b25l'}}");
      sandbox_.Http("POST", secrets + "/s:addVersion", "{payload:{data:'dHdv'}}");
    }
    if (given == Given::kObject) {
      sandbox_.Http("POST", "/storage/v1/b?project=demo-project", "{name:'e2e-bucket'}");
      sandbox_.Http("POST", "/upload/storage/v1/b/e2e-bucket/o?uploadType=media&name=o", "one");
    }
    if (given == Given::kStopped) sandbox_.Change("POST", kZone + "/nodes/single:stop", "{}");
    if (given == Given::kSoldOut) post("capacity", R"({"v3-32": 0})");
    if (given == Given::kOverQuota) {
      post("faults", R"({"call": "nodes.create", "status": 429, "message": "Quota limit 'X' has)"
                     R"( been exceeded. Limit: 0 in region europe-west4."})");
    }
    if (given == Given::kDenied) post("faults", R"({"call": "nodes.create", "status": 403})");
    if (given == Given::kBusy) post("faults", R"({"call": "nodes.patch", "status": 409})");
    if (given == Given::kNoGuests) {
      post("faults", R"({"call": "nodes.getGuestAttributes", "status": 403})");
    }
    if (given == Given::kTerminated) post("nodes/pod:terminate", "");
    if (given == Given::kRepairing) post("nodes/pod:repair", "");
    if (given == Given::kOverloaded) {
      post("faults", R"({"call": "nodes.list", "times": 2, "status": 503})");
    }
  }

  std::string Key() const { return sandbox_.Path("home/.ssh/google_compute_engine"); }

  Sandbox sandbox_;
};

TEST_P(Gcloud, EndsAsItDoesAtGoogle) {
  // An agent holds the key, which gcloud insists on before it copies to several workers.
  const auto run = sandbox_.StartProgram(
      {"ssh-agent", "sh", "-c", "ssh-add -q " + Key() + "; gcloud " + GetParam().command});
  ASSERT_TRUE(run->Wait(kLimit)) << "it does not end";
  const RunResult result = run->Result();
  EXPECT_EQ(result.code, GetParam().code) << result;
  EXPECT_NE((result.out + result.err).find(GetParam().says), std::string::npos) << result;
}

INSTANTIATE_TEST_SUITE_P(Commands, Gcloud, ::testing::ValuesIn(Chosen()),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace podctl::testing

#include "tests/gcloud/counterparts.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace podctl::testing {
namespace {

constexpr const char* kSsh =
    "addresses and host keys are in the state, and the public key was published when the pod was "
    "created: exec, ssh, tunnel and cp ask no API";
constexpr const char* kRefused = "both refuse it before anything is sent";
constexpr const char* kMaintenance = "podctl has no command for maintenance";

std::string Pod(const std::string& id, const std::string& keys) {
  return fmt::format("  {}: {{{}}}\n", id, keys);
}

Counterpart Create(const std::string& name, const std::string& id, const std::string& keys) {
  return {name, fmt::format("apply of {}: {{{}}}", id, keys), Act::kApply, "", Pod(id, keys)};
}

// The node `pod` of the recorded updates, with what matters to each of them.
Counterpart Update(const std::string& name, const std::string& before, const std::string& after) {
  const std::string common = "acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0-pod";
  const auto with = [&](const std::string& keys) {
    return Pod("pod", keys.empty() ? common : common + ", " + keys);
  };
  return {name, fmt::format("{{{}}} becomes {{{}}}", before, after), Act::kApply, with(before),
          with(after)};
}

void AddCreates(std::vector<Counterpart>* all) {
  const std::string v2 = "acceleratorType: v2-8, runtimeVersion: tpu-ubuntu2204-base";
  const std::string v3 = "acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod";
  for (const auto& [name, id, keys] : std::vector<std::array<std::string, 3>>{
           {"create-01-minimal", "t1", v2},
           {"create-02-seed-pod", "pod", v3 + ", libtpuFlags: {xla_jf_conv_full_precision: true}"},
           {"create-03-topology", "t3",
            "zone: us-central2-b, acceleratorConfig: {type: V4, topology: 2x2x2}, runtimeVersion: "
            "v2-alpha-tpuv4"},
           {"create-05-spot", "t5", v2 + ", schedulingConfig: {spot: true}"},
           {"create-06-preemptible", "t6", v2 + ", schedulingConfig: {preemptible: true}"},
           {"create-08-async", "t8", v2},
           {"create-09-async-json", "t9", v2},
           {"create-10-alpha", "t10",
            "apiVersion: v2alpha1, acceleratorType: v6e-8, runtimeVersion: v2-alpha-tpuv6e, "
            "schedulingConfig: {spot: true, provisioningModel: SPOT}"},
           {"create-11-alpha-bootdisk-reservation", "t11",
            "apiVersion: v2alpha1, acceleratorType: v5p-8, runtimeVersion: v2-alpha-tpuv5, "
            "autocheckpointEnabled: true, bootDiskConfig: {enableConfidentialCompute: true, "
            "customerEncryptionKey: {kmsKeyName: "
            "projects/k/locations/l/keyRings/r/cryptoKeys/c}}, schedulingConfig: "
            "{provisioningModel: RESERVATION_BOUND, reservationName: "
            "projects/123456789012/locations/europe-west4-a/reservations/res-1}"},
           {"create-13-err-exhausted", "exhausted", v3},
           {"create-14-err-quota", "quota", v3},
           {"create-15-err-denied", "denied", v3},
           {"create-16-err-exists", "pod", v3},
           {"create-17-err-badtype", "bad", "acceleratorType: v9-1, runtimeVersion: x"}}) {
    all->push_back(Create(name, id, keys));
  }
  all->push_back({"create-18-err-both", kRefused});
  all->push_back({"extra-16-create-zone-missing", kRefused});
  all->push_back({"extra-12-topology-v5e-ga-rejected",
                  "gcloud refuses the type by itself; podctl sends it, and the service decides"});
}

void AddQueued(std::vector<Counterpart>* all) {
  const std::string type = "acceleratorType: v5litepod-16, runtimeVersion: v2-alpha-tpuv5-lite";
  const std::string alpha = "apiVersion: v2alpha1, " + type;
  for (const auto& [name, id, keys] : std::vector<std::array<std::string, 3>>{
           {"qr-create-01-node-id", "n1", type + ", queuedResource: {id: qr1}"},
           {"qr-create-02-multislice", "ms", type + ", queuedResource: {id: qr2}, slices: 3"},
           {"qr-create-03-spot-until", "n3",
            type + ", queuedResource: {id: qr3, spot: true, queueingPolicy: {validUntilDuration: "
                   "6h}}"},
           {"qr-create-04-guaranteed", "n4",
            type + ", queuedResource: {id: qr4, guaranteed: true}"},
           {"qr-create-05-reserved", "n5",
            type + ", queuedResource: {id: qr5, reservationName: "
                   "projects/demo-project/locations/europe-west4-a/reservations/-}"},
           {"qr-create-07-after-duration", "n7",
            type + ", queuedResource: {id: qr7, queueingPolicy: {validAfterDuration: 1h30m}}"},
           {"qr-create-09-topology", "n9",
            "zone: us-central2-b, acceleratorConfig: {type: V4, topology: 2x2x2}, runtimeVersion: "
            "v2-alpha-tpuv4, queuedResource: {id: qr9}"},
           {"qr-create-10-alpha-best-effort", "n10",
            alpha + ", queuedResource: {id: qr10, bestEffort: true, provisioningModel: STANDARD}"},
           {"qr-create-11-alpha-flexstart", "n11",
            alpha + ", queuedResource: {id: qr11, provisioningModel: FLEX_START, runDuration: "
                    "{maxRunDuration: 10h}, queueingPolicy: {validUntilDuration: 10h}}"},
           {"qr-create-12-alpha-multinode", "x",
            alpha + ", queuedResource: {id: qr12, provisioningModel: STANDARD, workloadType: "
                    "AVAILABILITY_OPTIMIZED}, slices: 2"},
           {"qr-create-13-alpha-reserved", "n13",
            alpha + ", queuedResource: {id: qr13, guaranteed: {reserved: true}, provisioningModel: "
                    "STANDARD}"},
           {"extra-09-alpha-qr-spot-bug", "n31",
            alpha + ", queuedResource: {id: qr31, spot: true, provisioningModel: SPOT}"},
           {"qr-create-14-async", "n14", type + ", queuedResource: {id: qr14}"}}) {
    all->push_back(Create(name, id, keys));
  }
}

void AddUpdates(std::vector<Counterpart>* all) {
  all->push_back(Update("update-01-labels", "labels: {env: dev, old: \"1\"}",
                        "labels: {env: prod, new: \"2\"}"));
  all->push_back(Update("update-02-clear-labels", "labels: {env: dev, old: \"1\"}", ""));
  all->push_back(Update("update-03-add-tags", "tags: [a]", "tags: [b, c]"));
  all->push_back(Update("update-04-clear-tags", "tags: [a]", ""));
  const std::string flags = "libtpuFlags: {xla_jf_conv_full_precision: true}, metadata: ";
  all->push_back(Update("update-05-metadata", flags + "{keep: me}", flags + "{x: \"1\"}"));
  all->push_back(Update("update-07-description-and-labels",
                        "description: seeded, labels: {env: dev, old: \"1\"}",
                        "description: new text, labels: {env: x, old: \"1\"}"));
  all->push_back(Update("update-08-internal-ips", "networkConfig: {enableExternalIps: true}",
                        "networkConfig: {enableExternalIps: false}"));
  all->push_back(Update("update-11-noop", "labels: {env: dev}", "labels: {env: dev}"));
  all->push_back(Update("update-12-alpha-attach-disk-worker", "apiVersion: v2alpha1",
                        "apiVersion: v2alpha1, dataDisks: [{sourceDisk: "
                        "projects/demo-project/zones/europe-west4-a/disks/d9, mode: READ_ONLY, "
                        "workerIds: [\"0\", \"2\"]}]"));
  all->push_back({"update-14-err-notfound", "a pod that is not there is created, not updated"});
}

void AddReads(std::vector<Counterpart>* all) {
  const std::string single =
      Pod("single", "acceleratorType: v3-8, runtimeVersion: tpu-ubuntu2204-base");
  const std::string stopped =
      Pod("single",
          "acceleratorType: v3-8, runtimeVersion: tpu-ubuntu2204-base, desiredState: STOPPED");
  const std::string pod = Pod("pod", "acceleratorType: v3-8, runtimeVersion: tpu-ubuntu2204-base");
  all->push_back({"delete-01", "the pod is taken out of the spec", Act::kApply, pod, "    {}\n"});
  all->push_back(
      {"delete-02-async", "the pod is taken out of the spec", Act::kApply, pod, "    {}\n"});
  all->push_back({"delete-03-notfound", "a delete of a pod that somebody else has deleted",
                  Act::kDelete, "", "nope"});
  all->push_back({"describe-01", "import", Act::kGet, pod, "pod"});
  all->push_back({"describe-02-json", "import --json", Act::kGet, pod, "pod"});
  all->push_back({"describe-03-notfound", "import", Act::kGet, "", "nope"});
  all->push_back({"list-01", "plan", Act::kListNodes});
  all->push_back({"header-01-billing-project", "plan", Act::kListNodes});
  all->push_back(
      {"list-02-all-zones", "podctl lists the zones that the spec and the state name, one by one"});
  all->push_back(
      {"guest-attributes-01", "apply, for the host keys", Act::kGuestAttributes, pod, "pod"});
  all->push_back({"stop-01-single", "desiredState: STOPPED", Act::kApply, single, stopped});
  all->push_back({"stop-02-pod",
                  "podctl knows, and says before anything is sent, that a pod of several hosts "
                  "cannot be stopped"});
  all->push_back({"accelerator-types-01-list", "types", Act::kTypes});
  all->push_back({"accelerator-types-02-describe", "`podctl types` shows all of a zone"});
  all->push_back({"topologies-01-list", "types", Act::kTypes});
  all->push_back({"versions-01-list", "versions", Act::kVersions});
  all->push_back({"versions-02-describe", "`podctl versions` shows all of a zone"});
  for (const char* name : {"locations-01-list", "locations-02-describe"}) {
    all->push_back({name, "podctl has no command for locations"});
  }
  all->push_back({"reservations-01-alpha-list", "podctl has no command for reservations"});
  for (const char* name : {"alpha-perform-maintenance", "alpha-simulate-maintenance"}) {
    all->push_back({name, kMaintenance});
  }
}

void AddOthers(std::vector<Counterpart>* all) {
  all->push_back({"service-identity-01-create", "authorize", Act::kServiceIdentity});
}

void AddSsh(std::vector<Counterpart>* all) {
  for (const char* name : {"extra-02-ssh-busy-409",
                           "extra-03-ssh-no-guest-attributes",
                           "extra-04-iap-no-guest-attributes",
                           "extra-11-repairing-warning",
                           "extra-13-strict-host-key",
                           "extra-14-ssh-flag-substitution",
                           "extra-15-oslogin-metadata",
                           "extra-17-scp-real-all",
                           "extra-18-alpha-batch-real",
                           "scp-02-dryrun-up-recurse",
                           "scp-03-dryrun-down",
                           "scp-04-err-down-all",
                           "ssh-01-dryrun-worker0",
                           "ssh-02-dryrun-tunnel-8888",
                           "ssh-03-dryrun-all",
                           "ssh-04-dryrun-range",
                           "ssh-05-dryrun-internal",
                           "ssh-06-dryrun-noext",
                           "ssh-07-dryrun-alpha-batch",
                           "ssh-08-dryrun-alpha-iap",
                           "ssh-11-real-all-one-fails",
                           "ssh-12-real-subset-fails",
                           "ssh-13-real-outdir",
                           "ssh-14-real-255",
                           "ssh-15-err-state",
                           "ssh-16-err-worker-range",
                           "ssh-17-err-multi-no-command"}) {
    all->push_back({name, kSsh});
  }
}

}  // namespace

std::vector<Counterpart> Counterparts() {
  std::vector<Counterpart> all;
  AddCreates(&all);
  AddQueued(&all);
  AddUpdates(&all);
  AddReads(&all);
  AddSsh(&all);
  AddOthers(&all);
  return all;
}

std::string ReasonOf(const std::string& difference, const std::string& request) {
  struct Reason {
    std::string_view difference;  // its beginning
    std::string_view request;     // a part of it; empty: any
    std::string_view why;
  };
  static const std::vector<Reason> reasons = {
      {"body lacks metadata: {}", "", "an empty map says nothing"},
      {"body lacks serviceAccount: {}", "", "an empty message says nothing"},
      {"body lacks networkConfig.network: \"default\"", "",
       "what a spec does not set is left to the service, whose default this is"},
      {"body lacks networkConfig.enableExternalIps: true", "",
       "gcloud asks for external addresses unless it is told not to; a spec asks for them by "
       "`networkConfig: {enableExternalIps: true}`"},
      {"body lacks schedulingConfig.preemptible: false", "", "false is the default"},
      {"body lacks schedulingConfig.reserved: false", "", "false is the default"},
      {"body lacks schedulingConfig.spot: false", "", "false is the default"},
      {"body lacks shieldedInstanceConfig.enableSecureBoot: false", "", "false is the default"},
      {"body lacks autocheckpointEnabled: false", "", "false is the default"},
      {"body lacks the rest of the node", "",
       "what is outside of the mask is not looked at, and would be an old copy"},
      {"body provisioningModel: \"SPOT\" instead of \"STANDARD\"", "",
       "gcloud says STANDARD beside `spot`, against what was asked for"},
      {"body has queryPath: \"hostkeys/\"", "", "only the host keys are of interest"},
      {"body has labels.podctl-lineage: ", "", "by it a node is found whose state is lost"},
      {"body lacks labels: {}", "", "the label of the lineage stays"},
      {"query has pageSize: 1000", "", "the largest page, for few requests"},
      {"query has requestId: ", "/v2alpha1/", "the service knows a repeat by it"},
      {"query has requestId: ", "/queuedResources", "the service knows a repeat by it"},
      {"query updateMask: description,labels instead of labels,description", "",
       "the order has no meaning; gcloud's changes from run to run"},
      {"is not sent", "GET /v1/projects/",
       "the spec names the reservation in full; gcloud looks its project's number up"},
      {"is not sent", "GET /v2/projects/demo-project/locations/europe-west4-a/nodes/pod",
       "the list has shown the node"},
      {"is sent as well", ":getGuestAttributes", "the workers' host keys are pinned"},
      {"is sent as well", "/operations/OPERATION",
       "podctl waits for the end, and looks more than once"},
      {"is sent as well", "europe-west4-a/operations",
       "whether somebody else changes the node at the same time is seen by their operations"},
      {"is sent as well", "/queuedResources", "one list for each zone shows what there is"},
      {"is sent as well", "/nodes/",
       "the node is read, to merge with it and to see what it is now"},
      {"is sent as well", "/nodes", "one list for each zone shows what there is"},
  };
  // The node of a queued resource is one like any other.
  constexpr std::string_view kNode = "tpu.nodeSpec[0].node.";
  std::string plain = difference;
  if (const auto at = plain.find(kNode); at != std::string::npos) plain.erase(at, kNode.size());
  for (const Reason& reason : reasons) {
    if (plain.starts_with(reason.difference) && request.find(reason.request) != std::string::npos) {
      return std::string(reason.why);
    }
  }
  return {};
}

}  // namespace podctl::testing

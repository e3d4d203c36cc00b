// A state in which every field has a value of its own, for tests of what keeps or shows states.
#pragma once

#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/record.h"
#include "state/state.h"
#include "tests/support/addresses.h"

namespace podctl::testing {

inline State SampleState() {
  PodRecord research;
  research.project = "my-project";
  research.zone = "europe-west4-a";
  research.current.locator = "research";
  research.wanted_node_id = "lab";
  research.current.uid = "4711";
  research.applied.Set("acceleratorType", "v3-32");
  research.applied.SetPath("networkConfig.enableExternalIps", true);
  research.applied.Set("ratio", 0.5);
  research.applied.Set("none", nullptr);
  research.applied.Set("tags", Value(Value::List{"a", 7, Value::EmptyMap()}));
  research.metadata = {{"tensorflow-env-vars", "-e LIBTPU_INIT_ARGS=\"--xla=true\""},
                       {"token", "hmac-sha256:00ff"}};
  research.sensitive_keys = {"token"};
  research.observed.Set("state", "READY");
  research.host_keys = {{0, {"ssh-ed25519 AAAA", "ecdsa-sha2-nistp256 BBBB"}}, {3, {}}};
  research.host_keys_source = "guestAttributes";
  research.ssh = {"alice", 2222, "~/.ssh/id_ed25519", true, true};
  research.exec_env = {{"LIBTPU_INIT_ARGS", "--xla=true\nsecond line \xC3\xA9"}};
  research.depends_on = {Addr("pod.other")};
  research.prevent_destroy = true;
  research.goal = Replacing{"pod.other was replaced"};
  research.deposed = {{"lab", "4710", Present{}},
                      {"research-1", "", Deleting{{"", "2026-11-20T14:29:00Z", 40}}}};
  research.current.life = Deleting{
      {"projects/my-project/locations/europe-west4-a/operations/op-1", "2026-11-20T14:30:00Z", 41}};

  PodRecord other;  // as it stands right before the create is sent
  other.current.locator = "other";
  other.current.life = Creating{{"", "2026-11-20T14:30:01Z", 42}};

  StepRecord step;
  step.pod = Addr("pod.research");
  step.workers = {{0, {"sha256:aa", "4711", "2026-11-20T14:31:00Z"}},
                  {12, {"sha256:bb", "4712", "2026-11-20T14:32:00Z"}}};

  State state;
  state.lineage = "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa";
  state.serial = 42;
  state.digest_key = "00112233445566778899aabbccddeeff";
  state.records = {{Addr("pod.other"), other},
                   {Addr("pod.research"), research},
                   {Addr("bootstrap.research.jupyter"), step}};
  return state;
}

}  // namespace podctl::testing

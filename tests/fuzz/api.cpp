// Answers of the Cloud TPU API, or of whatever answers in its place: a proxy's page, a cut body.
//
// An input is a line "METHOD STATUS" and the body: "list 200", "get 404", "create 409" …; "secret"
// is a question to Secret Manager. The same answer is given to every request of the method. What is
// read goes on to where nodes end up: into the state and into a plan.
#include "plans/engine/observe.h"
#include "plans/engine/planner.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/spec.h"
#include "providers/gcp/secret_manager.h"
#include "providers/gcp/secret_name.h"
#include "providers/gcp/tpu_provider.h"
#include "providers/provider.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/providers/gcp/fake_gcloud.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/fake_transport.h"
#include "tests/support/kinds.h"

namespace podctl::fuzz {
namespace {

const NodeName kNode{"p", "europe-west4-a", "research"};

void CheckOperation(const Operation& operation) {
  Expect(operation.error.size() <= 1, "an operation fails for one reason");
  for (const Error& error : operation.error) ExpectShowable(error);
}

// A spec and a state that know the node, as apply has them when the answer comes.
Spec OnePod() {
  Spec spec;
  PodSpec pod;
  pod.name = "research";
  pod.project = kNode.project;
  pod.zone = kNode.zone;
  pod.node_id = kNode.node;
  pod.node.Set("acceleratorType", "v3-32");
  pod.node.Set("runtimeVersion", "tpu-vm-tf-2.11.0-pod");
  pod.node.SetPath("labels.team", "vision");
  testing::Declare(std::move(pod), &spec);
  return spec;
}

State OneRecord() {
  State state;
  state.lineage = "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa";
  state.digest_key = "00112233";
  PodRecord& record = Pods(state)[PodAddress("research")];
  record.project = kNode.project;
  record.zone = kNode.zone;
  record.current.locator = kNode.node;
  record.current.uid = "4711";
  record.applied.Set("acceleratorType", "v3-32");
  record.current.life = Changing{{"", "2026-11-20T14:30:00Z", 1}};
  return state;
}

void PlanWith(const Value& node) {
  NodeState(node);
  NodeHealth(node);
  NodeUid(node);
  Observation observation;
  PodsIn(&observation).nodes.emplace(kNode, node);
  std::vector<std::string> notes;
  const State state = Settle(OneRecord(), observation, testing::AllKinds().all, &notes);
  for (const std::string& note : notes) ExpectShowable(note);
  const PodRecord& record = Pods(state).at(PodAddress("research"));
  Expect(AccessToWorkers("research", record).size() == WorkerCount(node),
         "every worker of a node can be reached, in theory");
  Diagnostics diagnostics;
  const Plan plan =
      MakePlan(OnePod(), state, observation, {}, testing::AllKinds().all, diagnostics);
  Expect(!plan.changes.empty() || diagnostics.has_errors(), "a plan says something of its pod");
}

void CheckWorkers(const std::vector<WorkerAttributes>& workers) {
  for (const auto& [worker, keys] : HostKeysOf(workers)) {
    Expect(worker >= 0 && worker < static_cast<int>(workers.size()), "a key has its worker");
    Expect(!keys.empty(), "a worker without keys is left out");
  }
}

template <typename T>
bool Got(const Result<T>& result) {
  if (!result) ExpectShowable(result.error());
  return result.has_value();
}

void AskForSecret(Secrets& secrets) {
  const auto value = secrets.Access("projects/p/secrets/s/versions/latest", {});
  if (!Got(value)) return;
  const auto name = gcp::ParseSecretName(value->name);
  Expect(name && name->HasNumber() && name->Secret() == "projects/p/secrets/s",
         "what is read is a version of what was asked for");
}

void Ask(Provider& provider, std::string_view method) {
  if (method == "get") {
    if (const auto node = provider.GetNode(kNode, {}); Got(node)) PlanWith(*node);
  } else if (method == "create") {
    const auto operation = provider.CreateNode(kNode, Value::EmptyMap(), "", {});
    if (Got(operation)) CheckOperation(*operation);
  } else if (method == "operation") {
    const auto operation =
        provider.GetOperation("projects/p/locations/europe-west4-a/operations/o", {});
    if (Got(operation)) CheckOperation(*operation);
  } else if (method == "operations") {
    const auto operations = provider.ListOperations(kNode.project, kNode.zone, {});
    if (!Got(operations)) return;
    for (const Operation& operation : *operations) CheckOperation(operation);
  } else if (method == "guest") {
    const auto workers = provider.GetGuestAttributes(kNode, "hostkeys/", {});
    if (Got(workers)) CheckWorkers(*workers);
  } else {
    const auto nodes = provider.ListNodes(kNode.project, kNode.zone, {});
    if (!Got(nodes)) return;
    for (const Value& node : *nodes) PlanWith(node);
  }
}

}  // namespace
}  // namespace podctl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace podctl;
  const std::string_view text = fuzz::TextOf(data, size);
  const std::string_view head = text.substr(0, text.find('\n'));
  const std::string_view body = text.substr(std::min(text.size(), head.size() + 1));
  const std::size_t blank = std::min(head.find(' '), head.size());
  int status = 0;
  for (const char c : head.substr(blank)) {
    if (c >= '0' && c <= '9' && status < 100) status = status * 10 + (c - '0');
  }
  const FixedEnvironment environment({});
  testing::FakeFileSystem files;
  testing::FakeGcloud gcloud;
  testing::FakeTransport transport;
  testing::FakeClock clock;
  testing::FakeRandom random;
  gcp::Credentials credentials({environment, files, gcloud, transport, clock, random});
  transport.Then(status, std::string(body));
  gcp::TpuProvider provider(*gcp::ParseEndpoint("http://127.0.0.1:8470/"), transport, credentials,
                            clock, random);
  gcp::SecretManager secrets(std::nullopt, transport, credentials, clock, random);
  const std::string_view method = head.substr(0, blank);
  if (method == "secret") {
    fuzz::AskForSecret(secrets);
  } else {
    fuzz::Ask(provider, method);
  }
  return 0;
}

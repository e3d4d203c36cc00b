// The state and the pods' health as people and tools see them.
#include "cmd/views/state_view.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "plans/kinds/file/record.h"
#include "plans/kinds/pod/backings/queued.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/json.h"
#include "tests/support/addresses.h"
#include "tests/support/fake_provider.h"
#include "tests/support/golden.h"
#include "tests/support/sample_state.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using testing::ExpectGolden;
using ::testing::HasSubstr;
using ::testing::Not;

State Sample() {
  State state = testing::SampleState();
  Value::List endpoints;
  for (int i = 0; i < 6; ++i) {
    Value endpoint;
    endpoint.Set("ipAddress", "10.0.0." + std::to_string(i));
    endpoints.push_back(endpoint);
  }
  Pods(state)[Addr("pod.research")].observed.Set("networkEndpoints", endpoints);
  Pods(state)[Addr("pod.research")].observed.Set("health", "HEALTHY");
  return state;
}

TEST(StateView, OnePodAndOneStep) {
  const State state = Sample();
  EXPECT_THAT(AddressesOf(state),
              ElementsAre("bootstrap.research.jupyter", "pod.other", "pod.research"));
  std::string text;
  for (const Address& address : AddressesOf(state)) text += ShowAddress(state, address) + "\n";
  ExpectGolden("cmd/state/show.txt", text);
  EXPECT_EQ(ShowAddress(state, Addr("pod.none")), "");
  EXPECT_THAT(text, Not(HasSubstr("00ff")));  // not even the digest of a secret
}

TEST(StateView, ANodeThatIsGoneHasNoState) {
  State state = Sample();
  Pods(state)[Addr("pod.research")].observed = Value();
  EXPECT_THAT(ShowAddress(state, Addr("pod.research")), Not(HasSubstr("STATE_UNSPECIFIED")));
}

TEST(StateView, TheDocument) {
  const std::string text = ToJson(StateDocument(Sample()), JsonStyle::kIndented) + "\n";
  ExpectGolden("cmd/state/show.json", text);
  EXPECT_THAT(text, Not(HasSubstr("00112233")));  // the key of the digests
  EXPECT_THAT(text, Not(HasSubstr("00ff")));
}

TEST(StateView, StatusTable) {
  State state;
  Observation observation;
  const auto add = [&](const std::string& name, const std::string& node_state,
                       const std::string& health, int workers) {
    PodRecord record;
    record.project = "p";
    record.zone = "europe-west4-a";
    record.current.locator = name;
    record.current.life = Present{};
    Value node;
    node.Set("state", node_state);
    if (!health.empty()) node.Set("health", health);
    node.Set("acceleratorType", workers > 1 ? "v3-64" : "v3-8");
    Value::List endpoints;
    for (int i = 0; i < workers; ++i) {
      Value endpoint;
      endpoint.SetPath("accessConfig.externalIp", "203.0.113." + std::to_string(i + 1));
      endpoints.push_back(endpoint);
    }
    node.Set("networkEndpoints", endpoints);
    record.observed = node;
    Pods(state)[Addr("pod." + name)] = record;
    PodsIn(&observation).nodes[NameOf(record)] = node;
  };
  add("research", "READY", "HEALTHY", 8);
  add("sick", "READY", "UNHEALTHY_MAINTENANCE", 1);
  add("taken", "PREEMPTED", "", 1);
  add("gone", "READY", "", 1);
  PodsIn(&observation).nodes.erase(NameOf(Pods(state)[Addr("pod.gone")]));
  add("coming", "CREATING", "", 0);
  PodsIn(&observation).nodes.erase(NameOf(Pods(state)[Addr("pod.coming")]));
  Pods(state)[Addr("pod.coming")].current.life = Creating{};
  const auto rows = StatusRows(state, observation);
  ExpectGolden("cmd/state/status.txt", StatusTable(rows, false));
  ExpectGolden("cmd/state/status_color.txt", StatusTable(rows, true));
  ExpectGolden("cmd/state/status_narrow.txt", StatusTable(rows, false, 100));
  ExpectGolden("cmd/state/status_empty.txt", StatusTable({}, false));
  ExpectGolden("cmd/state/status.json",
               ToJson(StatusDocument(rows, state, observation), JsonStyle::kIndented) + "\n");
  // The table's dash is a table's.
  const Value gone = StatusDocument(rows, state, observation)["pods"].AsList()[1];
  EXPECT_EQ(gone["pod"], Value("gone"));
  EXPECT_TRUE(gone["health"].is_null());
  EXPECT_TRUE(gone["acceleratorType"].is_null());
}

// As a plan has it: what its queued resource is doing, and who began that, explains the node.
TEST(StateView, TheStateOfAQueuedResourceComesBeforeThatOfItsNode) {
  State state;
  Observation observation;
  PodRecord record;
  record.project = "p";
  record.zone = "z";
  record.current.locator = "a";
  record.current.life = Present{};
  record.queued = QueuedRecord{"a", Value::EmptyMap(), 1, "ACTIVE"};
  Pods(state)[Addr("pod.a")] = record;
  Value& queued = PodsIn(&observation).auxiliary[QueuedNameOf(record).Resource()];
  queued.SetPath("state.state", "SUSPENDING");
  queued.SetPath("state.stateInitiator", "SERVICE");
  Value& node = PodsIn(&observation).nodes[NameOf(record)];
  for (const char* node_state : {"PREEMPTED", "DELETING", "READY"}) {
    node.Set("state", node_state);
    const auto rows = StatusRows(state, observation);
    EXPECT_THAT(StatusTable(rows, false), HasSubstr("a    SUSPENDING by the service  "));
    const Value document = StatusDocument(rows, state, observation)["pods"].AsList()[0];
    EXPECT_EQ(document["state"], Value("SUSPENDING")) << "a word of the service's";
    EXPECT_EQ(document["stateInitiator"], Value("SERVICE"));
  }
}

// A pod of many workers, on the terminal that everybody has.
TEST(StateView, AStatusThatIsSomeColumnsTooWideLeavesOutWhatIsSaidElsewhere) {
  std::vector<std::string> addresses;
  for (int i = 100; i < 132; ++i) addresses.push_back(fmt::format("10.164.0.{}", i));
  const StatusRow row{"research",       "READY",    "HEALTHY", "v3-256", "p",
                      "europe-west4-a", "research", "32",      addresses};
  EXPECT_THAT(StatusTable({row}, false, 90), HasSubstr("  32       10.164.0.100, … 31 more\n"));
  EXPECT_EQ(StatusTable({row}, false, 80),
            "POD       STATE  HEALTH   TYPE    ZONE            WORKERS  ADDRESSES\n"
            "research  READY  HEALTHY  v3-256  europe-west4-a  32       10.164.0.100, …\n");
}

// What a replacement left behind costs money until it is deleted.
TEST(StateView, ADeposedNodeIsShownAndNodesThatAreNotCalledAsTheirPods) {
  State state;
  Observation observation;
  PodRecord record;
  record.project = "p";
  record.zone = "z";
  record.current.locator = "cbd-2";
  record.current.life = Present{};
  record.deposed = {{"cbd", "4711", Present{}}, {"cbd-1", "4712", Present{}}};
  Pods(state)[Addr("pod.cbd")] = record;
  PodSurvey& survey = PodsIn(&observation);
  survey.nodes[NameOf(record)].Set("state", "READY");
  Value& old = survey.nodes[NameOf(record, record.deposed[0])];
  old.Set("state", "READY");
  old.Set("id", "4711");
  old.Set("acceleratorType", "v3-8");
  const auto rows = StatusRows(state, observation);
  EXPECT_EQ(StatusTable(rows, false),
            "POD                  STATE  HEALTH  TYPE  PROJECT  ZONE  NODE   WORKERS  ADDRESSES\n"
            "cbd                  READY  -             p        z     cbd-2  0        -\n"
            "cbd (deposed cbd)    READY  -       v3-8  p        z     cbd    0        -\n"
            "cbd (deposed cbd-1)  GONE   -       -     p        z     cbd-1  -        -\n");
  const auto pods = StatusDocument(rows, state, observation)["pods"].AsList();
  ASSERT_EQ(pods.size(), 3U);
  EXPECT_EQ(pods[0]["deposed"], Value(false));
  EXPECT_EQ(pods[1]["address"], Value("pod.cbd (deposed cbd)"));
  EXPECT_EQ(pods[1]["deposed"], Value(true));
  EXPECT_EQ(pods[1]["nodeId"], Value("cbd"));
}

TEST(StateView, PodsThatAreNotMadeStandAmongTheOthers) {
  StatusRow there{"b", "READY", "HEALTHY", "v3-8", "p", "z", "b", "1", {"203.0.113.1"}};
  there.ends_at = "2026-11-20T16:30:00Z";
  std::vector<StatusRow> rows = {there};
  PodSpec pod;
  pod.name = "a";
  pod.project = "p";
  pod.zone = "z";
  pod.node_id = "a";
  pod.node.Set("acceleratorType", "v3-32");
  AddNotMade({pod}, &rows);
  EXPECT_THAT(StatusTable(rows, false),
              HasSubstr("a    NOT CREATED  -        v3-32  p        z     -        -\nb    READY"));
  EXPECT_EQ(NotMadeText(rows), "pod.a is in the spec and not made yet: podctl apply\n");
  EXPECT_EQ(NotMadeText({there}), "");
  EXPECT_EQ(NotMadeText({rows[0], rows[0]}),
            "2 pods are in the spec and not made yet: podctl apply\n");
  const Value document = StatusDocument(rows, {}, {})["pods"].AsList()[0];
  EXPECT_EQ(document["state"], Value("NOT CREATED"));
  EXPECT_EQ(document["workers"], Value(0));
  EXPECT_TRUE(document["endsAt"].is_null());
  EXPECT_EQ(StatusDocument(rows, {}, {})["pods"].AsList()[1]["endsAt"], Value(there.ends_at));
}

// Who reads the document learns of a file what the table says.
TEST(StateView, TheDocumentOfAStatusTellsHowAFileStands) {
  State state;
  Observation observation;
  const auto add = [&](const std::string& name, Value seen) {
    FileRecord file;
    file.current.locator = "/out/" + name;
    file.current.life = Present{};
    file.path = file.current.locator;
    file.digest = "sha256:aa";
    file.mode = 0644;
    state.records.insert_or_assign(FileAddress(name), file);
    observation.seen[FileAddress(name)].Set("old", std::move(seen));
  };
  const auto is = [](const std::string& digest) {
    Value value = Value::EmptyMap();
    value.Set("kind", "file");
    value.Set("digest", digest);
    value.Set("mode", 0644);
    return value;
  };
  add("changed", is("sha256:bb"));
  add("gone", Value());
  add("well", is("sha256:aa"));
  const Value document = StatusDocument({}, state, observation);
  std::vector<std::string> states;
  for (const Value& file : document["files"].AsList()) states.push_back(file["state"].AsString());
  EXPECT_THAT(states, ElementsAre("CHANGED", "GONE", "WRITTEN"));
  EXPECT_THAT(OtherTables(state, observation, false), HasSubstr("CHANGED"));
  EXPECT_FALSE(StateDocument(state)["files"].AsList()[0].Find("state")) << "nobody looked";
}

TEST(StateView, ARowIsALineWhateverTheServiceSends) {
  const StatusRow row{"a", "READY\nb  READY",  "HEALTHY\n", "v3-8\n", "p\n", "z\n", "n",
                      "1", {"10.0.0.1\n-> rm"}};
  const std::string table = StatusTable({row}, false);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2) << table;
  Value node;
  node.Set("state", "READY\nforged");
  node.Set("health", "HEALTHY\nforged");
  node.Set("healthDescription", "well\nforged");
  EXPECT_EQ(NodeState(node) + NodeHealth(node) + NodeHealthDescription(node),
            "READY\\x0aforgedHEALTHY\\x0aforgedwell\\x0aforged");
}

// JSON has its own way to write them.
TEST(StateView, TheDocumentHasTheServicesWordsAsTheyAre) {
  State state;
  Observation observation;
  PodRecord record;
  record.project = "p";
  record.zone = "z";
  record.current.locator = "a";
  record.current.life = Present{};
  Pods(state)[Addr("pod.a")] = record;
  Value& node = PodsIn(&observation).nodes[NameOf(record)];
  node.Set("state", "READY\x1b]0;");
  node.Set("health", "WELL\x1b");
  const auto rows = StatusRows(state, observation);
  const Value document = StatusDocument(rows, state, observation)["pods"].AsList()[0];
  EXPECT_EQ(document["state"], Value("READY\x1b]0;"));
  EXPECT_EQ(document["health"], Value("WELL\x1b"));
  EXPECT_THAT(StatusTable(rows, false), HasSubstr("READY\\x1b]0;  WELL\\x1b"));
}

TEST(StateView, HistoryListsThePresentGenerationFirst) {
  const HistoryEntry present{42, "", 5120, {{"pod", 3}, {"bootstrap", 2}}, "l", "", "", {}};
  std::vector<HistoryEntry> kept = {
      {41, "2026-11-20T14:30:00Z", 4096, {{"pod", 2}}, "l", "a: PREEMPTED, being deleted", "", {}},
      {40, "2026-11-19T09:00:00Z", 0, {}, "", "", "podctl.state.json.history/x.json is empty", {}},
      {7, "2026-11-18T09:00:00Z", 1'000'000, {{"pod", 150}, {"bootstrap", 300}}, "m", "", "", {}}};
  ExpectGolden("cmd/state/history.txt", HistoryTable(present, kept));
  ExpectGolden("cmd/state/history.json",
               ToJson(HistoryDocument(present, kept), JsonStyle::kIndented) + "\n");
  // With what is known of the runs that made them.
  HistoryEntry made = present;
  made.run = Provenance{"alice@desk",
                        "apply",
                        "podctl apply",
                        "1.9.0",
                        "3f2a91c0d4e5f60718293a4b5c6d7e8f90a1b2c3",
                        true,
                        "",
                        "",
                        "",
                        ""};
  kept[0].run = Provenance{"runner@ci-7",
                           "apply",
                           "podctl apply --auto-approve",
                           "1.8.0",
                           "0123456789abcdef0123456789abcdef01234567",
                           false,
                           "gitlab",
                           "https://gitlab.example/team/pods/-/jobs/4711",
                           "4711",
                           ""};
  ExpectGolden("cmd/state/history_runs.txt", HistoryTable(made, kept));
  ExpectGolden("cmd/state/history_runs_100.txt", HistoryTable(made, kept, 100));
  ExpectGolden("cmd/state/history_runs_40.txt", HistoryTable(made, kept, 40));
  ExpectGolden("cmd/state/history_runs.json",
               ToJson(HistoryDocument(made, kept), JsonStyle::kIndented) + "\n");
  kept[0].run.reset();
  HistoryEntry damaged;
  damaged.problem = "the state podctl.state.json is empty";
  ExpectGolden("cmd/state/history_damaged.txt", HistoryTable(damaged, kept));
  EXPECT_EQ(HistoryTable({}, {}), "There is no state yet.\n");
}

}  // namespace
}  // namespace podctl

#include "state/state_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/record.h"
#include "plans/kinds/training_job/record.h"
#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/os/clock.h"
#include "tests/support/addresses.h"
#include "tests/support/folders.h"
#include "tests/support/golden.h"
#include "tests/support/sample_state.h"

namespace podctl {
namespace {

using ::testing::HasSubstr;
using testing::SampleState;

Error MustRefuse(std::string_view text) {
  auto state = StateFromJson(text, "podctl.state.json", RememberedKinds());
  EXPECT_FALSE(state) << "was read: " << text.substr(0, 200);
  return state ? Error{} : state.error();
}

// The sample with one member changed and the checksum made good again, as only a program that
// writes states (another podctl) would leave it.
std::string Resealed(const std::function<void(Value&)>& change) {
  Value document = *ParseJson(StateToJson(SampleState()));
  change(document);
  document.Set("checksum", "");
  document.Set("checksum", "sha256:" + Sha256Hex(ToJson(document)));
  return ToJson(document);
}

TEST(StateJson, LooksAsDocumented) {
  std::string text = StateToJson(SampleState());
  // The version of podctl is part of the text, and of its checksum; everything else is fixed.
  for (std::string_view key : {"\"podctl_version\": \"", "\"checksum\": \"sha256:"}) {
    const std::size_t begin = text.find(key) + key.size();
    text.replace(begin, text.find('"', begin) - begin, "…");
  }
  testing::ExpectGolden("state/sample.state.json", text);
}

TEST(StateJson, EveryFieldComesBack) {
  auto state = StateFromJson(StateToJson(SampleState()), "x", RememberedKinds());
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(*state, SampleState());
}

TEST(StateJson, AQueuedResourceComesBackAndMustBeWhole) {
  State sample = SampleState();
  PodRecord& research = Pods(sample).at(Addr("pod.research"));
  research.queued = QueuedRecord{"research", *ParseJson(R"({"spot":true})"), 2, "ACTIVE"};
  research.current.life = Present{};
  research.auxiliary = {{"research", "",
                         Creating{{"projects/my-project/locations/europe-west4-a/operations/op", "",
                                   1, "0f0f0f0f-0000-4000-8000-000000000001"}}}};
  auto state = StateFromJson(StateToJson(sample), "x", RememberedKinds());
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(*state, sample);
  const Error error = MustRefuse(Resealed([](Value& document) {
    Value& pod = document.MutableMap()["resources"].MutableMap()["pod.research"];
    pod.MutableMap()["payload"].Set("queued", *ParseJson(R"({"slices":0,"state":"","terms":{}})"));
  }));
  EXPECT_NE(error.message.find("slices"), std::string::npos) << error.message;
}

// As a podctl of before wrote them down: such a state is no dead end.
TEST(StateJson, AnOperationThatNobodyCanHaveIsForgotten) {
  const std::string place = "projects/my-project/locations/europe-west4-a/";
  for (const std::string& odd :
       {place + "nodes/a", place + "operations/..", place + "operations/\n", std::string("x"),
        std::string("projects/q/locations/europe-west4-a/operations/o"),
        std::string("projects/my-project/locations/us-east1-d/operations/o")}) {
    State state = SampleState();
    PodRecord& record = Pods(state).at(Addr("pod.research"));
    record.current.life = Deleting{{odd, "2026-11-20T14:30:00Z", 41}};
    record.deposed = {{"lab", "4710", Deleting{{odd, "2026-11-20T14:30:00Z", 41}}}};
    const auto read = StateFromJson(StateToJson(state), "x", RememberedKinds());
    ASSERT_TRUE(read) << odd;
    const PodRecord& pod = Pods(*read).at(Addr("pod.research"));
    EXPECT_EQ(pod.pending()->operation, "") << odd;
    EXPECT_EQ(pod.deposed[0].pending()->operation, "") << odd;
    EXPECT_EQ(pod.pending()->begun_at, "2026-11-20T14:30:00Z");
  }
}

TEST(StateJson, TheOtherTransportComesBackAndNoThirdIsTaken) {
  State sample = SampleState();
  Pods(sample).at(Addr("pod.research")).ssh.transport = "openssh";
  auto state = StateFromJson(StateToJson(sample), "x", RememberedKinds());
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(*state, sample);
  const Error error = MustRefuse(Resealed([](Value& document) {
    Value& ssh = document.MutableMap()["resources"]
                     .MutableMap()["pod.research"]
                     .MutableMap()["payload"]
                     .MutableMap()["ssh"];
    ssh.Set("transport", "pigeon");
  }));
  EXPECT_NE(error.message.find("transport"), std::string::npos) << error.message;
}

TEST(StateJson, TheWayInComesBackAndAnotherIsRefused) {
  State sample = SampleState();
  PodRecord& pod = Pods(sample).at(Addr("pod.research"));
  pod.ssh.proxy_jump = "alice@bastion:2200";
  pod.ssh.iap = true;
  pod.ssh.external_address = true;
  pod.ssh.withhold_key = true;
  pod.ssh.os_login_user = "alice_example_com";
  pod.vm_names = {{0, "t1v-n-1-w-0"}, {1, "t1v-n-1-w-1"}};
  pod.own_keys = {"alice:ssh-ed25519 AAAA alice"};
  pod.team_keys = {"carol:ssh-ed25519 BBBB"};
  auto state = StateFromJson(StateToJson(sample), "x", RememberedKinds());
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(*state, sample);
  const Error error = MustRefuse(Resealed([](Value& document) {
    Value& ssh = document.MutableMap()["resources"]
                     .MutableMap()["pod.research"]
                     .MutableMap()["payload"]
                     .MutableMap()["ssh"];
    ssh.Set("iap", "maybe");
  }));
  EXPECT_NE(error.message.find("iap"), std::string::npos) << error.message;
}

std::string WhySharing(const std::function<void(State&)>& edit) {
  State state = SampleState();
  edit(state);
  auto read = StateFromJson(StateToJson(state), "x", RememberedKinds());
  return read ? "" : read.error().message;
}

PodRecord AnotherPod(const std::string& node, const std::string& uid, Life life) {
  PodRecord pod;
  pod.project = "my-project";
  pod.zone = "europe-west4-a";
  pod.current = {node, uid, std::move(life)};
  return pod;
}

// What is done to one would be done to the other: whoever deletes one deletes the other's node.
TEST(StateJson, TwoRecordsOfOneNodeAreRefused) {
  const auto with = [](const PodRecord& pod) {
    return WhySharing([&](State& state) { Pods(state)[Addr("pod.twin")] = pod; });
  };
  const std::string research =
      "pod.research and pod.twin stand for the same object, "
      "projects/my-project/locations/europe-west4-a/nodes/";
  EXPECT_THAT(with(AnotherPod("research", "", Present{})), HasSubstr(research + "research"));
  EXPECT_THAT(with(AnotherPod("research", "4711", Deleting{})), HasSubstr("the same object"));
  EXPECT_THAT(with(AnotherPod("lab", "", Present{})), HasSubstr(research + "lab")) << "deposed";
  // A project may be called by its number.
  PodRecord numbered = AnotherPod("research", "4711", Present{});
  numbered.project = "123";
  EXPECT_THAT(with(numbered),
              HasSubstr("pod.research and pod.twin stand for the same object, uid"));
  numbered.current.locator = "twin";
  EXPECT_EQ(with(numbered), "");
  PodRecord slices = AnotherPod("res", "", Present{});
  slices.queued = QueuedRecord{"q", Value::EmptyMap(), 2, ""};
  slices.auxiliary = {{"q", "", Present{}}};
  EXPECT_EQ(with(slices), "");
  EXPECT_THAT(WhySharing([&](State& state) {
                Pods(state)[Addr("pod.one")] = AnotherPod("res-1", "", Present{});
                Pods(state)[Addr("pod.twin")] = slices;
              }),
              HasSubstr("pod.twin and pod.one stand for the same object"));
  slices.current.uid = "7+8";
  for (const auto& [uid, shared] : {std::pair{"8", true}, {"7", false}, {"9", false}}) {
    const std::string why = WhySharing([&, uid = uid](State& state) {
      Pods(state)[Addr("pod.one")] = AnotherPod("res-1", uid, Present{});
      Pods(state)[Addr("pod.twin")] = slices;
    });
    EXPECT_EQ(!why.empty(), shared) << uid;
  }
  slices.current.uid = "";
  EXPECT_EQ(WhySharing([&](State& state) {
              Pods(state)[Addr("pod.one")] = AnotherPod("res-2", "", Present{});
              Pods(state)[Addr("pod.two")] = AnotherPod("res", "", Present{});
              Pods(state)[Addr("pod.twin")] = slices;
            }),
            "");
}

TEST(StateJson, OneNodeMayFollowAnotherUnderItsName) {
  const auto with = [](const PodRecord& pod) {
    return WhySharing([&](State& state) { Pods(state)[Addr("pod.next")] = pod; });
  };
  EXPECT_EQ(with(AnotherPod("research", "", Creating{})), "") << "nobody has seen it";
  EXPECT_EQ(with(AnotherPod("research", "4712", Present{})), "") << "the first was deleted";
  EXPECT_EQ(with(AnotherPod("research", "", Creating{{}, true})), "")
      << "the deletion of the first is not settled";
  PodRecord elsewhere = AnotherPod("research", "", Present{});
  elsewhere.zone = "us-central2-b";
  EXPECT_EQ(with(elsewhere), "");
}

// Of these the service would say that there is nothing, and the node would look as if it were gone.
TEST(StateJson, NamesThatNothingHasAreRefused) {
  const auto with = [](const std::function<void(PodRecord&)>& edit) {
    return WhySharing([&](State& state) { edit(Pods(state).at(Addr("pod.research"))); });
  };
  for (const std::string name : {"my-project/../other", "My Project", "p?x", "p#"}) {
    EXPECT_THAT(with([&](PodRecord& pod) { pod.project = name; }),
                HasSubstr("pod.research.payload has a project that is none, `" + name + "`"));
  }
  EXPECT_THAT(with([](PodRecord& pod) { pod.zone = "europe-west4-a/nodes"; }),
              HasSubstr("pod.research.payload has a zone that is none"));
  EXPECT_THAT(with([](PodRecord& pod) { pod.current.locator = "../x"; }),
              HasSubstr("pod.research.payload has a node that is none"));
  EXPECT_THAT(with([](PodRecord& pod) { pod.deposed[0].locator = ".."; }),
              HasSubstr("pod.research.payload has a node that is none"));
  EXPECT_EQ(with([](PodRecord& pod) { pod.project = "example.com:lab-1"; }), "");
}

TEST(StateJson, ANodeWithoutANameIsRefused) {
  const auto with = [](const std::function<void(PodRecord&)>& edit) {
    return WhySharing([&](State& state) { edit(Pods(state).at(Addr("pod.research"))); });
  };
  const std::string why = "pod.research.payload has a node without a name";
  EXPECT_THAT(with([](PodRecord& pod) { pod.project = ""; }), HasSubstr(why));
  EXPECT_THAT(with([](PodRecord& pod) { pod.zone = ""; }), HasSubstr(why));
  EXPECT_THAT(with([](PodRecord& pod) { pod.current.locator = ""; }), HasSubstr(why));
}

TEST(StateJson, AnAddressWithAnEmptyPartIsRefused) {
  for (const std::string name :
       {"", "pod", "pod.", ".research", "bootstrap.research.", "bootstrap..jupyter", "pod.[\"a\"]",
        "pod.a[\"\"]", "pod.a (deposed a-1)", "pod. (deposed a-1)"}) {
    const Error error = MustRefuse(Resealed([&](Value& document) {
      Value& resources = document.MutableMap()["resources"];
      const bool is_step = name.starts_with("bootstrap");
      resources.Set(name, resources[is_step ? "bootstrap.research.jupyter" : "pod.research"]);
    }));
    EXPECT_THAT(error.message, HasSubstr("has a resource `" + name + "`, which is no address"));
  }
}

// podctl writes addresses into commands that people copy.
TEST(StateJson, AnAddressThatNoSpecCouldHaveIsRefused) {
  for (const std::string name :
       {"pod.$(touch x)", "pod.a b", "pod.-rf", "pod.a;b", "pod...", "pod.a.b", "pod.a[\"b\"]",
        "pod.\x1b[31ma", "pod.a\nb", "bootstrap.research.`id`", "bootstrap.research"}) {
    const Error error = MustRefuse(Resealed([&](Value& document) {
      Value& resources = document.MutableMap()["resources"];
      const bool is_step = name.starts_with("bootstrap");
      resources.Set(name, resources[is_step ? "bootstrap.research.jupyter" : "pod.research"]);
    }));
    EXPECT_THAT(error.message, HasSubstr("the state podctl.state.json is damaged: the document has "
                                         "a resource `" +
                                         VisibleControls(name) +
                                         "`, which is no address of a spec: names are of letters, "
                                         "digits, - and _"));
    EXPECT_THAT(error.hint, HasSubstr("podctl state restore"));
  }
}

TEST(StateJson, NorIsItAmongWhatARecordBuildsOn) {
  const auto with = [](const std::string& record, const std::string& member, const Value& value) {
    return MustRefuse(Resealed([&](Value& document) {
             document.MutableMap()["resources"].MutableMap()[record].SetPath("payload." + member,
                                                                             value);
           }))
        .message;
  };
  EXPECT_THAT(with("pod.research", "depends_on", Value(Value::List{Value("pod.$(touch x)")})),
              HasSubstr("holds `pod.$(touch x)`, which is no address"));
}

// A lineage becomes a label of nodes, and a key that nobody made hides nothing.
TEST(StateJson, ALineageOrAKeyThatPodctlDidNotMakeIsRefused) {
  const auto with = [](const std::string& member, const std::string& text) {
    return MustRefuse(Resealed([&](Value& document) { document.Set(member, text); })).message;
  };
  for (const std::string lineage :
       {"a b", "../x", "8F14E45F-CEEA-467F-A0E6-C1A5B1B7D3AA",
        "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa0", "8f14e45f+ceea-467f-a0e6-c1a5b1b7d3aa"}) {
    EXPECT_THAT(with("lineage", lineage), HasSubstr("the document has a `lineage` that is no UUID"))
        << lineage;
  }
  for (const std::string key : {"zz", "00", "00112233445566778899aabbccddeefg"}) {
    EXPECT_THAT(with("digest_key", key), HasSubstr("the document has a `digest_key` that is none"))
        << key;
  }
}

// Files of every version that was ever released stay in tests/golden/state, and are read for ever.
std::string Stored(const std::string& name) {
  std::ifstream file(podctl::testing::SourceFolder() + "/tests/golden/state/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

State Upgraded(const std::string& file) {
  auto state = StateFromJson(Stored(file), "x", RememberedKinds());
  EXPECT_TRUE(state) << state.error().message;
  if (!state) return {};
  const std::string written = StateToJson(*state);
  EXPECT_NE(written.find("\"format_version\": 5,"), std::string::npos);
  auto again = StateFromJson(written, "x", RememberedKinds());
  EXPECT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again && *again == *state);
  return *std::move(state);
}

TEST(StateJson, Version1IsUpgraded) {
  State expected = SampleState();
  PodRecord& research = Pods(expected).at(Addr("pod.research"));
  research.wanted_node_id = "";
  research.goal = Settled{};
  research.deposed.clear();
  EXPECT_EQ(Upgraded("version1.state.json"), expected);
}

TEST(StateJson, Version2IsUpgraded) {
  EXPECT_EQ(Upgraded("version2.state.json"), SampleState());
}

State WithTraining() {
  State state = SampleState();
  TrainingRecord& job = TrainingJobs(state)[TrainingAddress("mnist")];
  job.project = "p";
  job.region = "us-central1";
  job.current = {"projects/1/locations/us-central1/customJobs/2", "",
                 Deleting{{"", "2026-11-22T08:00:00Z", 3, "id"}}};
  job.applied.Set("displayName", "mnist");
  job.state = "JOB_STATE_FAILED";
  job.error = "exit status 1";
  return state;
}

TEST(StateJson, Version3IsUpgraded) {
  EXPECT_EQ(Upgraded("version3.state.json"), WithTraining());
}

// Everything that version 4 could say of a pod's life, some of which cannot be.
TEST(StateJson, Version4IsUpgraded) {
  State expected = WithTraining();
  const std::string when = "2026-11-22T08:00:00Z";
  const Intent unheard{"", when, 3};
  const Intent heard{"", when, 3};  // `op`, as it stands there, is no operation's name
  const auto add = [&](const std::string& name, const Object& current) -> PodRecord& {
    PodRecord& pod = Pods(expected)[PodAddress(name)];
    pod.project = "p";
    pod.zone = "z";
    pod.applied = Value::EmptyMap();
    pod.current = current;
    pod.current.locator = name;
    return pod;
  };
  const auto queued = [&](const std::string& name, const Object& current, const Object& resource) {
    PodRecord& pod = add(name, current);
    pod.auxiliary = {resource};
    pod.queued = QueuedRecord{resource.locator, *ParseJson(R"({"spot":true})"), 2, "ACTIVE"};
  };
  queued("queued-coming", {}, {"q1", "", Creating{heard}});
  queued("queued-there", {"", "1", Present{}}, {"q2", "", Creating{unheard}});
  queued("queued-patched", {"", "2", Changing{unheard}}, {"q3", "", Present{}});
  queued("queued-going", {"", "3", Present{}}, {"q4", "", Deleting{unheard}});
  queued("queued-over", {}, {"q5", "", Present{}});
  add("seeking", {}).goal = Seeking{when};
  PodRecord& lost = add("lost-twice", {});
  lost.goal = Recovering{"PREEMPTED", when, "2026-11-22T08:00:01Z", "trigger"};
  lost.recovered = Recovery{"", "", "", 1};
  EXPECT_EQ(RecoveryStory(*lost.recovery()), "found PREEMPTED at " + when + " (time 2)");
  add("lost-once", {"", "4", Present{}}).recovered =
      Recovery{"gone", when, "2026-11-22T09:00:00Z", 1};
  add("half-made", {"", "5", Creating{heard, true}});
  add("patched", {"", "6", Changing{unheard}}).goal = Seeking{when};
  add("never-seen", {"", "", Deleting{unheard, false}});
  add("nothing", {});  // the next run forgets it
  const State read = Upgraded("version4.state.json");
  for (const auto& [address, pod] : Pods(expected)) {
    ASSERT_TRUE(Pods(read).contains(address)) << address;
    EXPECT_EQ(Pods(read).at(address), pod) << address;
  }
  EXPECT_EQ(read, expected);
}

// Beside sample.state.json, which is rewritten with what is written today.
TEST(StateJson, Version5IsRead) {
  EXPECT_EQ(Upgraded("version5.state.json"), SampleState());
}

TEST(StateJson, WhatARecordCannotBeIsRefused) {
  const auto with = [](const std::string& key, const std::string& json) {
    return MustRefuse(Resealed([&](Value& document) {
             document.MutableMap()["resources"].MutableMap()["pod.research"].Set(key,
                                                                                 *ParseJson(json));
           }))
        .message;
  };
  const auto current = [](const std::string& rest) {
    return R"([{"locator":"a","role":"current",)" + rest + "}]";
  };
  const std::string intent = R"("intent":{"begun_at":"","operation":"","run":1})";
  EXPECT_THAT(with("objects", "[]"), HasSubstr("has no current object"));
  EXPECT_THAT(with("objects", current(R"("life":"asleep")")),
              HasSubstr("unknown `life`, `asleep`"));
  EXPECT_THAT(with("objects", current(R"("life":"creating","seen":false)")),
              HasSubstr("`intent` of pod.research.objects is missing"));
  EXPECT_THAT(with("objects", current(R"("life":"present",)" + intent)),
              HasSubstr("unknown key `intent`"));
  EXPECT_THAT(with("objects", R"([{"life":"present","locator":"a","role":"current"},)"
                              R"({"life":"present","locator":"b","role":"current"}])"),
              HasSubstr("an object too many"));
  EXPECT_THAT(with("objects", R"([{"life":"present","locator":"a","role":"current"},)"
                              R"({"life":"present","locator":"b","role":"auxiliary"}])"),
              HasSubstr("not its queued resource"));
  EXPECT_THAT(with("goal", R"({"goal":"wandering"})"), HasSubstr("`wandering`"));
  EXPECT_THAT(with("goal", R"({"goal":"seeking"})"), HasSubstr("`since` of pod.research.goal"));
  EXPECT_THAT(with("goal", R"({"goal":"leaving","since":"x"})"), HasSubstr("unknown key `since`"));
  for (const std::string key : {"intent", "life", "locator", "role", "seen"}) {
    const auto objects = [&](const std::function<void(Value&)>& change) {
      return MustRefuse(Resealed([&](Value& document) {
               Value& pod = document.MutableMap()["resources"].MutableMap()["pod.research"];
               change(pod.MutableMap()["objects"].MutableList().front());
             }))
          .message;
    };
    EXPECT_THAT(objects([&](Value& object) { object.Erase(key); }), HasSubstr("`" + key + "`"));
    EXPECT_THAT(objects([&](Value& object) { object.Set(key, Value(Value::List{Value(1)})); }),
                HasSubstr("pod.research.objects"));
  }
  EXPECT_THAT(with("objects", R"([{"life":"present","locator":"a","role":"current"},)"
                              R"({"life":"absent","locator":"b","role":"deposed"}])"),
              HasSubstr("known not to exist"));
}

// A plain pod's record is what is known of it, and not a list of what it lacks.
TEST(StateJson, WhatIsEmptyIsLeftOut) {
  State state;
  state.lineage = "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa";
  PodRecord pod;
  pod.project = "p";
  pod.zone = "z";
  pod.current = {"n", "1", Present{}};
  pod.applied = *ParseJson("{}");
  pod.observed = *ParseJson("{}");
  Pods(state)[Addr("pod.n")] = pod;
  const std::string text = StateToJson(state);
  EXPECT_EQ(ToJson((*ParseJson(text))["resources"]["pod.n"]),
            R"({"objects":[{"life":"present","locator":"n","role":"current","uid":"1"}],)"
            R"("payload":{"applied":{},"observed":{},"project":"p","zone":"z"},"type":"pod"})");
  const auto read = StateFromJson(text, "x", RememberedKinds());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, state);
}

TEST(StateJson, ChecksumIsMadeOverTheSortedCompactDocument) {
  Value document = *ParseJson(StateToJson(SampleState()));
  const std::string checksum = document["checksum"].AsString();
  document.Set("checksum", "");
  EXPECT_EQ(checksum, "sha256:" + Sha256Hex(ToJson(document)));
}

TEST(StateJson, EmptyStateComesBack) {
  State empty;
  empty.lineage = "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa";
  auto state = StateFromJson(StateToJson(empty), "x", RememberedKinds());
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(*state, empty);
}

TEST(StateJson, LayoutIsNotContent) {
  const Value document = *ParseJson(StateToJson(SampleState()));
  auto state = StateFromJson(ToJson(document, JsonStyle::kCompact), "x", RememberedKinds());
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(*state, SampleState());
}

TEST(StateJson, EmptyTextIsDamage) {
  const Error error = MustRefuse("");
  EXPECT_EQ(error.code, ErrorCode::kDataLoss);
  EXPECT_EQ(error.message, "the state podctl.state.json is damaged: it is empty");
  EXPECT_NE(error.hint, "");
}

TEST(StateJson, AStateOfTerraformIsNoDamagedOne) {
  for (const char* text :
       {R"({"version":4,"terraform_version":"1.11.4","serial":3,"lineage":"x","resources":[]})",
        R"({"version":4,"serial":3,"lineage":"x"})", R"({"encrypted_data":"x","meta":{}})"}) {
    const Error error = MustRefuse(text);
    EXPECT_EQ(error.code, ErrorCode::kDataLoss);
    EXPECT_EQ(error.message,
              "podctl.state.json is a state of Terraform or OpenTofu, and none of podctl");
  }
}

TEST(StateJson, EveryCutIsDamage) {
  const std::string text = StateToJson(SampleState());
  // All but the final newline, without which the document is whole.
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    ASSERT_EQ(MustRefuse(std::string_view(text).substr(0, size)).code, ErrorCode::kDataLoss)
        << "cut at " << size;
  }
}

TEST(StateJson, EveryFlippedBitIsDamage) {
  const std::string text = StateToJson(SampleState());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string flipped = text;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
    auto state = StateFromJson(flipped, "x", RememberedKinds());
    // A flip may make the version a newer one; anything else is damage.
    ASSERT_FALSE(state) << "byte " << i;
    ASSERT_TRUE(state.error().code == ErrorCode::kDataLoss ||
                state.error().code == ErrorCode::kUnimplemented)
        << "byte " << i << ": " << state.error().message;
  }
}

TEST(StateJson, NulsAndOtherTextsAreDamage) {
  const std::string text = StateToJson(SampleState());
  std::string tail_of_nuls = text;
  tail_of_nuls.replace(text.size() / 2, std::string::npos, text.size() / 2, '\0');
  for (const std::string& bad :
       {std::string(4096, '\0'), tail_of_nuls, text + text, text + "x", std::string("null"),
        std::string("[]"), std::string("{}"), std::string("\"text\""), std::string(100'000, '['),
        std::string("\xFF\xFE{\0}\0", 6)}) {
    EXPECT_EQ(MustRefuse(bad).code, ErrorCode::kDataLoss);
  }
}

TEST(StateJson, DuplicateKeyIsDamage) {
  std::string text = StateToJson(SampleState());
  text.replace(text.find("\"serial\""), 0, "\"serial\": 41,\n  ");
  EXPECT_NE(MustRefuse(text).message.find("duplicate key"), std::string::npos);
}

TEST(StateJson, NewerFormatIsNamed) {
  const Error error = MustRefuse(Resealed([](Value& document) {
    document.Set("format_version", 8);
    document.Set("podctl_version", "9.1.0");
    document.Set("resources", "something else altogether");
  }));
  EXPECT_EQ(error.code, ErrorCode::kUnimplemented);
  EXPECT_NE(error.message.find("format version 8"), std::string::npos) << error.message;
  EXPECT_NE(error.hint.find("9.1.0"), std::string::npos) << error.hint;
}

TEST(StateJson, OtherFormatVersionsAreDamage) {
  for (const Value& version : {Value(0), Value(-1), Value("1"), Value(1.0), Value()}) {
    EXPECT_EQ(MustRefuse(Resealed([&](Value& d) { d.Set("format_version", version); })).code,
              ErrorCode::kDataLoss);
  }
}

// Takes every member away, and gives it a wrong type, wherever it is fixed by the format.
void Visit(const Value& at, std::vector<std::string> path,
           const std::function<void(const std::vector<std::string>&)>& visit) {
  for (const auto& [key, value] : at.AsMap()) {
    path.push_back(key);
    visit(path);
    const bool free_form = key == "applied" || key == "observed" || key == "metadata" ||
                           key == "exec_env" || key == "host_keys";
    if (!free_form) Visit(value, path, visit);
    path.pop_back();
  }
}

Value* Reach(Value& at, const std::vector<std::string>& path, std::size_t depth) {
  Value* value = &at;
  for (std::size_t i = 0; i < depth; ++i) value = &value->MutableMap()[path[i]];
  return value;
}

TEST(StateJson, MissingAndMistypedMembersAreDamage) {
  int visited = 0;
  Visit(*ParseJson(StateToJson(SampleState())), {}, [&](const std::vector<std::string>& path) {
    const std::string& key = path.back();
    std::string where;
    for (const std::string& part : path) where += "/" + part;
    ++visited;
    // What may be absent: whole resources and workers, and what is left out when it is empty. The
    // checksum is made anew.
    static const std::set<std::string> kSpare = {"depends_on",
                                                 "exec_env",
                                                 "goal",
                                                 "host_keys",
                                                 "host_keys_source",
                                                 "identity_file",
                                                 "metadata",
                                                 "internal_address",
                                                 "port",
                                                 "prevent_destroy",
                                                 "sensitive_keys",
                                                 "ssh",
                                                 "strict_host_keys",
                                                 "user",
                                                 "wanted_node_id"};
    const bool optional = kSpare.contains(key) ||
                          path[path.size() - (path.size() > 1 ? 2 : 1)] == "resources" ||
                          (path.size() > 2 && path[path.size() - 2] == "workers");
    if (!optional && key != "checksum") {
      const Error error =
          MustRefuse(Resealed([&](Value& d) { Reach(d, path, path.size() - 1)->Erase(key); }));
      EXPECT_EQ(error.code, ErrorCode::kDataLoss) << where;
      // A resource without a type is told by its address.
      if (key != "type") {
        EXPECT_NE(error.message.find("`" + key + "`"), std::string::npos) << error.message;
      }
    }
    if (key != "applied" && key != "observed" && key != "checksum") {
      const Error error = MustRefuse(
          Resealed([&](Value& d) { *Reach(d, path, path.size()) = Value(Value::List{Value(1)}); }));
      EXPECT_EQ(error.code, ErrorCode::kDataLoss) << where;
    }
  });
  EXPECT_GT(visited, 50);
}

TEST(StateJson, UnknownMembersAreRefusedBecauseASaveWouldDropThem) {
  for (const char* path : {"surprise", "resources.extra"}) {
    EXPECT_EQ(MustRefuse(Resealed([&](Value& d) { d.SetPath(path, 1); })).code,
              ErrorCode::kDataLoss);
  }
  EXPECT_NE(MustRefuse(Resealed([](Value& d) {
              d.MutableMap()["resources"].MutableMap()["pod.research"].Set("surprise", 1);
            })).message.find("pod.research has an unknown key `surprise`"),
            std::string::npos);
}

TEST(StateJson, AnUnresolvedMergeIsCalledThat) {
  for (const char* text : {"<<<<<<< HEAD\n{}\n=======\n{ }\n>>>>>>> theirs\n",
                           "{\n<<<<<<< HEAD\n\"serial\": 1\n=======\n>>>>>>> theirs\n}\n"}) {
    const Error error = MustRefuse(text);
    EXPECT_EQ(error.code, ErrorCode::kDataLoss);
    EXPECT_NE(error.message.find("merge that git left unresolved"), std::string::npos) << text;
  }
  EXPECT_EQ(MustRefuse("{\n<<<<<<< HEAD\n").message.find("git"), std::string::npos);
}

TEST(StateJson, ValuesOutOfRangeAreDamage) {
  auto in_pod = [](std::string_view path, Value value) {
    return Resealed([&](Value& d) {
      d.MutableMap()["resources"].MutableMap()["pod.research"].SetPath(path, std::move(value));
    });
  };
  EXPECT_EQ(MustRefuse(in_pod("ssh.port", 0)).code, ErrorCode::kDataLoss);
  EXPECT_EQ(MustRefuse(in_pod("ssh.port", 65536)).code, ErrorCode::kDataLoss);
  EXPECT_EQ(MustRefuse(in_pod("pending.kind", "explode")).code, ErrorCode::kDataLoss);
  EXPECT_EQ(MustRefuse(in_pod("host_keys.007", Value::EmptyList())).code, ErrorCode::kDataLoss);
  EXPECT_EQ(MustRefuse(in_pod("host_keys.-1", Value::EmptyList())).code, ErrorCode::kDataLoss);
  EXPECT_EQ(MustRefuse(in_pod("type", "bootstrap")).code, ErrorCode::kDataLoss);
  EXPECT_EQ(MustRefuse(Resealed([](Value& d) { d.Set("serial", -1); })).code, ErrorCode::kDataLoss);
  EXPECT_EQ(MustRefuse(Resealed([](Value& d) { d.Set("serial", kMaxSerial + 1); })).code,
            ErrorCode::kDataLoss);
  EXPECT_EQ(MustRefuse(Resealed([](Value& d) { d.Set("serial", INT64_MAX); })).code,
            ErrorCode::kDataLoss);
  EXPECT_TRUE(StateFromJson(Resealed([](Value& d) { d.Set("serial", kMaxSerial); }), "x",
                            RememberedKinds()));
  EXPECT_EQ(MustRefuse(Resealed([](Value& d) { d.Set("serial", 1.5); })).code,
            ErrorCode::kDataLoss);
  EXPECT_EQ(MustRefuse(Resealed([](Value& d) { d.Set("lineage", ""); })).code,
            ErrorCode::kDataLoss);
}

TEST(StateJson, ErrorsNameTheOriginAndNoContent) {
  std::string text = StateToJson(SampleState());
  text.replace(text.find("hmac-sha256:00ff"), 4, "HMAC");
  const Error error = MustRefuse(text);
  EXPECT_EQ(error.message,
            "the state podctl.state.json is damaged: its content does not match its checksum");
}

TEST(StateJson, NamesInErrorsAreShownAsData) {
  const Error unknown = MustRefuse(Resealed([](Value& d) { d.Set("\x1b[31m", 1); }));
  EXPECT_NE(unknown.message.find("has an unknown key `\\x1b[31m`"), std::string::npos)
      << unknown.message;
  EXPECT_LT(
      MustRefuse(Resealed([](Value& d) { d.Set(std::string(1 << 20, 'x'), 1); })).message.size(),
      1000U);
  const Error address = MustRefuse(Resealed([](Value& d) {
    Value::Map& resources = d.MutableMap()["resources"].MutableMap();
    const Value research = resources["pod.research"];  // to add a member moves the others
    resources["pod.\x1b[31m"] = research;
  }));
  EXPECT_NE(address.message.find("`pod.\\x1b[31m`, which is no address"), std::string::npos)
      << address.message;
  const Error newer = MustRefuse(Resealed([](Value& d) {
    d.Set("format_version", 1000);
    d.Set("podctl_version", "\x1b[31m");
  }));
  EXPECT_EQ(newer.hint, "Use podctl \\x1b[31m or newer.");
}

// A podctl that knows no training jobs reads up to version 2, and says so; without them it need
// not.
TEST(StateJson, TrainingJobsComeBackAndAreUnknownBelowVersion3) {
  const State state = WithTraining();
  const std::string text = StateToJson(state);
  const auto read = StateFromJson(text, "s", RememberedKinds());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, state);
  EXPECT_TRUE(StateText(state).SaidBy(text, RememberedKinds()));

  Value document = *ParseJson(Stored("version3.state.json"));
  document.Set("format_version", 2);
  document.Set("checksum", "");
  document.Set("checksum", "sha256:" + Sha256Hex(ToJson(document)));
  EXPECT_NE(MustRefuse(ToJson(document)).message.find("`trainingJob.mnist` of the wrong type"),
            std::string::npos);
}

TEST(State, Addresses) {
  EXPECT_EQ(PodAddress("research"), "pod.research");
  EXPECT_EQ(StepAddress("research", "jupyter"), "bootstrap.research.jupyter");
}

TEST(StateTest, KeysOfDigestsAreHexAndDiffer) {
  RealRandom random;
  const std::string key = NewDigestKey(random);
  EXPECT_EQ(key.size(), 64U);
  EXPECT_EQ(key.find_first_not_of("0123456789abcdef"), std::string::npos) << key;
  EXPECT_NE(NewDigestKey(random), key);
}

}  // namespace
}  // namespace podctl

// A plan in the format of `terraform show -json`, as policies and summaries read it.
#include "cmd/views/terraform_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plans/engine/observe.h"
#include "plans/engine/plan_file/secrets.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/spec.h"
#include "providers/base/json.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"
#include "tests/support/golden.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using testing::AllKinds;
using testing::ExpectGolden;
using testing::Harness;
using ::testing::HasSubstr;
using testing::KindNamed;
using ::testing::Not;

class TerraformJsonTest : public ::testing::Test {
 protected:
  // What `plan --out` keeps of the plan that the harness makes now.
  SavedPlan Saved() {
    SavedPlan saved;
    saved.podctl_version = "VERSION";
    saved.created_at = "2026-11-20T14:30:00Z";
    saved.variables["precision"] = "true";
    saved.sensitive_variables.push_back("token");
    saved.plan = harness_.MakePlan();
    State state = harness_.Stored();
    HideSecrets({state.digest_key, false}, &saved.plan);
    if (state.serial > 0) {
      std::vector<std::string> notes;
      saved.prior = Settle(state, *Observe({Spec{}, state}, AllKinds().all, harness_.cloud, 1, {}),
                           AllKinds().all, &notes);
    }
    return saved;
  }
  Value Document() { return TerraformPlan(Saved()); }
  static Value ChangeOf(const Value& document, const std::string& address) {
    for (const Value& change : document["resource_changes"].AsList()) {
      if (change["address"] == Value(address)) return change;
    }
    ADD_FAILURE() << address << " is not among the changes";
    return Value();
  }
  static std::string ActionsOf(const Value& document, const std::string& address) {
    return ToJson(ChangeOf(document, address)["change"]["actions"]);
  }

  Harness harness_;
};

TEST_F(TerraformJsonTest, EveryKindOfChange) {
  harness_.options.parallelism = 1;  // nodes get their ids in the order of the creates
  harness_.environment["TOKEN"] = "the-secret";
  const auto pods = [](const std::string& flag, const std::string& type) {
    return Harness::Pod("a",
                        "    libtpuFlags: {f: " + flag +
                            "}\n    metadata: {token: {env: TOKEN, sensitive: true}, plain: p}\n"
                            "    labels: {team: t" +
                            flag + "}\n    bootstrap: [{name: s, run: 'echo " + flag + "'}]\n") +
           "  b: {acceleratorType: " + type + ", runtimeVersion: tpu-vm-tf-2.11.0-pod}\n" +
           Harness::Pod("keep", "    bootstrap: [{name: resting, run: 'true'}]\n");
  };
  harness_.Pods(pods("1", "v3-32") + Harness::Pod("gone") + Harness::Pod("lost"));
  harness_.ApplyAll();
  harness_.environment["TOKEN"] = "the-next-secret";
  harness_.Edit("keep", [](Value& node) { node.Set("state", "REPAIRING"); });
  harness_.Edit("a", [](Value& node) { node.SetPath("labels.team", "drifted"); });
  harness_.cloud.RemoveNode(Harness::Name("lost"));
  harness_.Pods(pods("2", "v3-64") + Harness::Pod("lost") +
                Harness::Pod("fresh",
                             "    metadata: {peer: "
                             "'${pod.b.networkEndpoints[0].ipAddress}'}\n"
                             "    dependsOn: [pod.a]\n"));
  const Value document = Document();
  const std::string text = ToJson(document, JsonStyle::kIndented);
  ExpectGolden("cmd/terraform/plan.json", text + "\n");
  EXPECT_THAT(text, Not(HasSubstr("the-secret")));
  EXPECT_THAT(text, Not(HasSubstr("the-next-secret")));
  EXPECT_THAT(text, Not(HasSubstr("hmac-sha256")));
  EXPECT_EQ(ActionsOf(document, "pod.a"), R"(["update"])");
  EXPECT_EQ(ActionsOf(document, "pod.b"), R"(["delete","create"])");
  EXPECT_EQ(ActionsOf(document, "pod.keep"), R"(["no-op"])");
  EXPECT_EQ(ActionsOf(document, "pod.gone"), R"(["delete"])");
  EXPECT_EQ(ActionsOf(document, "pod.fresh"), R"(["create"])");
  EXPECT_EQ(ActionsOf(document, "bootstrap.a.s"), R"(["update"])");
  EXPECT_EQ(ActionsOf(document, "bootstrap.keep.resting"), R"(["no-op"])");
  EXPECT_EQ(ToJson(ChangeOf(document, "pod.b")["change"]["replace_paths"]),
            R"([["acceleratorType"]])");
  EXPECT_EQ(ChangeOf(document, "pod.b")["action_reason"].AsString(),
            "replace_because_cannot_update");
  EXPECT_EQ(ChangeOf(document, "pod.gone")["action_reason"].AsString(),
            "delete_because_no_resource_config");
  const Value change = ChangeOf(document, "pod.a")["change"];
  EXPECT_EQ(change["before"]["metadata"]["token"].AsString(), "(sensitive value)");
  EXPECT_EQ(ToJson(change["before_sensitive"]), R"({"metadata":{"token":true}})");
  EXPECT_EQ(change["before"]["labels"]["team"].AsString(), "drifted");
  EXPECT_EQ(change["after"]["labels"]["team"].AsString(), "t2");
  const Value fresh = ChangeOf(document, "pod.fresh")["change"];
  EXPECT_TRUE(fresh["before"].is_null());
  EXPECT_EQ(fresh["before_sensitive"], Value(false));
  EXPECT_EQ(fresh["after_unknown"]["metadata"]["peer"], Value(true));
}

TEST_F(TerraformJsonTest, AFirstPlanHasNoPriorState) {
  harness_.Pods(Harness::Pod("a"));
  const Value document = Document();
  EXPECT_EQ(document.Find("prior_state"), nullptr);
  EXPECT_EQ(document["applyable"], Value(true));
  EXPECT_EQ(document["complete"], Value(true));
  EXPECT_EQ(document["errored"], Value(false));
}

TEST_F(TerraformJsonTest, APlanWithoutChanges) {
  harness_.Pods(Harness::Pod("a"));
  harness_.ApplyAll();
  const Value document = Document();
  EXPECT_EQ(document["applyable"], Value(false));
  EXPECT_EQ(ActionsOf(document, "pod.a"), R"(["no-op"])");
  EXPECT_EQ(document["prior_state"]["values"]["root_module"]["resources"].AsList().size(), 1u);
}

TEST_F(TerraformJsonTest, MovedDeposedAndForgotten) {
  SavedPlan saved;
  State state;
  PodRecord record;
  record.project = "p";
  record.zone = "z";
  record.current.locator = "new";
  record.current.life = Present{};
  Pods(state)[Addr("pod.b")] = record;
  saved.prior = state;
  PodSpec pod;
  pod.name = "b";
  pod.node_id = "new";
  Change moved;
  moved.address = Addr("pod.b");
  moved.previous_address = Addr("pod.a");
  moved.payload = Payload(PodChange{pod, {}}, KindNamed("pod"));
  Change deposed;
  deposed.address = Addr("pod.b (deposed old)");
  deposed.verb = Verb::kDelete;
  deposed.payload = Payload(PodChange{{}, {"p", "z", "old"}}, KindNamed("pod"));
  Change forgotten;
  forgotten.address = Addr("pod.c");
  forgotten.verb = Verb::kForget;
  forgotten.payload = Payload(PodChange{}, KindNamed("pod"));
  forgotten.reason_code = ReasonCode::kNoConfiguration;
  Change swapped;
  swapped.address = Addr("pod.d");
  swapped.verb = Verb::kCreateThenDelete;
  swapped.payload = Payload(PodChange{pod, {}}, KindNamed("pod"));
  swapped.reason_code = ReasonCode::kByRequest;
  saved.plan.changes = {moved, deposed, forgotten, swapped};
  saved.plan.targets = {"pod.b"};
  const Value document = TerraformPlan(saved);
  const Value::List& changes = document["resource_changes"].AsList();
  ASSERT_EQ(changes.size(), 4u);
  EXPECT_EQ(changes[0]["previous_address"].AsString(), "pod.a");
  EXPECT_EQ(changes[1]["address"].AsString(), "pod.b");
  EXPECT_EQ(changes[1]["deposed"].AsString(), "old");
  EXPECT_EQ(changes[1]["change"]["before"]["nodeId"].AsString(), "old");
  EXPECT_EQ(ToJson(changes[2]["change"]["actions"]), R"(["forget"])");
  EXPECT_EQ(ToJson(changes[3]["change"]["actions"]), R"(["create","delete"])");
  EXPECT_EQ(changes[3]["action_reason"].AsString(), "replace_by_request");
  EXPECT_EQ(document["complete"], Value(false));
}

}  // namespace
}  // namespace podctl

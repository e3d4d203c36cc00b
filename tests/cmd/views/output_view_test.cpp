// Outputs as people and programs see them. Read the golden files as a user would.
#include "cmd/views/output_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "cmd/views/json_events.h"
#include "cmd/views/markdown.h"
#include "cmd/views/plan_view.h"
#include "cmd/views/state_view.h"
#include "cmd/views/terraform_json.h"
#include "plans/engine/plan_file/secrets.h"
#include "providers/base/json.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"
#include "tests/support/golden.h"

namespace podctl {
namespace {

using ::testing::AllOf;
using testing::ExpectGolden;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::Not;

class OutputViewTest : public ::testing::Test {
 protected:
  void Outputs(const std::string& entries, const std::string& pods) {
    harness_.SpecText(
        "project: p\nzone: europe-west4-a\nvariables:\n  token: {sensitive: true, default: "
        "the-secret}\npods:\n" +
        pods + "outputs:\n" + entries);
  }
  // A plan in which an output comes, changes, goes, stays, is secret and is not known yet.
  void Mixed(bool with_pods) {
    const std::string kept = Harness::Pod("kept");
    Outputs(
        "  stays: same\n  changes: one\n  goes: x\n  opens: {value: \"${var.token}\", "
        "sensitive: true}\n  text: \"a\\nb\\nc\\n\"\n",
        kept);
    harness_.ApplyAll();
    Outputs(
        "  stays: same\n  changes: two\n  address: ${pod.kept.networkEndpoints[0].ipAddress}\n"
        "  opens: {value: \"${var.token}!\", sensitive: true, description: a token}\n"
        "  text: \"a\\nB\\nc\\n\"\n" +
            std::string(with_pods ? "  fresh: ${pod.fresh.networkEndpoints[0].ipAddress}\n" : ""),
        kept + (with_pods ? Harness::Pod("fresh") : ""));
  }
  std::string Events(const Plan& plan, const State& state, bool failed = false) {
    std::ostringstream out;
    std::ostringstream err;
    Streams streams{out, err};
    JsonEvents(streams, harness_.clock).ShowPlan(plan, state, failed);
    return out.str();
  }

  Harness harness_;
};

TEST_F(OutputViewTest, APlanTellsWhatChanges) {
  Mixed(true);
  const Plan plan = harness_.MakePlan();
  PlanViewOptions options;
  ExpectGolden("cmd/outputs/plan.txt", ShowPlan(plan, options));
  options.color = true;
  ExpectGolden("cmd/outputs/plan_color.txt", ShowPlan(plan, options));
  const std::string markdown = MarkdownOf(&plan, {}, {});
  ExpectGolden("cmd/outputs/plan.md", markdown);
  const std::string events = Events(plan, harness_.Stored());
  ExpectGolden("cmd/outputs/plan_events.jsonl", events);
  EXPECT_THAT(ShowPlan(plan, options) + markdown + events, Not(HasSubstr("the-secret")));
}

TEST_F(OutputViewTest, APlanOfOutputsAloneIsAChange) {
  Mixed(false);
  const Plan plan = harness_.MakePlan();
  EXPECT_FALSE(plan.Empty());
  ExpectGolden("cmd/outputs/only.txt", ShowPlan(plan, {}));
  ExpectGolden("cmd/outputs/only.md", MarkdownOf(&plan, {}, {}));
  // Beside an error they would look like what there will be.
  PlanViewOptions failed;
  failed.failed = true;
  EXPECT_EQ(ShowPlan(plan, failed), "");
  EXPECT_EQ(Events(plan, harness_.Stored(), true), "");
  Diagnostics problems;
  problems.Add({.summary = "a node named `a` already exists"});
  EXPECT_THAT(MarkdownOf(&plan, problems, {}),
              AllOf(HasSubstr("### podctl plan: failed\n"), Not(HasSubstr("utputs"))));
}

TEST_F(OutputViewTest, ThePlansDocumentIsTerraforms) {
  Mixed(true);
  SavedPlan saved;
  saved.podctl_version = "VERSION";
  saved.created_at = "2026-11-20T14:30:00Z";
  saved.plan = harness_.MakePlan();
  saved.prior = harness_.Stored();
  HideSecrets({saved.prior->digest_key, false}, &saved.plan);
  const Value document = TerraformPlan(saved);
  Value shown;
  shown.Set("output_changes", document["output_changes"]);
  shown.Set("planned", document["planned_values"]["outputs"]);
  shown.Set("prior", document["prior_state"]["values"]["outputs"]);
  shown.Set("configuration", document["configuration"]["root_module"]["outputs"]);
  ExpectGolden("cmd/outputs/plan.json", ToJson(shown, JsonStyle::kIndented) + "\n");
  EXPECT_THAT(ToJson(document), Not(HasSubstr("output.")));
}

TEST_F(OutputViewTest, AStateTellsWhatThereIs) {
  Mixed(false);
  const State state = harness_.Stored();
  ExpectGolden("cmd/outputs/list.txt", OutputsText(state));
  ExpectGolden("cmd/outputs/list.json",
               ToJson(OutputsDocument(state, {{"opens", "shown"}}), JsonStyle::kIndented) + "\n");
  EXPECT_THAT(ToJson(OutputsDocument(state)), Not(HasSubstr("the-secret")));
  ExpectGolden("cmd/outputs/state_show.txt",
               ShowAddress(state, Addr("output.opens")) + ShowAddress(state, Addr("output.stays")));
}

TEST_F(OutputViewTest, WhatIsNoPlainTextIsQuoted) {
  EXPECT_EQ(QuotedOutput("a \"b\" \\ \n"), R"("a \"b\" \\ \n")");
  EXPECT_THAT(QuotedOutput("\x1b[31m"), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace podctl

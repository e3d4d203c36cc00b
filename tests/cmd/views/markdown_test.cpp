// The comment for a pull request.
#include "cmd/views/markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/spec.h"
#include "providers/base/text.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"
#include "tests/support/golden.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using testing::ExpectGolden;
using testing::Harness;
using ::testing::HasSubstr;
using testing::KindNamed;
using ::testing::Not;

class MarkdownTest : public ::testing::Test {
 protected:
  Harness harness_;
};

TEST_F(MarkdownTest, EveryKindOfChange) {
  harness_.environment["TOKEN"] = "the-secret";
  const auto pods = [](const std::string& flag) {
    return Harness::Pod("a", "    libtpuFlags: {f: " + flag +
                                 "}\n    metadata: {token: {env: TOKEN, sensitive: true}}\n"
                                 "    bootstrap: [{name: s, run: \"echo " +
                                 flag + "\\n- not a mark\"}]\n") +
           Harness::Pod("b");
  };
  harness_.Pods(pods("1") + Harness::Pod("gone"));
  harness_.ApplyAll();
  harness_.environment["TOKEN"] = "the-next-secret";
  harness_.Edit("b", [](Value& node) { node.Set("state", "PREEMPTED"); });
  harness_.Edit("a", [](Value& node) { node.SetPath("metadata.token", "by hand"); });
  harness_.Pods(pods("2") + Harness::Pod("fresh"));
  const Plan plan = harness_.MakePlan();
  Diagnostics diagnostics;
  diagnostics.Add({Severity::kWarning,
                   "the accelerator type `v9` is not known",
                   {"a.yaml", 3, 1},
                   "",
                   "",
                   "did you mean `v4`?",
                   ""});
  const std::string text = MarkdownOf(&plan, diagnostics, {"a lock was taken over"});
  ExpectGolden("cmd/markdown/changes.md", text);
  EXPECT_THAT(text, Not(HasSubstr("the-next-secret")));
  EXPECT_THAT(text, Not(HasSubstr("by hand")));
}

TEST_F(MarkdownTest, WhatOneReadsForStandsAboveTheFold) {
  const auto pods = [](const std::string& flags, const std::string& script,
                       const std::string& type) {
    return Harness::Pod("a", "    libtpuFlags: {" + flags +
                                 "}\n    metadata:\n      startup-script: |\n" + script) +
           "  b:\n    acceleratorType: " + type + "\n    runtimeVersion: r\n";
  };
  const std::string script =
      "        #!/bin/sh\n        cat <<END\n        - a list\n        + is no mark\n"
      "        END\n        echo ";
  harness_.Pods(pods("x: true, y: 1", script + "one\n", "v3-8") + Harness::Pod("gone"));
  harness_.ApplyAll();
  harness_.Pods(pods("x: false, z: 3", script + "two\n", "v3-32") + Harness::Pod("fresh"));
  const Plan plan = harness_.MakePlan();
  const std::string text = MarkdownOf(&plan, {}, {});
  ExpectGolden("cmd/markdown/above_the_fold.md", text);
  const std::size_t fold = text.find("<details>");
  EXPECT_LT(text.find("`pod.gone (node gone in europe-west4-a)`: destroy"), fold);
  EXPECT_LT(text.find("~ acceleratorType = \"v3-8\" -> \"v3-32\""), fold);
}

// Nobody has to unfold anything to decide.
TEST_F(MarkdownTest, AnUpdateNamesAllThatChangesAndTextsFirst) {
  const auto pod = [](const std::string& value) {
    return Harness::Pod("a", "    labels: {a: " + value + ", b: " + value + ", c: " + value +
                                 ", d: " + value +
                                 "}\n    description: " + std::string(80, value[0]) +
                                 "\n    metadata:\n      startup-script: |\n        echo " + value +
                                 "\n        echo end\n");
  };
  harness_.Pods(pod("x"));
  harness_.ApplyAll();
  harness_.Pods(pod("y"));
  const Plan plan = harness_.MakePlan();
  const std::string text = MarkdownOf(&plan, {}, {});
  const std::string row = text.substr(text.find("| `~` | `pod.a`"));
  EXPECT_THAT(row, ::testing::StartsWith("| `~` | `pod.a` | update in-place | `~ "
                                         "metadata.startup-script (+1 -1 lines)`<br>"));
  EXPECT_THAT(row, HasSubstr("`~ labels.d = \"x\" -> \"y\"`"));
  EXPECT_THAT(row, HasSubstr("`~ description = \"" + std::string(30, 'x') + "…\" -> \"" +
                             std::string(30, 'y') + "…\"`"));
  EXPECT_THAT(text, Not(HasSubstr(" more")));
}

TEST_F(MarkdownTest, EveryRowSaysWhy) {
  const auto reasons = [&] {
    std::vector<std::string> cells_of_why;
    const Plan plan = harness_.MakePlan();
    for (const std::string& line : SplitLines(MarkdownOf(&plan, {}, {}))) {
      if (!line.starts_with("| `")) continue;
      const auto cells = Split(line, " | ");
      cells_of_why.emplace_back(TrimBlanks(cells.back()));
    }
    return cells_of_why;
  };
  using ::testing::ElementsAre;
  harness_.Pods(Harness::Pod("a") + Harness::Pod("b", "    bootstrap: [{name: s, run: echo}]\n"));
  EXPECT_THAT(reasons(), ElementsAre("it is new: not in the state yet |",
                                     "it is new: not in the state yet |", "the pod is new |"));
  harness_.ApplyAll();
  harness_.cloud.RemoveNode(Harness::Name("a"));
  EXPECT_THAT(reasons(), ElementsAre("its node is gone: deleted outside of podctl |"));
  harness_.ApplyAll();
  harness_.SpecText("project: p\nzone: europe-west4-a\nmoved: [{from: pod.a, to: pod.c}]\npods:\n" +
                    Harness::Pod("c") + Harness::Pod("b", "    labels: {team: x}\n"));
  EXPECT_THAT(reasons(), ::testing::UnorderedElementsAre("\\`moved\\` of the spec says so |",
                                                         "`+ labels.team = \"x\"` |"));
  harness_.plan_options.mode = PlanMode::kDestroy;
  EXPECT_THAT(reasons(), ElementsAre("a destroy was asked for |", "a destroy was asked for |"));
}

TEST_F(MarkdownTest, LongListsEndWithACount) {
  std::string pods;
  for (int i = 0; i < 30; ++i) pods += Harness::Pod("p" + std::to_string(i));
  harness_.Pods(pods);
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("other"));
  const Plan plan = harness_.MakePlan();
  const std::string text = MarkdownOf(&plan, {}, {});
  EXPECT_THAT(text,
              HasSubstr("\n**⚠️ 30 destroyed**\n\n- `pod.p0 (node p0 in europe-west4-a)`: "
                        "destroy, because it is no longer in the spec\n"));
  EXPECT_THAT(text, HasSubstr("\n- and 10 more\n"));
}

TEST_F(MarkdownTest, APodThatMayOnlyHaveANewName) {
  harness_.Pods(Harness::Pod("old"));
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("fresh"));
  const Plan plan = harness_.MakePlan();
  ExpectGolden("cmd/markdown/move_hint.md", MarkdownOf(&plan, {}, {}));
}

TEST_F(MarkdownTest, NoChanges) {
  harness_.Pods(Harness::Pod("a"));
  harness_.ApplyAll();
  const Plan plan = harness_.MakePlan();
  ExpectGolden("cmd/markdown/no_changes.md", MarkdownOf(&plan, {}, {}));
}

TEST_F(MarkdownTest, NoPlan) {
  Diagnostics diagnostics;
  diagnostics.Add({Severity::kError,
                   "unknown key `runtimeVerson`",
                   {"podctl.yaml", 7, 5, 13, 90},
                   "",
                   "",
                   "did you mean `runtimeVersion`?",
                   ""});
  diagnostics.Add({Severity::kError, "pod.a must not be destroyed", {}, "", "", "", "A | pipe."});
  ExpectGolden("cmd/markdown/failed.md", MarkdownOf(nullptr, diagnostics, {}));
}

TEST_F(MarkdownTest, APlanThatMayNotBe) {
  harness_.Pods(Harness::Pod("a"));
  const Plan plan = harness_.MakePlan();
  Diagnostics diagnostics;
  diagnostics.Add({Severity::kError, "pod.b must not be destroyed", {}, "", "", "", ""});
  const std::string text = MarkdownOf(&plan, diagnostics, {});
  EXPECT_TRUE(
      text.starts_with("### podctl plan: failed, with 1 to add, 0 to change, 0 to "
                       "destroy\n\n**Errors**\n\n- pod.b must not be destroyed\n"))
      << text;
}

TEST_F(MarkdownTest, RefreshOnly) {
  Plan plan;
  plan.mode = PlanMode::kRefreshOnly;
  plan.drift.push_back({Drift::Kind::kChanged, Addr("pod.a"), "was changed outside of podctl", {}});
  ExpectGolden("cmd/markdown/refresh_only.md", MarkdownOf(&plan, {}, {}));
}

TEST_F(MarkdownTest, WhatStandsInValuesIsText) {
  Plan plan;
  Change change;
  change.address = Address("pod", "a`|`` <b>");  // more than a plan can hold
  PodSpec pod;
  pod.name = "a";
  change.verb = Verb::kUpdate;
  change.payload = Payload(PodChange{pod, {}, {"metadata"}}, KindNamed("pod"));
  change.reason = "<img src=x> @everyone [link](https://evil.example) | `tick`";
  change.attributes.push_back({"metadata.x", Value("```\n</details><script>"),
                               Value("````\n# heading\n@everyone"), true, false, false});
  plan.changes.push_back(change);
  plan.drift.push_back(
      {Drift::Kind::kUnhealthy, Addr("pod.a"), "is *UNHEALTHY*: <b>x</b>\nnew line", {}});
  ExpectGolden("cmd/markdown/hostile.md", MarkdownOf(&plan, {}, {"see #12 & @me"}));
}

TEST_F(MarkdownTest, ALongPlanIsCutBelowTheLimit) {
  Plan plan;
  for (int i = 0; i < 2000; ++i) {
    Change change;
    change.address = Addr("pod.p" + std::to_string(i));
    change.verb = Verb::kCreate;
    change.payload = Payload(PodChange{}, KindNamed("pod"));
    change.reason = std::string(2000, 'x');
    change.attributes.push_back({"metadata.x", std::nullopt,
                                 Value("caf\xC3\xA9 ````` " + std::string(3000, 'y')), true, false,
                                 false});
    // What closes a fence is as long as what opens it.
    if (i == 0) change.attributes.front().after = Value(std::string(30'000, '`'));
    plan.changes.push_back(change);
    plan.drift.push_back({Drift::Kind::kUnhealthy, change.address, std::string(5000, 'z'), {}});
  }
  const std::string text = MarkdownOf(&plan, {}, {});
  EXPECT_LT(text.size(), 65'536u);
  EXPECT_THAT(text, HasSubstr("The plan is too long for a comment; "));
  EXPECT_THAT(text, HasSubstr("and 1950 more changes."));
  EXPECT_THAT(text, HasSubstr("</details>"));
  EXPECT_TRUE(text.ends_with("<!-- podctl plan -->\n"));
}

}  // namespace
}  // namespace podctl

// Saved plans: what is written is what is read, nothing sensitive is in it, and nothing that is not
// a whole plan is taken for one.
#include "plans/engine/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plans/engine/plan_file/archive.h"
#include "plans/engine/plan_file/secrets.h"
#include "plans/engine/plan_file/staleness.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/plan.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/step/change.h"
#include "plans/kinds/step/record.h"
#include "plans/kinds/training_job/plan.h"
#include "plans/kinds/training_job/record.h"
#include "plans/spec/spec.h"
#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "providers/bootstrap/step_runner.h"
#include "state/state.h"
#include "tests/plans/engine/random_saved_plan.h"
#include "tests/plans/engine/saved_plan_bench.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using plan_file::Writer;
using testing::Actions;
using testing::AllKinds;
using testing::ChangeOf;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::HasSubstr;
using testing::KindNamed;
using testing::RandomPlan;
using ::testing::Not;

// Everything in it, prior state included, for comparison.
Value All(const SavedPlan& saved) {
  Value all = Value::EmptyMap();
  all.Set("plan", Writer::ToValue(saved.plan));
  all.Set("stakes", Writer::ToValue(saved.preconditions));
  all.Set("jobs", Writer::ToValue(saved.jobs));
  all.Set("variables", Writer::ToValue(saved.variables));
  Value::List texts = {Value(saved.podctl_version), Value(saved.created_at),
                       Value(saved.folder),         Value(saved.state_path),
                       Value(saved.endpoint),       Writer::ToValue(saved.spec_paths),
                       Value(saved.spec_digest),    Writer::ToValue(saved.sensitive_variables),
                       Value(saved.check_key),      Value(saved.seal)};
  all.Set("texts", Value(std::move(texts)));
  return all;
}

class SavedPlanTest : public testing::SavedPlanBench {
 protected:
  void ExpectRoundTrip(const SavedPlan& saved) {
    const std::string text = Text(saved);
    auto read = PlanFromJson(text, "plan", AllKinds());
    ASSERT_TRUE(read.has_value()) << read.error().message << "\n" << text;
    EXPECT_EQ(ToJson(All(*read)), ToJson(All(saved)));
    ASSERT_EQ(read->prior.has_value(), saved.prior.has_value());
    if (saved.prior) {
      State expected = *saved.prior;
      expected.digest_key.clear();
      EXPECT_EQ(*read->prior, expected);
    }
    EXPECT_EQ(Text(*read), text);
  }
  // A plan with every kind of change, and with secrets.
  Plan EveryKind() {
    harness_.environment["TOKEN"] = "old-token";
    const auto secret = [](const std::string& run) {
      return "    metadata: {token: {env: TOKEN, sensitive: true}}\n    libtpuFlags: {f: " + run +
             "}\n    bootstrap: [{name: s, run: 'echo " + run + "'}]\n";
    };
    harness_.Pods(Harness::Pod("a", secret("1")) + Harness::Pod("b") + Harness::Pod("c") +
                  Harness::Pod("e"));
    harness_.ApplyAll();
    harness_.environment["TOKEN"] = "new-token";
    harness_.Edit("b", [](Value& node) { node.Set("state", "PREEMPTED"); });
    harness_.Pods(Harness::Pod("a", secret("2")) + Harness::Pod("b") + Harness::Pod("d") +
                  Harness::Pod("e"));
    const Plan plan = harness_.MakePlan();
    EXPECT_EQ(plan.changes.size(), 7u);
    return plan;
  }
};

TEST_F(SavedPlanTest, WhatIsWrittenIsReadWhateverThePlan) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ExpectRoundTrip(RandomPlan(seed));
    if (HasFailure()) return;
  }
}

TEST_F(SavedPlanTest, APlanOfTheDeskSurvivesItsFile) {
  ExpectRoundTrip(Save(EveryKind()));
}

TEST_F(SavedPlanTest, NothingSensitiveIsInIt) {
  const Plan plan = EveryKind();
  EXPECT_THAT(ToJson(Writer::ToValue(plan)), HasSubstr("new-token"));  // it was there
  const SavedPlan saved = Save(plan);
  const std::string text = Text(saved);
  EXPECT_THAT(text, Not(HasSubstr("new-token")));
  EXPECT_THAT(text, Not(HasSubstr("old-token")));
  EXPECT_THAT(text, Not(HasSubstr(harness_.Stored().digest_key)));
  EXPECT_THAT(text, HasSubstr("hmac-sha256:"));
  EXPECT_TRUE(NeedsSecrets(saved.plan));
}

TEST_F(SavedPlanTest, DigestsWithoutAStateAreTooShortToGuessBy) {
  const SecretKey key{"check", true};
  EXPECT_EQ(key.Digest("token").size(), std::string("hmac-sha256:1234").size());
  EXPECT_NE(key.Digest("token"), key.Digest("other"));
}

TEST_F(SavedPlanTest, SecretsComeBackFromTheSpec) {
  Spec spec;
  PodSpec pod;
  pod.name = "a";
  pod.metadata["token"] = {"the-token", true, {}};
  pod.metadata["plain"] = {"plain", false, {}};
  pod.metadata["tensorflow-env-vars"] = {"-e A=secret-flag", true, {}};
  pod.runtime_env["A"] = "secret-flag";
  StepSpec step;
  step.name = "s";
  step.run = "echo secret-script";
  step.env["E"] = "secret-env";
  step.sensitive = true;
  pod.bootstrap.push_back(step);
  testing::Declare(pod, &spec);
  Plan plan;
  Change create;
  create.address = Addr("pod.a");
  create.verb = Verb::kCreate;
  create.payload = Payload(PodChange{pod, {}}, KindNamed("pod"));
  StepChange run;
  run.sensitive = true;
  run.step.script = step.run;
  run.step.env = step.env;
  Change script;
  script.address = Addr("bootstrap.a.s");
  script.verb = Verb::kRun;
  script.payload = Payload(run, KindNamed("bootstrap"));
  StepChange restart;
  restart.sensitive = true;
  restart.step.kind = Step::Kind::kRestartRuntime;
  restart.step.env["tensorflow-env-vars"] = "-e A=secret-flag";
  Change runtime;
  runtime.address = Addr("bootstrap.a.tpu-runtime");
  runtime.verb = Verb::kRun;
  runtime.payload = Payload(restart, KindNamed("bootstrap"));
  plan.changes = {create, script, runtime};

  const SecretKey key{"0123", false};
  Plan hidden = plan;
  HideSecrets(key, &hidden);
  const std::string text = ToJson(Writer::ToValue(hidden));
  EXPECT_THAT(text, Not(HasSubstr("secret-")));
  EXPECT_THAT(text, Not(HasSubstr("the-token")));
  EXPECT_THAT(text, HasSubstr("plain"));

  Plan restored = hidden;
  ASSERT_TRUE(RestoreSecrets(key, spec, AllKinds().all, &restored).has_value());
  EXPECT_EQ(ToJson(Writer::ToValue(restored)), ToJson(Writer::ToValue(plan)));

  Spec other = spec;
  EditPods(&other)[0]->metadata["token"].text = "another";
  Plan again = hidden;
  auto refused = RestoreSecrets(key, other, AllKinds().all, &again);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "the sensitive value of metadata.token of pod.a is another one than the plan was made "
            "with");
  EditPods(&other)[0]->metadata.erase("token");
  again = hidden;
  refused = RestoreSecrets(key, other, AllKinds().all, &again);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "the sensitive value of metadata.token of pod.a is not in the spec any more");
}

TEST_F(SavedPlanTest, TextThatIsNotUtf8CannotBeSaved) {
  SavedPlan saved = RandomPlan(1);
  saved.variables["x"] = "\xFF";
  EXPECT_FALSE(PlanToJson(saved).has_value());
}

TEST_F(SavedPlanTest, ACutFileIsRefusedWhereverItWasCut) {
  const std::string text = Text(Save(EveryKind()));
  for (std::size_t length = 0; length + 1 < text.size(); length += length < 200 ? 1 : 61) {
    auto read = PlanFromJson(std::string_view(text).substr(0, length), "my.plan", AllKinds());
    ASSERT_FALSE(read.has_value()) << length;
    EXPECT_THAT(read.error().message, HasSubstr("my.plan")) << length;
  }
}

TEST_F(SavedPlanTest, AnAlteredFileIsRefused) {
  const std::string text = Text(Save(EveryKind()));
  std::mt19937 random(1);
  for (int i = 0; i < 150; ++i) {
    std::string altered = text;
    const std::size_t at = random() % (altered.size() - 1);  // not the final newline
    altered[at] = static_cast<char>(altered[at] ^ (1 << random() % 7));
    auto read = PlanFromJson(altered, "my.plan", AllKinds());
    // Blanks between members are layout, not content.
    if (!read) continue;
    EXPECT_EQ(Text(*read), text) << at;
  }
}

// A document with a right checksum but other content, as a fuzzer or a stranger would make it.
Value Sealed(Value document) {
  document.Set("checksum", "");
  document.Set("checksum", "sha256:" + Sha256Hex(ToJson(document)));
  return document;
}

TEST_F(SavedPlanTest, WhatIsNoPlanIsRefusedByName) {
  const auto message = [](std::string_view text) {
    auto read = PlanFromJson(text, "my.plan", AllKinds());
    return read ? std::string("read") : read.error().message;
  };
  EXPECT_EQ(message(""), "the plan my.plan is damaged: it is empty");
  EXPECT_EQ(message("PK\x03\x04"), "my.plan is not a saved plan");
  EXPECT_EQ(message("{}"), "my.plan is not a saved plan");
  EXPECT_EQ(message("[]"), "my.plan is not a saved plan");
  EXPECT_EQ(message(std::string(100'000, '[')), "my.plan is not a saved plan");
  EXPECT_EQ(message("project: p\npods: {}\n"), "my.plan is not a saved plan");

  const Value good = *ParseJson(Text(Save(EveryKind())));
  EXPECT_EQ(message(ToJson(Sealed(good))), "read");
  const auto with = [&](std::string_view path, Value value) {
    Value document = good;
    document.SetPath(path, std::move(value));
    return message(ToJson(Sealed(std::move(document))));
  };
  EXPECT_THAT(with("format_version", 1), HasSubstr("made by an older podctl (format version 1;"));
  EXPECT_THAT(with("format_version", kPlanFormatVersion + 1),
              HasSubstr("has format version 5, and this podctl ("));
  EXPECT_THAT(with("format_version", "2"), HasSubstr("no format version that ever was"));
  EXPECT_THAT(with("format_version", 0), HasSubstr("no format version that ever was"));
  EXPECT_THAT(with("plan", Value()), HasSubstr("`plan` is not an object"));
  EXPECT_THAT(with("plan.serial", -1), HasSubstr("`plan.serial` is out of range"));
  EXPECT_THAT(with("plan.serial", 1e300), HasSubstr("`plan.serial` is not a whole number"));
  EXPECT_THAT(with("plan.mode", "other"), HasSubstr("`plan.mode` has a word that is not known"));
  EXPECT_THAT(with("plan.extra", 1), HasSubstr("`plan` has an unknown key `extra`"));
  EXPECT_THAT(with("plan.changes", Value(Value::List{Value(1)})),
              HasSubstr("`plan.changes[0]` is not an object"));
  EXPECT_THAT(with("prior_state", Value::EmptyMap()), HasSubstr("the state in my.plan"));
  EXPECT_THAT(with("extra", 1), HasSubstr("the document has an unknown key `extra`"));

  const auto with_change = [&](std::size_t index, std::string_view path, Value value) {
    Value document = good;
    Value plan = document["plan"];
    Value changes = plan["changes"];
    changes.MutableList()[index].SetPath(path, std::move(value));
    plan.Set("changes", std::move(changes));
    document.Set("plan", std::move(plan));
    return message(ToJson(Sealed(std::move(document))));
  };
  const Value::List& changes = good["plan"]["changes"].AsList();
  std::size_t run = 0;
  while (changes[run]["verb"] != Value("run")) ++run;
  EXPECT_THAT(with_change(run, "bootstrap.expected_workers", std::int64_t{1} << 60),
              HasSubstr("has more workers than can be"));
  EXPECT_THAT(with_change(run, "bootstrap.workers", Value(Value::List{Value(-1)})),
              HasSubstr("names a worker that cannot be"));
  EXPECT_THAT(with_change(run, "bootstrap.step.timeout_ms", INT64_MAX), HasSubstr("out of range"));
  EXPECT_THAT(with_change(run, "verb", "magic"), HasSubstr("word that is not known"));
  ASSERT_EQ(changes[run + 1]["verb"], Value("run"));
  EXPECT_THAT(with_change(run + 1, "address", changes[run]["address"]),
              HasSubstr("stands in it twice"));
  EXPECT_THAT(with_change(1, "address", "x"), HasSubstr("holds `x`, which is no address"));
  // A plan comes from elsewhere; its names must not drive the terminal of who looks at it.
  EXPECT_THAT(with_change(1, "address", "pod.\x1b[31m"),
              HasSubstr("holds `pod.\\x1b[31m`, which is no address"));
  EXPECT_THAT(with("\x1b[31m", 1), HasSubstr("unknown key `\\x1b[31m`"));
}

// Whoever may write where a plan is kept can make its checksum anew.
TEST_F(SavedPlanTest, WhatItShowsIsWhatItDoes) {
  harness_.Pods(
      "  a:\n    acceleratorType: v3-8\n    runtimeVersion: r\n    desiredState: STOPPED\n"
      "    metadata: {m: \"1\"}\n" +
      Harness::Pod(
          "b", "    labels: {of: \"${pod.a.state}\"}\n    bootstrap: [{name: s, run: 'echo'}]\n"));
  const Value good = *ParseJson(Text(Save(harness_.MakePlan())));
  ASSERT_TRUE(good["prior_state"].is_null());
  const auto forged = [&](std::size_t index, std::string_view path, Value value) {
    Value document = good;
    Value::List changes = document["plan"]["changes"].AsList();
    changes.at(index).SetPath(path, std::move(value));
    document.SetPath("plan.changes", Value(std::move(changes)));
    auto read = PlanFromJson(ToJson(Sealed(std::move(document))), "my.plan", AllKinds());
    return read ? std::string("read") : read.error().message;
  };
  const Value& first = good["plan"]["changes"].AsList().front();
  ASSERT_EQ(first["address"], Value("pod.a"));
  EXPECT_EQ(forged(0, "reason", "x"), "read");
  const std::string damaged = "the plan my.plan is damaged: ";
  const std::string altered = "the plan my.plan was altered: ";
  const std::string otherwise = altered + "what it shows of pod.a is not what it does: ";
  EXPECT_EQ(forged(0, "pod.wanted.node.acceleratorType", "v3-64"), otherwise + "acceleratorType");
  EXPECT_EQ(forged(0, "pod.wanted.node.description", "x"), otherwise + "description");
  EXPECT_EQ(forged(0, "pod.wanted.metadata.m.text", "2"), otherwise + "metadata.m");
  EXPECT_EQ(forged(0, "pod.wanted.metadata.m.sensitive", true), otherwise + "metadata.m");
  EXPECT_EQ(forged(0, "pod.wanted.own_keys", Value(Value::List{Value("e:ssh-rsa AAAA e")})),
            otherwise + "metadata.ssh-keys[e]");
  EXPECT_EQ(forged(0, "pod.wanted.desired_state", "READY"), otherwise + "state");
  Value::List lines = first["attributes"].AsList();
  const std::string gone = lines.front()["path"].AsString();
  lines.erase(lines.begin());
  EXPECT_EQ(forged(0, "attributes", Value(std::move(lines))), otherwise + gone);
  EXPECT_EQ(forged(0, "pod.wanted.name", "b"),
            altered + "pod.a is the name of something else in it");
  EXPECT_EQ(forged(0, "pod.wanted.zone", "us-east1-d"),
            altered + "pod.a is the name of something else in it");
  EXPECT_EQ(forged(0, "begun", true),
            altered + "it acts on pod.a, which no state knew when it was made");
  // Which pod a step is of, its address alone says; and that, what else it can be.
  EXPECT_EQ(forged(2, "pod", "a"), damaged + "`plan.changes[2]` has an unknown key `pod`");
  // No state could be read again that has such a step.
  for (const std::string address : {"bootstrap.b", "bootstrap.b.s.x", "bootstrap.b.s[\"x\"]"}) {
    EXPECT_EQ(forged(2, "address", address), altered + address + " is no address of a step");
  }
  EXPECT_EQ(forged(2, "bootstrap.selected", Value(Value::List{Value(0)})),
            altered + "bootstrap.b.s does not say on which workers it runs");
  EXPECT_EQ(forged(2, "address", "pod.c"), damaged + "`plan.changes[2].pod` is missing");
}

// A plan without a state has no seal, so that anybody may have written it; and a state that could
// not be read again would be the end of what it stands for.
TEST_F(SavedPlanTest, WhatItLeadsTheStateToSayCanBeRead) {
  harness_.Pods(Harness::Pod("a", "    queuedResource: {spot: true}\n    slices: 2\n"));
  const Value good = *ParseJson(Text(Save(harness_.MakePlan())));
  const auto forged = [&](std::string_view path, Value value) {
    Value document = good;
    Value::List changes = document["plan"]["changes"].AsList();
    changes.at(0).SetPath("pod.wanted." + std::string(path), std::move(value));
    document.SetPath("plan.changes", Value(std::move(changes)));
    auto read = PlanFromJson(ToJson(Sealed(std::move(document))), "my.plan", AllKinds());
    return read ? std::string("read") : read.error().message;
  };
  EXPECT_EQ(forged("queued.slices", 2), "read");
  for (const int slices : {-1, 0, 10'000}) {
    EXPECT_EQ(forged("queued.slices", slices),
              "the plan my.plan is damaged: `plan.changes[0].pod.wanted.queued.slices` is out of "
              "range");
  }
  for (const int port : {-1, 0, 65'536}) {
    EXPECT_THAT(forged("ssh.port", port), HasSubstr("`plan.changes[0].pod.wanted.ssh.port` is"));
  }
  const std::string lost = "the plan my.plan was altered: pod.a could not be remembered: ";
  EXPECT_EQ(forged("ssh.iap", false), lost + "pod.a.payload.ssh has a `iap` that is not true");
  EXPECT_THAT(forged("ssh.transport", "pigeon"), HasSubstr(lost));
  EXPECT_THAT(forged("queued.terms", "none"), HasSubstr(lost));
  EXPECT_THAT(forged("queued.id", "../x"), HasSubstr(lost));
  EXPECT_THAT(forged("depends_on", Value(Value::List{Value("")})), HasSubstr(lost));
  Value capacity = Value::EmptyMap();
  capacity.Set("retry_ms", 0);
  capacity.Set("zones", Value(Value::List{Value("europe-west4-a"), Value("no/where")}));
  EXPECT_THAT(forged("capacity", std::move(capacity)), HasSubstr(lost));
}

TEST_F(SavedPlanTest, WhatWasAlteredIsToldFromWhatCannotBeRead) {
  const std::string text = Text(Save(EveryKind()));
  const auto code = [](std::string_view file) {
    return PlanFromJson(file, "my.plan", AllKinds()).error().code;
  };
  EXPECT_EQ(code(""), ErrorCode::kDataLoss);
  EXPECT_EQ(code(text.substr(0, text.size() / 2)), ErrorCode::kDataLoss) << "cut";
  EXPECT_EQ(code("PK"), ErrorCode::kInvalidArgument);
  std::string edited = text;
  const auto at = edited.find("2026-11-20");
  ASSERT_NE(at, std::string::npos);
  edited.replace(at, 4, "2027");
  EXPECT_EQ(code(edited), ErrorCode::kStalePlan) << "its checksum does not fit";
  Value document = *ParseJson(text);
  document.Set("extra", 1);
  EXPECT_EQ(code(ToJson(Sealed(document))), ErrorCode::kDataLoss) << "no podctl knows that";
  document.Erase("extra");
  document.Set("stakes", Value::EmptyList());
  EXPECT_EQ(code(ToJson(Sealed(document))), ErrorCode::kStalePlan) << "it says what nobody planned";
}

// A pod that is kept as it is needs no value of its own again.
TEST_F(SavedPlanTest, OnlyWhatIsDoneNeedsItsSecrets) {
  harness_.environment["TOKEN"] = "token";
  const std::string secret = "    metadata: {token: {env: TOKEN, sensitive: true}}\n";
  harness_.Pods(Harness::Pod("a", secret));
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("a", secret) + Harness::Pod("b"));
  SavedPlan saved = Save(harness_.MakePlan());
  EXPECT_FALSE(NeedsSecrets(saved.plan));
  EXPECT_TRUE(RestoreSecrets(key_, Spec{}, AllKinds().all, &saved.plan));
}

// Else the digest itself would be sent, or run.
TEST_F(SavedPlanTest, ADigestStandsOnlyWhereSomethingIsSensitive) {
  const SavedPlan good = Save(EveryKind());
  const auto why = [&](const std::function<void(Plan&)>& edit) {
    SavedPlan saved = good;
    edit(saved.plan);
    const auto read = PlanFromJson(Text(saved), "my.plan", AllKinds());
    return read.has_value() ? "" : read.error().message;
  };
  const auto edit = [](Plan& plan, const std::string& address) -> Payload& {
    const auto found =
        std::find_if(plan.changes.begin(), plan.changes.end(),
                     [&](const Change& change) { return change.address == Addr(address); });
    return found->payload;
  };
  ASSERT_EQ(why([](Plan&) {}), "");
  const std::string digest = key_.Digest("x");
  EXPECT_THAT(why([&](Plan& plan) {
                edit(plan, "pod.a").Edit<PodChange>()->wanted.metadata["token"].sensitive = false;
              }),
              HasSubstr("pod.a has the digest of a sensitive value where nothing is sensitive"));
  EXPECT_THAT(why([&](Plan& plan) {
                edit(plan, "bootstrap.a.s").Edit<StepChange>()->step.script = digest;
              }),
              HasSubstr("bootstrap.a.s has the digest of a sensitive value"));
  EXPECT_THAT(why([&](Plan& plan) {
                edit(plan, "bootstrap.a.s").Edit<StepChange>()->step.env["X"] = digest;
              }),
              HasSubstr("bootstrap.a.s has the digest of a sensitive value"));
  EXPECT_EQ(why([&](Plan& plan) {
              auto* run = edit(plan, "bootstrap.a.s").Edit<StepChange>();
              run->step.script = digest;
              run->sensitive = true;
            }),
            "");
}

TEST_F(SavedPlanTest, WithoutItsPreconditionsItIsRefused) {
  SavedPlan saved = Save(EveryKind());
  saved.preconditions.clear();
  const auto read = PlanFromJson(Text(saved), "my.plan", AllKinds());
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("it does not say how pod.a was"));
  saved.plan.refreshed = false;  // which is shown
  EXPECT_TRUE(PlanFromJson(Text(saved), "my.plan", AllKinds()));
}

TEST_F(SavedPlanTest, NothingStandsBehindTheDocument) {
  const std::string text = Text(Save(EveryKind()));
  for (const std::string_view more : {std::string_view("\0", 1), std::string_view("\0{}", 3),
                                      std::string_view("x"), std::string_view("{}")}) {
    EXPECT_FALSE(PlanFromJson(text + std::string(more), "my.plan", AllKinds())) << more;
  }
  EXPECT_TRUE(PlanFromJson(text + "\n ", "my.plan", AllKinds()));
}

std::map<std::string, std::string> Particulars(const Change& change, const AnyRecord* prior) {
  std::map<std::string, std::string> by_path;
  for (const Particular& one : change.payload.kind()->ParticularsOf(change, prior)) {
    by_path[one.path] = one.text;
  }
  return by_path;
}

// Who reviews a plan that came through other hands sees all that its apply goes by.
TEST_F(SavedPlanTest, TellsWhatAPlanDoesNotShow) {
  harness_.Pods(Harness::Pod("a") +
                Harness::Pod("b", "    metadata: {m: \"echo ${pod.a.state}\"}\n"));
  Plan plan = harness_.MakePlan();
  using Map = std::map<std::string, std::string>;
  EXPECT_EQ(Particulars(plan.changes[0], nullptr), (Map{{"project", "p"}}));
  EXPECT_EQ(Particulars(plan.changes[1], nullptr),
            (Map{{"project", "p"}, {"metadata.m", "echo ${pod.a.state}"}, {"dependsOn", "pod.a"}}));
  PodSpec& pod = plan.changes[0].payload.Edit<PodChange>()->wanted;
  pod.project = "other";
  pod.runtime_env = {{"BASH_ENV", "/tmp/x"}};
  pod.ssh.user = "eve";
  pod.ssh.port = 2222;
  pod.ssh.proxy_jump = "evil.example";
  pod.ssh.transport = "openssh";
  pod.check_ready = false;
  pod.api_version = ApiVersion::kV2Alpha1;
  pod.lifecycle.create_before_destroy = true;
  pod.boot_timeout = std::chrono::minutes(9);
  pod.wanted_node_id = "e";
  EXPECT_EQ(Particulars(plan.changes[0], nullptr), (Map{{"project", "other"},
                                                        {"apiVersion", "v2alpha1"},
                                                        {"runtimeEnv.BASH_ENV", "/tmp/x"},
                                                        {"ssh.user", "eve"},
                                                        {"ssh.port", "2222"},
                                                        {"ssh.transport", "openssh"},
                                                        {"ssh.proxyJump", "evil.example"},
                                                        {"ssh.check", "false"},
                                                        {"lifecycle.createBeforeDestroy", "true"},
                                                        {"timeouts.boot", "9m"},
                                                        {"nodeId (of the spec)", "e"}}));
}

TEST_F(SavedPlanTest, TellsWhatAPlanDoesNotShowOfAStep) {
  harness_.Pods(Harness::Pod("a", "    bootstrap: [{name: s, run: 'echo'}]\n"));
  Plan plan = harness_.MakePlan();
  Change& step = plan.changes.at(1);
  EXPECT_TRUE(Particulars(step, nullptr).empty());
  auto* run = step.payload.Edit<StepChange>();
  run->step.timeout = std::chrono::seconds(90);
  run->step.files = {{"code", "~/code"}};
  run->files_digest = "0a1b";
  using Map = std::map<std::string, std::string>;
  EXPECT_EQ(Particulars(step, nullptr), (Map{{"timeout", "1m30s"}, {"files (digest)", "0a1b"}}));
}

// Of one that stays as it is, what is written down beside its node.
TEST_F(SavedPlanTest, TellsWhatIsToBeRememberedOfAPodThatIsKept) {
  harness_.Pods(Harness::Pod("a"));
  harness_.ApplyAll();
  Plan plan = harness_.MakePlan();
  ASSERT_TRUE(IsKeep(plan.changes[0]));
  const State state = harness_.Stored();
  const AnyRecord& prior = state.records.at(Addr("pod.a"));
  EXPECT_TRUE(Particulars(plan.changes[0], &prior).empty());
  plan.changes[0].payload.Edit<PodChange>()->wanted.ssh.proxy_jump = "evil.example";
  EXPECT_EQ(Particulars(plan.changes[0], &prior)["ssh.proxyJump"], "evil.example");
}

TEST_F(SavedPlanTest, ItsOrderIsOneThatAPlannerMakes) {
  harness_.Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo}, {name: y, run: echo}]\n"));
  const auto why = [&](const std::function<void(Plan&)>& edit) {
    SavedPlan saved = Save(harness_.MakePlan());
    edit(saved.plan);
    const auto read = PlanFromJson(Text(saved), "my.plan", AllKinds());
    return read.has_value() ? "" : read.error().message;
  };
  const auto waits = [](Plan& plan, const std::string& address) -> std::vector<Address>& {
    const auto found =
        std::find_if(plan.changes.begin(), plan.changes.end(),
                     [&](const Change& change) { return change.address == address; });
    return found->waits_for;
  };
  EXPECT_EQ(why([](Plan&) {}), "");
  EXPECT_THAT(why([&](Plan& plan) { waits(plan, "bootstrap.a.y").clear(); }),
              HasSubstr("bootstrap.a.y does not wait for pod.a, which it is a part of"));
  EXPECT_THAT(
      why([&](Plan& plan) { waits(plan, "bootstrap.a.x").push_back(Addr("bootstrap.a.x")); }),
      HasSubstr("bootstrap.a.x waits for itself"));
  EXPECT_THAT(
      why([&](Plan& plan) { waits(plan, "bootstrap.a.x").push_back(Addr("bootstrap.a.y")); }),
      HasSubstr("waits for itself"));
}

TEST_F(SavedPlanTest, OfATrainingJobToo) {
  SavedPlan saved = Save(Plan{});
  saved.prior.reset();
  TrainingJobSpec job;
  job.name = "mnist";
  job.image = "gcr.io/p/i:1";
  Change change;
  change.address = TrainingAddress("mnist");
  change.verb = Verb::kCreate;
  change.attributes = SubmitAttributes(job, [](const Address&) -> const Value* { return nullptr; });
  change.payload = Payload(job, KindNamed("trainingJob"));
  saved.plan.changes = {change};
  EXPECT_TRUE(PlanFromJson(Text(saved), "my.plan", AllKinds()));
  saved.plan.changes[0].payload.Edit<TrainingJobSpec>()->image = "gcr.io/evil/i:1";
  const auto read = PlanFromJson(Text(saved), "my.plan", AllKinds());
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("what it shows of trainingJob.mnist is not what"));
  saved.plan.changes[0].payload.Edit<TrainingJobSpec>()->name = "other";
  const auto renamed = PlanFromJson(Text(saved), "my.plan", AllKinds());
  ASSERT_FALSE(renamed);
  EXPECT_THAT(renamed.error().message, HasSubstr("trainingJob.mnist is no address of a change"));
}

TEST_F(SavedPlanTest, ItsSealIsThatOfItsStateAlone) {
  SavedPlan saved = Save(EveryKind());
  const std::string key = harness_.Stored().digest_key;
  ASSERT_TRUE(SealPlan(key, &saved));
  const std::string text = Text(saved);
  const auto read = PlanFromJson(text, "my.plan", AllKinds());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(IsSealedBy(key, *read));
  EXPECT_FALSE(IsSealedBy("another", *read));
  EXPECT_FALSE(IsSealedBy("", *read));
  Value document = *ParseJson(text);
  document.Set("state_path", "/tmp/elsewhere.json");
  const auto forged = PlanFromJson(ToJson(Sealed(document)), "my.plan", AllKinds());
  ASSERT_TRUE(forged);
  EXPECT_FALSE(IsSealedBy(key, *forged));
  document.Set("seal", HmacSha256Hex(key, forged->content));  // as a secret's digest would be
  EXPECT_FALSE(IsSealedBy(key, *PlanFromJson(ToJson(Sealed(document)), "my.plan", AllKinds())));
}

TEST_F(SavedPlanTest, TheFileIsWholeAndItsOwnersOnly) {
  const SavedPlan saved = RandomPlan(3);
  testing::FakeFileSystem files;
  files.SetFolder("/p");
  ASSERT_TRUE(WritePlanFile(saved, "/p/out.plan", "/p/.tmp", files).has_value());
  EXPECT_EQ(files.FileMode("/p/out.plan"), 0600u);
  EXPECT_THAT(files.AllFiles(), ElementsAre("/p/out.plan"));
  auto read = ReadPlanFile("/p/out.plan", files, AllKinds());
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(Text(*read), Text(saved));

  // A disk that fills up leaves the plan before, and nothing else.
  const std::string before = *files.FileText("/p/out.plan");
  files.LimitSpace(100);
  EXPECT_FALSE(WritePlanFile(RandomPlan(4), "/p/out.plan", "/p/.tmp", files).has_value());
  EXPECT_EQ(files.FileText("/p/out.plan"), before);
  EXPECT_THAT(files.AllFiles(), ElementsAre("/p/out.plan"));
}

}  // namespace
}  // namespace podctl

// A harness whose sessions are podctl's own: every door is a fake, and whoever is told keeps it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/record.h"
#include "plans/session/apply.h"
#include "plans/session/known_pods.h"
#include "plans/session/plan.h"
#include "providers/base/text.h"
#include "state/state_json.h"
#include "state/store.h"
#include "state/stores/local_store.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"
#include "tests/support/kinds.h"

namespace podctl::testing {

// What OS Login says, by project.
class FakeLogin final : public OsLogin {
 public:
  struct World {
    std::set<std::string> on;                         // projects
    Result<std::string> user = std::string("a_com");  // of everybody
    int questions = 0;
    std::vector<std::string> imported;  // projects into whose profile a key was put
  };
  explicit FakeLogin(World& world) : world_(world) {}

  bool IsOnIn(const std::string& project) override {
    ++world_.questions;
    return world_.on.contains(project);
  }
  Result<std::string> User(const std::string& project, const std::string&, bool import) override {
    if (import) world_.imported.push_back(project);
    return world_.user;
  }
  Error NoUser(const std::string& project) override {
    return MakeError(ErrorCode::kFailedPrecondition, "nobody in " + project);
  }

 private:
  World& world_;
};

// What Secret Manager holds, by the names that are asked for.
class FakeSecrets final : public Secrets {
 public:
  Result<SecretValue> Access(const std::string& name, std::stop_token) override {
    const std::lock_guard lock(mutex_);
    asked.push_back(name);
    const auto found = values.find(name);
    if (found == values.end()) return MakeError(ErrorCode::kNotFound, "there is none", "make it");
    return found->second;
  }

  std::map<std::string, Result<SecretValue>> values;
  std::vector<std::string> asked;

 private:
  std::mutex mutex_;
};

class SessionHarness : public PlanListener {
 public:
  static constexpr const char* kSpecPath = "/project/podctl.yaml";
  static constexpr const char* kStatePath = "/project/podctl.state.json";
  static constexpr const char* kLockPath = "/project/podctl.state.json.lock";

  SessionHarness() {
    files.SetFolder("/project");
    files.SetFolder("/home/a");
  }

  void Spec(const std::string& text) { files.SetFile(kSpecPath, text); }
  // As Harness::Pods.
  void Pods(const std::string& pods) { Spec("project: p\nzone: europe-west4-a\npods:\n" + pods); }

  AccessDoors Entry() {
    return {files, environment, keyring, [this] { ++keys_made; },
            [this] { return std::make_unique<FakeLogin>(login); }};
  }
  PlanDoors ToPlan() {
    return {Entry(), provider, Opener(), drain.get_token(), &secrets, {}, clock};
  }
  ApplyDoors ToApply() {
    return {Entry(), workers, clock, random, drain.get_token(), leave.get_token()};
  }
  std::function<std::unique_ptr<StateStore>(const std::string&)> Opener() {
    return [this](const std::string& path) {
      opened.push_back(path);
      return std::make_unique<LocalStore>(
          path, files, clock, random,
          LockHolder{"here", "alice@here", 1001,
                     [this](int, const std::string&) { return holder_lives; }},
          RememberedKinds());
    };
  }

  PlanRequest Request(bool lock = false) {
    PlanRequest request;
    request.load.paths = {kSpecPath};
    request.load.kinds = AllKinds();
    request.state = {kStatePath, false};
    if (lock) request.lock = LockRequest{[] { return LockInfo{}; }, {}};
    return request;
  }

  std::variant<PlanRun, NoPlan> Prepare(const PlanRequest& request) {
    return PreparePlan(ToPlan(), request, *this);
  }
  // The test fails where there is none.
  PlanRun Planned(const PlanRequest& request) { return Take(Prepare(request)); }
  static PlanRun Take(std::variant<PlanRun, NoPlan> made) {
    if (auto* run = std::get_if<PlanRun>(&made)) return std::move(*run);
    const NoPlan& none = std::get<NoPlan>(made);
    ADD_FAILURE() << (none.error                      ? none.error->message
                      : none.problems.items().empty() ? "interrupted"
                                                      : none.problems.items().front().summary);
    return {};
  }
  // The test fails where there is a plan.
  NoPlan Refused(const PlanRequest& request) { return Why(Prepare(request)); }
  static NoPlan Why(std::variant<PlanRun, NoPlan> made) {
    if (const auto* none = std::get_if<NoPlan>(&made)) return *none;
    ADD_FAILURE() << "there is a plan";
    return {};
  }

  // An apply that asks nobody; the test fails where it does not do all of it.
  PlanRun Applied(ExecuteResult* result = nullptr) {
    struct Yes final : ApplyListener {
      bool Approve(const PlanRun&) override { return true; }
      void OnNoLogin(const Error&) override {}
      EventSink& OnBegin() override { return events; }
      EventLog events;
    } yes;
    PlanRun run = Planned(Request(true));
    const ApplyEnd end = Apply(ToApply(), {}, yes, &run);
    EXPECT_TRUE(end.result.ok());
    if (result != nullptr) *result = end.result;
    run.lock.reset();
    return run;
  }
  PodDoors ToPods() {
    return {Entry(),
            provider,
            known_hosts,
            [this] { return Opener()(kStatePath); },
            "",
            [] { return LockInfo{}; },
            drain.get_token(),
            [this](const std::string& remark) { reported.push_back(remark); },
            [this](const Error& why) { reported.push_back("forgotten: " + why.message); },
            [this](const std::string& pod) { return watched_pods.contains(pod); }};
  }

  State Stored() {
    const auto text = files.FileText(kStatePath);
    auto state = StateFromJson(text.value_or(""), kStatePath, RememberedKinds());
    if (!state) ADD_FAILURE() << state.error().message;
    return state ? *std::move(state) : State{};
  }
  // Another process, which lives, has the state locked.
  void Lock() {
    LockInfo info;
    info.id = "33333333-3333-4333-8333-333333333333";
    info.who = "bob@here";
    info.host = "here";
    info.pid = 77;
    holder_lives = true;
    files.HoldLock(kLockPath, LockInfoToJson(info));
  }

  void OnSpec(const Diagnostics& warnings) override {
    for (const Diagnostic& each : warnings.items()) reported.push_back(each.summary);
  }
  void OnTakeover(const std::string& note) override { reported.push_back(note); }

  FakeFileSystem files;
  FakeProvider cloud;
  FakeStepRunner workers;
  FakeClock clock;
  FakeRandom random;
  FixedEnvironment environment{
      {{"HOME", "/home/a"}, {"TOKEN", "the-secret"}, {"OTHER", "another"}}};
  ssh::Keyring keyring{environment, files};
  ssh::KnownHostsFiles known_hosts{environment, files};
  FakeLogin::World login;
  FakeSecrets secrets;
  Result<Provider*> provider{&cloud};
  std::stop_source drain;
  std::stop_source leave;
  bool holder_lives = false;
  int keys_made = 0;
  std::set<std::string> watched_pods;
  std::vector<std::string> opened;  // states
  std::vector<std::string> reported;
};

}  // namespace podctl::testing

// A saved plan of anything that its file can hold, for tests of that file. The same seed makes the
// same plan.
#pragma once

#include <chrono>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "plans/engine/plan_file.h"
#include "plans/engine/plan_file/archive.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/plan.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/step/change.h"
#include "plans/kinds/step/record.h"
#include "plans/kinds/training_job/plan.h"
#include "plans/kinds/training_job/record.h"
#include "tests/support/addresses.h"
#include "tests/support/kinds.h"

namespace podctl::testing {

// Fills every member of a plan by chance, through the same description as the file has.
class PlanDice {
 public:
  explicit PlanDice(unsigned seed) : random_(seed) {}

  template <typename T>
  void operator()(const char*, T& member) {
    Throw(member);
  }
  template <typename S>
  requires std::is_class_v<S>
  void Throw(S& object) { Members(*this, object); }

 private:
  int Number(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }
  void Throw(Address& address) {
    static const std::vector<Address> some = {Addr("pod.a"), Addr("bootstrap.a.x"), {}};
    address = some[static_cast<std::size_t>(Number(2))];
  }
  void Throw(std::string& text) {
    static const std::vector<std::string> parts = {"a",
                                                   "pod.",
                                                   "\"",
                                                   "\\",
                                                   "\n",
                                                   "\xC3\xA9",
                                                   "${pod.a.b}",
                                                   "\xF0\x9F\x98\x80",
                                                   "`",
                                                   "<b>",
                                                   std::string("\0", 1),
                                                   "hmac-sha256:"};
    text.clear();
    for (int i = Number(4); i > 0; --i) text += parts[static_cast<std::size_t>(Number(11))];
  }
  void Throw(bool& flag) { flag = Number(1) == 1; }
  void Throw(int& number) { number = Number(90'000); }
  void Throw(std::int64_t& number) { number = Number(90'000); }
  void Throw(double& number) { number = Number(90'000) / 7.0; }
  void Throw(std::uint64_t& number) { number = static_cast<std::uint64_t>(Number(90'000)); }
  void Throw(std::chrono::milliseconds& duration) {
    duration = std::chrono::milliseconds(Number(1 << 30));
  }
  void Throw(Value& value, int depth = 0) {
    switch (Number(depth > 2 ? 4 : 6)) {
      case 0:
        value = Value();
        return;
      case 1:
        value = Value(Number(1) == 1);
        return;
      case 2:
        value = Value(std::int64_t{Number(5)} * -1'000'000'000'000);
        return;
      case 3:
        value = Value(Number(100) / 7.0);
        return;
      case 4: {
        std::string text;
        Throw(text);
        value = Value(text);
        return;
      }
      case 5:
        value = Value::EmptyList();
        for (int i = Number(3); i > 0; --i) Throw(value.MutableList().emplace_back(), depth + 1);
        return;
      default:
        value = Value::EmptyMap();
        for (int i = Number(3); i > 0; --i) {
          std::string key;
          Throw(key);
          Throw(value.MutableMap()[key], depth + 1);
        }
    }
  }
  template <typename E>
  requires std::is_enum_v<E>
  void Throw(E& word) {
    word = static_cast<E>(Number(static_cast<int>(std::size(plan_file::Words<E>::kAll)) - 1));
  }
  template <typename T>
  void Throw(std::optional<T>& member) {
    if (Number(1) == 1) Throw(member.emplace());
  }
  template <typename T>
  void Throw(std::vector<T>& items) {
    items.clear();
    for (int i = Number(3); i > 0; --i) Throw(items.emplace_back());
  }
  template <typename T>
  void Throw(std::map<std::string, T>& members) {
    members.clear();
    for (int i = Number(3); i > 0; --i) {
      std::string key;
      Throw(key);
      Throw(members[key]);
    }
  }
  void Throw(Change& change) {
    auto& [address, previous_address, verb, begun, attributes, reason_code, reason, waits_for,
           place, payload] = change;
    Throw(address);
    Throw(previous_address);
    Throw(verb);
    Throw(begun);
    Throw(attributes);
    Throw(reason_code);
    Throw(reason);
    Throw(waits_for);
    Throw(place);
    if (Number(1) == 1) {
      TrainingJobSpec job;
      (*this)("", job.image);
      (*this)("", job.args);
      (*this)("", job.labels);
      payload = Payload(std::move(job), KindNamed("trainingJob"));
    } else if (verb == Verb::kRun) {
      payload = Payload(Any<StepChange>(), KindNamed("bootstrap"));
    } else {
      payload = Payload(Any<PodChange>(), KindNamed("pod"));
    }
  }
  template <typename T>
  T Any() {
    T value;
    Throw(value);
    return value;
  }

  std::mt19937 random_;
};

// Names and lines that agree with what is done, as a planner's do.
inline void MakeHonest(int number, PodChange* pod, Change* change) {
  const std::string name = "x" + std::to_string(number);
  change->address = PodAddress(name);
  if (change->verb != Verb::kUpdate) {
    pod->fields.clear();
    pod->power.reset();
  }
  if (IsDelete(*change)) {
    pod->wanted = {};
    if (change->verb == Verb::kDelete && number % 2 == 1) {
      pod->node.node = name + "-1";
      change->address.deposed = pod->node.node;
    }
    return;
  }
  PodSpec& wanted = pod->wanted;
  wanted.name = name;
  // What a state takes, too (WhatItLeadsTheStateToSayCanBeRead).
  wanted.project = "p-" + std::to_string(number);
  wanted.zone = "europe-west4-a";
  wanted.node_id = name + "-1";
  wanted.ssh.port = 1 + wanted.ssh.port % 65535;
  if (wanted.ssh.transport) wanted.ssh.transport = "openssh";
  if (wanted.ssh.iap) wanted.ssh.iap = true;
  if (wanted.ssh.external_address) wanted.ssh.external_address = true;
  if (wanted.ssh.withhold_key) wanted.ssh.withhold_key = true;
  if (wanted.capacity) wanted.capacity->zones = {"europe-west4-a", "us-central1-b"};
  if (wanted.queued) {
    wanted.queued->id = "q";
    wanted.queued->slices = 1 + wanted.queued->slices % 256;
    wanted.queued->terms = Value::EmptyMap();
  }
  std::erase(wanted.depends_on, Address());
  pod->node = {pod->wanted.project, pod->wanted.zone, pod->wanted.node_id};
  if (change->verb == Verb::kCreate) {
    change->attributes = NewAttributes(pod->wanted, [](const Address&) { return nullptr; });
  }
}

inline void MakeHonest(int number, Change* change) {
  if (change->verb != Verb::kCreate) change->begun = false;
  if (auto* job = change->payload.Edit<TrainingJobSpec>()) {
    job->name = std::to_string(number);
    job->project = "p";
    job->region = "us-central1";
    change->address = TrainingAddress(job->name);
    change->verb = Verb::kDeleteThenCreate;  // what else may be done to it is checked
    change->begun = false;
  } else if (AsStep(*change) != nullptr) {
    change->address = StepAddress("x" + std::to_string(number), "s");
    auto* run = change->payload.Edit<StepChange>();
    if (!run->workers) run->selected.reset();
  } else {
    MakeHonest(number, change->payload.Edit<PodChange>(), change);
  }
}

inline SavedPlan RandomPlan(unsigned seed) {
  PlanDice dice(seed);
  SavedPlan saved;
  saved.podctl_version = "0.1.0";
  dice("", saved.created_at);
  dice("", saved.folder);
  dice("", saved.state_path);
  dice("", saved.endpoint);
  dice("", saved.spec_paths);
  dice("", saved.spec_digest);
  dice("", saved.variables);
  dice("", saved.sensitive_variables);
  dice("", saved.check_key);
  dice("", saved.preconditions);
  for (Precondition& precondition : saved.preconditions) precondition.address = Addr("pod.a");
  dice("", saved.jobs);
  dice("", saved.plan);
  if (saved.plan.cost) {
    saved.plan.cost->currency = "USD";
    saved.plan.cost->as_of = "2026-11-01";
  }
  saved.plan.refreshed = false;  // else its preconditions have to be those of its changes
  dice("", saved.seal);
  saved.prior.emplace();
  saved.prior->lineage = "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa";
  saved.prior->serial = 1;
  int number = 0;
  for (Change& change : saved.plan.changes) {
    MakeHonest(number, &change);
    ++number;
  }
  return saved;
}

}  // namespace podctl::testing

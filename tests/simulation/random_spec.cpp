#include "tests/simulation/random_spec.h"

#include <fmt/format.h>

#include <algorithm>

namespace podctl::simulation {
namespace {

constexpr std::size_t kMostPods = 5;

const std::vector<std::string>& Accelerators() {
  static const std::vector<std::string> types = {"v2-8", "v3-8", "v3-32"};
  return types;
}

}  // namespace

std::string RandomPod::SecretValue() const {
  return fmt::format("{}-{}-of-{}", kSecretMark, secret, name);
}

std::string RandomPod::StepScript(const std::string& step) const {
  return fmt::format("echo {}-{}", step, steps.at(step));
}

RandomSpec RandomSpec::Throw(Dice& dice) {
  RandomSpec spec;
  const std::size_t count = 1 + dice.Below(kMostPods - 1);
  for (std::size_t i = 0; i < count; ++i) {
    RandomPod pod = spec.NewPod(dice);
    spec.pods.push_back(std::move(pod));
  }
  return spec;
}

RandomPod RandomSpec::NewPod(Dice& dice) {
  RandomPod pod;
  pod.name = fmt::format("p{}", ++pods_ever_);
  pod.accelerator = dice.Pick(Accelerators());
  pod.team = dice.Chance(0.5) ? "vision" : "speech";
  if (dice.Chance(0.3)) pod.description = "first";
  if (dice.Chance(0.5)) pod.flags = 1;
  if (dice.Chance(0.4)) pod.note = 1;
  if (dice.Chance(0.4)) pod.secret = 1;
  for (const RandomPod& other : pods) {
    if (dice.Chance(0.3)) pod.depends_on.push_back(other.name);
  }
  if (!pods.empty() && dice.Chance(0.3)) pod.refers_to = dice.Pick(pods).name;
  const std::size_t steps = dice.Below(3);
  for (std::size_t i = 0; i < steps; ++i) pod.steps[fmt::format("s{}", i)] = 1;
  if (dice.Chance(0.2)) pod.node_id = "node-" + pod.name;
  pod.ignore_team = dice.Chance(0.1);
  pod.create_first = dice.Chance(0.25);
  pod.waits =
      pods_ever_ % 2 == 0;  // no throw, so that the seeds kept for other reasons stay theirs
  if (!pods.empty() && dice.Chance(0.1)) pod.triggers.push_back(dice.Pick(pods).name);
  pod.triggered = !pod.triggers.empty();
  return pod;
}

void RandomSpec::Edit(Dice& dice) {
  moved.clear();
  const std::size_t edits = 1 + dice.Below(4);
  for (std::size_t i = 0; i < edits; ++i) {
    const std::size_t what = dice.Below(10);
    if (what == 0 && pods.size() < kMostPods) {
      RandomPod pod = NewPod(dice);
      pods.push_back(std::move(pod));
    } else if (what == 1 && pods.size() > 1) {
      Drop(dice.Below(pods.size()));
    } else if (what == 2 && moved.empty()) {
      Rename(dice.Below(pods.size()));
    } else {
      EditPod(dice, &pods[dice.Below(pods.size())]);
    }
  }
}

void RandomSpec::EditPod(Dice& dice, RandomPod* pod) {
  switch (dice.Below(10)) {
    case 0:
      pod->accelerator = dice.Pick(Accelerators());
      return;
    case 1:
      pod->team = pod->team == "vision" ? "speech" : "vision";
      return;
    case 2:
      pod->description = pod->description == "first" ? "second" : "first";
      return;
    case 3:
      pod->flags = dice.Chance(0.2) ? 0 : pod->flags + 1;
      return;
    case 4:
      pod->note = dice.Chance(0.2) ? 0 : pod->note + 1;
      return;
    case 5:
      pod->secret = dice.Chance(0.2) ? 0 : pod->secret + 1;
      return;
    case 6:
      if (!pod->steps.empty() && dice.Chance(0.2)) {
        pod->steps.erase(pod->steps.begin());
      } else {
        ++pod->steps[fmt::format("s{}", dice.Below(3))];
      }
      return;
    case 8:
      pod->create_first = !pod->create_first;
      return;
    case 7:
      pod->ignore_team = !pod->ignore_team;
      return;
    default:
      pod->depends_on.clear();
      return;
  }
}

void RandomSpec::Drop(std::size_t at) {
  const std::string gone = pods[at].name;
  pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(at));
  for (RandomPod& pod : pods) {
    std::erase(pod.depends_on, gone);
    std::erase(pod.triggers, gone);
    if (pod.refers_to == gone) pod.refers_to.clear();
  }
  // Of a pod that came and went in one go nothing is known that could move.
  std::erase_if(moved, [&](const auto& move) { return move.second == gone; });
}

void RandomSpec::Rename(std::size_t at) {
  const std::string from = pods[at].name;
  const std::string to = fmt::format("p{}", ++pods_ever_);
  pods[at].name = to;
  for (RandomPod& pod : pods) {
    std::replace(pod.depends_on.begin(), pod.depends_on.end(), from, to);
    std::replace(pod.triggers.begin(), pod.triggers.end(), from, to);
    if (pod.refers_to == from) pod.refers_to = to;
  }
  moved.emplace_back(from, to);
}

std::string RandomSpec::Yaml() const {
  std::string text = "project: p\nzone: europe-west4-a\n";
  if (!moved.empty()) text += "moved:\n";
  for (const auto& [from, to] : moved) {
    text += fmt::format("  - {{from: pod.{}, to: pod.{}}}\n", from, to);
  }
  text += "pods:\n";
  for (const RandomPod& pod : pods) {
    text += fmt::format("  {}:\n    acceleratorType: {}\n", pod.name, pod.accelerator);
    text += "    runtimeVersion: tpu-vm-tf-2.11.0\n";
    text += fmt::format("    labels: {{team: {}}}\n", pod.team);
    if (!pod.description.empty()) text += fmt::format("    description: {}\n", pod.description);
    if (pod.waits && !pod.create_first) text += "    capacity: {retry: 10m}\n";
    if (!pod.node_id.empty()) text += fmt::format("    nodeId: {}\n", pod.node_id);
    if (pod.flags > 0) text += fmt::format("    libtpuFlags: {{f: {}}}\n", pod.flags);
    text += "    metadata:\n      kind: simulated\n";
    if (pod.note > 0) text += fmt::format("      note: note-{}\n", pod.note);
    if (pod.secret > 0) {
      text += fmt::format("      token: {{value: {}, sensitive: true}}\n", pod.SecretValue());
    }
    if (!pod.refers_to.empty()) {
      text +=
          fmt::format("      peer: \"${{pod.{}.networkEndpoints[0].ipAddress}}\"\n", pod.refers_to);
    }
    if (!pod.steps.empty()) text += "    bootstrap:\n";
    for (const auto& [step, version] : pod.steps) {
      text += fmt::format("      - {{name: {}, run: {}}}\n", step, pod.StepScript(step));
    }
    if (!pod.depends_on.empty()) {
      text += fmt::format("    dependsOn: [pod.{}]\n", fmt::join(pod.depends_on, ", pod."));
    }
    text += fmt::format(
        "    lifecycle: {{ignoreChanges: [{}], createBeforeDestroy: {}, replaceTriggeredBy: "
        "[{}]}}\n",
        pod.ignore_team ? "labels.team" : "", pod.create_first,
        pod.triggers.empty() ? "" : fmt::format("pod.{}", fmt::join(pod.triggers, ", pod.")));
  }
  text += "outputs:\n";
  for (const RandomPod& pod : pods) {
    text += fmt::format("  of-{0}: \"{1} ${{pod.{0}.networkEndpoints[0].ipAddress}}\"\n", pod.name,
                        pod.team);
    if (pod.secret == 0) continue;
    text +=
        fmt::format("  secret-{}: {{value: {}, sensitive: true}}\n", pod.name, pod.SecretValue());
  }
  return text;
}

}  // namespace podctl::simulation

#include "plans/session/pod_ends.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "providers/base/text.h"

namespace podctl {
namespace {

using std::chrono::milliseconds;

const char* WhatWatchDoes(IdleSpec::Then what) {
  switch (what) {
    case IdleSpec::Then::kStop:
      return "stops";
    case IdleSpec::Then::kDelete:
      return "deletes";
    case IdleSpec::Then::kReport:
      break;
  }
  return "reports";
}

// The spec's word counts, whether it was applied or not: so do `ttl` and `idle` themselves.
std::string Protected(const PodSpec& pod, const char* end) {
  return fmt::format("{} stays, whatever {} says: `lifecycle.preventDestroy` protects it",
                     PodAddress(pod.name), end);
}

// nullopt: when it was made is not known.
std::optional<std::chrono::sys_seconds> EndOfTtl(const PodSpec& pod, const PodRecord& record) {
  const auto made = ParseTimestamp(record.observed["createTime"].AsString());
  if (!made) return std::nullopt;
  return *made + std::chrono::ceil<std::chrono::seconds>(*pod.ttl);
}

PlannedEnd EndOf(const PodSpec& pod, const PodRecord& record) {
  PlannedEnd end{pod.name, "", ""};
  std::vector<std::string> parts;
  const std::string it = PodAddress(pod.name).Text();
  const bool is_protected = pod.lifecycle.prevent_destroy;
  if (pod.ttl && !is_protected) {
    const std::string ttl = FormatDuration(*pod.ttl);
    if (const auto at = EndOfTtl(pod, record)) {
      end.at = FormatTimestamp(*at);
      parts.push_back(fmt::format("deletes {} at {}, when its ttl of {} is over", it, end.at, ttl));
    }
  }
  if (pod.idle && !(is_protected && pod.idle->then == IdleSpec::Then::kDelete)) {
    parts.push_back(fmt::format("{} {} after {} in which nobody uses it",
                                WhatWatchDoes(pod.idle->then), parts.empty() ? it : "it",
                                FormatDuration(pod.idle->after)));
  }
  if (!parts.empty()) end.sentence = fmt::format("`podctl watch` {}.", Join(parts, ", and "));
  return end;
}

}  // namespace

std::vector<PlannedEnd> PlannedEnds(const Spec& spec, const State& settled) {
  std::vector<PlannedEnd> ends;
  for (const PodSpec* pod : DeclaredPods(spec)) {
    const PodRecord* record = Pods(settled).Get(PodAddress(pod->name));
    if (record == nullptr || !record->exists() || !record->observed.is_map()) continue;
    PlannedEnd end = EndOf(*pod, *record);
    if (!end.sentence.empty()) ends.push_back(std::move(end));
  }
  std::sort(ends.begin(), ends.end(),
            [](const PlannedEnd& a, const PlannedEnd& b) { return a.pod < b.pod; });
  return ends;
}

std::optional<std::string> NoteOnEnds(const Spec& spec) {
  constexpr std::size_t kMost = 5;
  std::vector<std::string> ends;
  for (const PodSpec* pod : DeclaredPods(spec)) {
    if (pod->ttl) {
      ends.push_back(
          fmt::format("deletes {} {} after it was made", pod->name, FormatDuration(*pod->ttl)));
    }
    if (pod->idle) {
      ends.push_back(fmt::format("{} {} after {} in which nobody uses it",
                                 WhatWatchDoes(pod->idle->then), pod->name,
                                 FormatDuration(pod->idle->after)));
    }
  }
  if (ends.empty()) return std::nullopt;
  const std::size_t more = ends.size() > kMost ? ends.size() - kMost : 0;
  ends.resize(ends.size() - more);
  return fmt::format("`podctl watch` {}{} (`ttl`, `idle`). Nobody else does.", Join(ends, ", "),
                     more == 0 ? "" : fmt::format(", and so on for {} more", more));
}

void PodEnds::See(const Spec& spec, const State& settled, const std::set<std::string>& busy) {
  seen_.clear();
  for (const PodSpec* pod : DeclaredPods(spec)) {
    if ((!pod->ttl && !pod->idle) || busy.contains(pod->name)) continue;
    const PodRecord* record = Pods(settled).Get(PodAddress(pod->name));
    // What an earlier run began is brought to its end by who does that.
    if (record != nullptr && record->exists() && !record->pending() && record->observed.is_map()) {
      seen_.emplace_back(*pod, *record);
    } else {
      idle_.erase(pod->name);
    }
  }
}

std::vector<PodEnd> PodEnds::LookAtTtl(Clock& clock, const Tell& tell) {
  std::vector<PodEnd> due;
  for (const auto& [pod, record] : seen_) {
    if (auto end = OverTtl(pod, record, clock, tell)) due.push_back(*std::move(end));
  }
  for (const PodEnd& end : due) {
    std::erase_if(seen_, [&](const auto& seen) { return seen.first.name == end.pod; });
  }
  return due;
}

std::vector<PodEnd> PodEnds::LookForUse(const UseLook& use, Clock& clock, const Tell& tell) {
  std::vector<PodEnd> due;
  for (const auto& [pod, record] : seen_) {
    if (auto end = OverIdle(pod, record, use, clock, tell)) due.push_back(*std::move(end));
  }
  return due;
}

std::optional<PodEnd> PodEnds::OverTtl(const PodSpec& pod, const PodRecord& record, Clock& clock,
                                       const Tell& tell) {
  if (!pod.ttl) return std::nullopt;
  const std::string ttl = FormatDuration(*pod.ttl);
  if (pod.lifecycle.prevent_destroy) {
    TellOnce(pod.name, Protected(pod, "its ttl"), tell);
    return std::nullopt;
  }
  const auto end = EndOfTtl(pod, record);
  if (!end) {
    TellOnce(pod.name,
             fmt::format("when {} was made is not known, so its ttl of {} cannot be kept",
                         PodAddress(pod.name), ttl),
             tell);
    return std::nullopt;
  }
  if (clock.Now() >= *end) {
    return PodEnd{pod.name, IdleSpec::Then::kDelete, fmt::format("its ttl of {} is over", ttl)};
  }
  TellOnce(pod.name,
           fmt::format("{} will be deleted at {}, when its ttl of {} is over", PodAddress(pod.name),
                       FormatTimestamp(*end), ttl),
           tell);
  return std::nullopt;
}

std::optional<PodEnd> PodEnds::OverIdle(const PodSpec& pod, const PodRecord& record,
                                        const UseLook& use, Clock& clock, const Tell& tell) {
  const std::string& state = record.observed["state"].AsString();
  if (!pod.idle || state != "READY") {
    idle_.erase(pod.name);
    return std::nullopt;
  }
  if (pod.idle->then == IdleSpec::Then::kDelete && pod.lifecycle.prevent_destroy) {
    TellOnce("idle " + pod.name, Protected(pod, "`idle`"), tell);
    return std::nullopt;
  }
  const PodUse seen = use(pod.name);
  const Address address = PodAddress(pod.name);
  if (seen.is != PodUse::Is::kIdle) {
    idle_.erase(pod.name);
    const bool used = seen.is == PodUse::Is::kUsed;
    TellOnce("idle " + pod.name,
             used ? fmt::format("{} is used: {}", address, seen.why)
                  : fmt::format("whether {} is used is not known: {}", address, seen.why),
             tell);
    return std::nullopt;
  }
  const auto [at, is_new] = idle_.try_emplace(pod.name);
  if (is_new || at->second.uid != record.current.uid) {
    at->second = {record.current.uid, clock.SinceBoot(), FormatTimestamp(clock.Now())};
  }
  const std::string after = FormatDuration(pod.idle->after);
  if (clock.SinceBoot() - at->second.since >= pod.idle->after) {
    if (pod.idle->then == IdleSpec::Then::kReport) {
      TellOnce("idle " + pod.name, fmt::format("nobody has used {} for {}", address, after), tell);
      return std::nullopt;
    }
    return PodEnd{pod.name, pod.idle->then, fmt::format("nobody has used it for {}", after)};
  }
  TellOnce("idle " + pod.name,
           fmt::format("nobody uses {} since {}", address, at->second.since_then), tell);
  return std::nullopt;
}

void PodEnds::TellOnce(const std::string& subject, const std::string& remark, const Tell& tell) {
  std::string& told = told_[subject];
  if (std::exchange(told, remark) != remark) tell(remark);
}

}  // namespace podctl

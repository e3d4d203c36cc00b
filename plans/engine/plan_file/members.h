// What each struct of a saved plan consists of, for archive.h: the only list of names in the file.
//
// Every function takes its struct apart with a structured binding, which no longer compiles when a
// member is added: whoever adds one decides here what it is called in the file, and whether an old
// file without it can still be understood (if not, kPlanFormatVersion goes up).
#pragma once

#include "plans/engine/change.h"
#include "plans/engine/kind.h"
#include "plans/engine/plan_file.h"
#include "plans/engine/plan_file/archive.h"
#include "plans/engine/plan_file/places.h"

namespace podctl {

template <>
struct plan_file::Words<Drift::Kind> {
  static constexpr const char* kAll[] = {"changed",   "vanished", "terminal",
                                         "repairing", "stopped",  "unhealthy"};
};
template <>
struct plan_file::Words<PlanMode> {
  static constexpr const char* kAll[] = {"normal", "destroy", "refresh-only"};
};
template <>
struct plan_file::Words<ReasonCode> {
  static constexpr const char* kAll[] = {"none",       "cannot-update", "tainted",
                                         "by-request", "by-triggers",   "no-configuration"};
};
template <>
struct plan_file::Words<Verb> {
  static constexpr const char* kAll[] = {
      "keep",   "create", "update", "delete-then-create", "create-then-delete",
      "delete", "forget", "run"};
};

template <typename A, plan_file::Of<AttributeChange> S>
void Members(A& archive, S& change) {
  auto& [path, before, after, known, sensitive, forces_replacement] = change;
  archive("path", path);
  archive("before", before);
  archive("after", after);
  archive("known", known);
  archive("sensitive", sensitive);
  archive("forces_replacement", forces_replacement);
}

namespace plan_file {

// A payload: written by its kind, and read as the plain value, which OpenPayloads hands to it.
template <typename A, typename P>
void KindMember(A& archive, const std::string& kind, P& payload) {
  if constexpr (std::is_const_v<P>) {
    archive(kind.c_str(), payload.kind()->WritePayload(payload));
  } else {
    Value value;
    archive(kind.c_str(), value);
    payload = std::move(value);
  }
}

}  // namespace plan_file

template <typename A, plan_file::Of<Change> S>
void Members(A& archive, S& change) {
  auto& [address, previous_address, verb, begun, attributes, reason_code, reason, waits_for, place,
         payload] = change;
  archive("address", address);
  archive("previous_address", previous_address);
  archive("verb", verb);
  archive("begun", begun);
  archive("attributes", attributes);
  archive("reason_code", reason_code);
  archive("reason", reason);
  archive("waits_for", waits_for);
  archive("place", place);
  plan_file::KindMember(archive, address.kind, payload);
}

template <typename A, plan_file::Of<Drift> S>
void Members(A& archive, S& drift) {
  auto& [kind, address, sentence, attributes] = drift;
  archive("kind", kind);
  archive("address", address);
  archive("sentence", sentence);
  archive("attributes", attributes);
}

template <typename A, plan_file::Of<Plan> S>
void Members(A& archive, S& plan) {
  auto& [mode, targets, refreshed, changes, drift, lineage, serial] = plan;
  archive("mode", mode);
  archive("targets", targets);
  archive("refreshed", refreshed);
  archive("changes", changes);
  archive("drift", drift);
  archive("lineage", lineage);
  archive("serial", serial);
}

template <typename A, plan_file::Of<Stake> S>
void Members(A& archive, S& saved) {
  auto& [address, value] = saved;
  archive("address", address);
  archive("stake", value);
}

}  // namespace podctl

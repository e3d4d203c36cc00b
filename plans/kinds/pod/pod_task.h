// What the tasks have in common that act on a pod's node, or on what the node comes from: who is
// asked, what is noted, and that a request is followed to the end of its operation.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plans/engine/task.h"
#include "plans/kinds/pod/diff.h"
#include "plans/kinds/pod/journal.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/pod/tasks.h"
#include "providers/base/text.h"

namespace podctl {

class PodTask : public AskingTask {
 public:
  std::string Id() const override { return name_.Resource(); }

 protected:
  PodTask(Address address, TaskContext& context,
          std::optional<std::chrono::milliseconds> limit = std::nullopt)
      : address_(std::move(address)),
        context_(context),
        journal_(context),
        wait_(context, limit),
        pace_(context.random) {}
  PodTask(const PodSpec& pod, TaskContext& context,
          std::optional<std::chrono::milliseconds> limit = std::nullopt)
      : PodTask(PodAddress(pod.name), context, limit) {
    name_ = NameOf(pod);
    UseVersion(pod.api_version.value_or(ApiVersion::kV2));
  }

  void UseVersion(ApiVersion version) {
    version_ = version;
    wait_.UseVersion(version);
  }
  Provider& Cloud() const { return context_.provider.InVersion(version_); }
  const PodRecord* Record() const { return journal_.Find(address_); }
  // The body of a create; an error where a reference leads nowhere.
  Result<Value> NewNode(const PodSpec& pod) const {
    std::vector<std::string> unknown;
    Value body = CreateBody(pod, context_.Lookup(), &unknown);
    if (unknown.empty()) return body;
    return Unrendered(pod, unknown, "Is the path of the reference right?");
  }
  static Error NotInState() {
    return MakeError(ErrorCode::kInternal, "the pod is not in the state");
  }
  static Error NotKnown(const std::vector<std::string>& paths, std::string hint = {}) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     Join(paths, ", ") + " refers to something that is not known", std::move(hint));
  }
  // What stopped `paths` from being rendered: a value that may not stand there, known only by now.
  Error Unrendered(const PodSpec& pod, const std::vector<std::string>& paths,
                   std::string hint = {}) const {
    const auto unusable = FindUnusableOf(pod, context_.Lookup());
    if (!unusable || unusable->missing) return NotKnown(paths, std::move(hint));
    return MakeError(ErrorCode::kFailedPrecondition, "the pod refers to " + unusable->words,
                     unusable->hint);
  }

  template <typename Self>
  NextAction LookAtNode(NextAction (Self::*take)(const Result<Value>&)) {
    return Ask(CallOf(Cloud(), &Provider::GetNode, name_), take);
  }
  // Of the node's zone.
  template <typename Self>
  NextAction ListOperations(NextAction (Self::*take)(const Result<std::vector<Operation>>&)) {
    return Ask(CallOf(Cloud(), &Provider::ListOperations, name_.project, name_.zone), take);
  }
  // Sends what begins an operation, and waits for its end.
  template <typename Self>
  // NOLINTNEXTLINE(performance-unnecessary-value-param): as of Ask.
  NextAction Operate(Call call, NextAction (Self::*refused)(const Error&),
                     NextAction (Self::*over)()) {
    auto* self = static_cast<Self*>(this);
    return AskThen(std::move(call), true, [self, refused, over](const Reply& reply) {
      const auto& sent = std::get<Result<Operation>>(reply);
      return sent ? self->Follow(*sent, over) : (self->*refused)(sent.error());
    });
  }
  // Waits for what an earlier run began.
  template <typename Self>
  NextAction GoOn(const std::string& operation, NextAction (Self::*over)()) {
    return Await(wait_.For({operation, false, {}, {}}, true), over);
  }
  template <typename Self>
  NextAction Follow(const Operation& operation, NextAction (Self::*over)()) {
    journal_.OperationStarted(address_, operation.name, deposed_);
    return Await(wait_.For(operation), over);
  }
  // Why `what`, "the node research", was not deleted, where the service's words alone do not say of
  // what they are. `operation`: that failed; empty: it was refused at once.
  static Error NotDeleted(const std::string& what, const Error& error,
                          const std::string& operation = {}) {
    const std::string hint = "It stays in the state, and the next run tries again.";
    return MakeError(
        error.code,
        fmt::format("deleting {} failed: {}{}", what, error.message,
                    operation.empty() ? "" : fmt::format(" (operation {})", operation)),
        error.hint.empty() ? hint : Sentence(error.hint) + "\n" + hint);
  }
  // It changed nothing.
  NextAction Withdrawn(Error error) {
    journal_.Withdraw(address_, deposed_);
    return Failed(std::move(error));
  }

  const Address address_;  // of the pod
  std::string deposed_;    // the id of a deposed node; empty: the pod's own
  NodeName name_;
  ApiVersion version_ = ApiVersion::kV2;
  TaskContext& context_;
  PodJournal journal_;
  OperationWait wait_;
  PollBackoff pace_;
};

}  // namespace podctl

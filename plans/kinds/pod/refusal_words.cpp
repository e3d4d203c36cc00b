#include "plans/kinds/pod/refusal_words.h"

#include <fmt/format.h>

#include "plans/kinds/pod/backing.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

using gcp::Refusal;

std::string Said(const Error& error) {
  return fmt::format("The service says: {}", error.message);
}

// What helps against a stock-out, as far as the spec does not say it already.
std::string CapacityHint(const PodSpec& pod) {
  if (BackingOf(pod).TermsOf(pod).waits) return "";
  if (!pod.capacity) {
    return "`capacity: {retry: 2h, zones: [...]}` on the pod waits and tries other zones.\n";
  }
  if (pod.capacity->retry.count() == 0) return "`capacity.retry: 2h` waits for it.\n";
  if (pod.capacity->zones.size() == 1) return "`capacity.zones: [...]` tries other zones.\n";
  return "";
}

// Where the service does not know the type or the runtime version by the name that the spec gives.
Error WithCatalogue(Error error, const PodSpec& pod) {
  const bool of_request =
      error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kNotFound;
  if (!of_request || !error.hint.empty()) return error;
  const auto names = [&](const std::string& word) {
    return !word.empty() && error.message.find(word) != std::string::npos;
  };
  const bool of_version = names(pod.node["runtimeVersion"].AsString());
  if (!of_version && !names(pod.node["acceleratorType"].AsString())) return error;
  error.hint = fmt::format("`podctl {} --zone {}` lists those it has.",
                           of_version ? "versions" : "types", ShellQuote(pod.zone));
  return error;
}

}  // namespace

std::string TypeOf(const PodSpec& pod) {
  const std::string& type = pod.node["acceleratorType"].AsString();
  if (!type.empty()) return type;
  const Value& config = pod.node["acceleratorConfig"];
  return fmt::format("{} {}", config["type"].AsString(), config["topology"].AsString());
}

Refusal RefusalOf(const Error& error, gcp::RefusedBy by, const PodSpec& pod) {
  const Refusal refusal = gcp::RefusalOf(error, by);
  // The service speaks of reserved capacity to those who asked for none, too.
  const bool misleads = refusal == Refusal::kReservation && !BackingOf(pod).TermsOf(pod).reserved;
  return misleads ? Refusal::kNoCapacity : refusal;
}

Error InPodsWords(const Error& error, Refusal refusal, const PodSpec& pod) {
  switch (refusal) {
    case Refusal::kNone:
      return WithCatalogue(error, pod);
    case Refusal::kNoCapacity:
      return MakeError(error.code, fmt::format("no capacity for {} in {}", TypeOf(pod), pod.zone),
                       CapacityHint(pod) + Said(error));
    case Refusal::kReservation:
      return MakeError(
          error.code, fmt::format("no room for {} in the reservation in {}", TypeOf(pod), pod.zone),
          fmt::format("Delete what is not needed in it, or have it increased.{}\n{}",
                      pod.capacity || BackingOf(pod).TermsOf(pod).waits
                          ? ""
                          : " `capacity: {retry: 2h}` on the pod waits for room.",
                      Said(error)));
    case Refusal::kQuota:
      return MakeError(
          error.code,
          fmt::format("the quota of {} does not allow {} in {}", pod.project, TypeOf(pod),
                      pod.zone),
          fmt::format("Waiting does not help: delete what is not needed (queued resources that are "
                      "FAILED or SUSPENDED count too), or ask for more in the Cloud console (IAM & "
                      "Admin, Quotas).\n{}",
                      Said(error)));
    case Refusal::kRate:
      return MakeError(
          error.code,
          fmt::format("{} was asked too often, and still refuses after minutes",
                      pod.project.empty() ? "the service" : "the service for " + pod.project),
          fmt::format("The next `podctl apply` goes on; lower --parallelism, or look "
                      "who else asks.\n{}",
                      Said(error)));
  }
  return error;
}

}  // namespace podctl

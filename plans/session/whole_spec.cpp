#include "plans/session/whole_spec.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "plans/kinds/output/record.h"
#include "plans/spec/other_states.h"

namespace podctl {
namespace {

// Two paths may be one file.
std::string PlainPlace(const std::string& place) {
  if (IsStateUrl(place)) return place;
  std::error_code error;
  const auto absolute = std::filesystem::absolute(place, error);
  return error ? place : absolute.lexically_normal().string();
}

class OtherStates {
 public:
  OtherStates(const SpecDoors& doors, const std::string& own)
      : doors_(doors), own_(PlainPlace(own)) {}

  void Read(const OtherState& other) {
    if (PlainPlace(other.where) == own_) {
      return Report(other, fmt::format("`{}` is the spec's own state", other.name),
                    "An apply writes it: name the state of another spec, or use what the outputs "
                    "are made of.");
    }
    const auto snapshot = doors_.open_store(other.where)->Load();
    if (!snapshot) {
      return Report(
          other,
          fmt::format("the state `{}` cannot be read: {}", other.name, snapshot.error().message),
          // Nobody restores somebody else's state, or what is no state at all.
          snapshot.error().code == ErrorCode::kDataLoss
              ? "Check the place under `stateOf`: it is where another spec keeps its state. What "
                "is "
                "damaged there is for whoever keeps it to bring back."
              : snapshot.error().hint);
    }
    if (!snapshot->state) {
      return Report(other, fmt::format("there is no state `{}` at {}", other.name, other.where),
                    "It is there once its own spec has been applied.");
    }
    auto& outputs = outputs_[other.name];
    for (const auto& [address, record] : Outputs(*snapshot->state)) {
      outputs[address.name] = {record.value, record.sensitive()};
    }
  }

  OtherOutputs outputs() && { return std::move(outputs_); }
  Diagnostics problems() && { return std::move(problems_); }
  bool failed() const { return problems_.has_errors(); }

 private:
  void Report(const OtherState& other, std::string summary, std::string detail) {
    Diagnostic diagnostic;
    diagnostic.summary = std::move(summary);
    diagnostic.detail = std::move(detail);
    diagnostic.place = other.place;
    diagnostic.context = "stateOf";
    problems_.Add(std::move(diagnostic));
  }

  const SpecDoors& doors_;
  const std::string own_;
  OtherOutputs outputs_;
  Diagnostics problems_;
};

}  // namespace

WholeSpec LoadWholeSpec(const LoadOptions& load, const SpecDoors& doors,
                        const std::function<std::string(const Spec& spec)>& own) {
  WholeSpec whole;
  whole.spec = LoadSpec(load, doors.files, doors.environment, whole.problems);
  if (whole.problems.has_errors() || whole.spec.other_states.empty()) return whole;
  OtherStates states(doors, own(whole.spec));
  for (const OtherState& other : whole.spec.other_states) states.Read(other);
  if (states.failed()) {
    whole.problems = std::move(states).problems();
    whole.states_failed = true;
    return whole;
  }
  LoadOptions again = load;
  again.other_outputs = std::make_shared<const OtherOutputs>(std::move(states).outputs());
  whole.problems = Diagnostics();
  whole.spec = LoadSpec(again, doors.files, doors.environment, whole.problems);
  return whole;
}

}  // namespace podctl

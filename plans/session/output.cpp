#include "plans/session/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "plans/kinds/output/record.h"
#include "plans/kinds/output/spec.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/spec/references.h"

namespace podctl {
namespace {

// What references are read from, as the state says it.
class Remembered {
 public:
  Remembered(const State& state, Kinds kinds) : state_(state), kinds_(kinds) {}

  const Value* operator()(const Address& of) {
    const auto record = state_.records.find(of);
    const Kind* kind = FindKind(kinds_, of.kind);
    if (record == state_.records.end() || kind == nullptr) return nullptr;
    const auto [known, is_new] = values_.emplace(of, Value());
    if (is_new) {
      const PodRecord* pod = Pods(state_).Get(of);
      known->second =
          pod == nullptr ? kind->Published(record->second) : PublishedNode(pod->observed, pod);
    }
    return known->second.is_null() ? nullptr : &known->second;
  }

 private:
  const State& state_;
  const Kinds kinds_;
  std::map<Address, Value> values_;
};

Error NotToBeHad(const std::string& name, const std::string& why) {
  return MakeError(
      ErrorCode::kFailedPrecondition,
      fmt::format("the value of the sensitive output `{}` cannot be told: {}", name, why),
      "The state holds a digest of it, and no value: it is made anew from the spec, with the "
      "variables that the apply had.");
}

}  // namespace

Result<std::string> SensitiveOutput(const std::string& name, const Spec& spec, const State& state,
                                    Kinds kinds) {
  const Address address = OutputAddress(name);
  const OutputRecord* record = Outputs(state).Get(address);
  PODCTL_CHECK(record != nullptr && record->sensitive());
  const auto declared = std::find_if(spec.declared.begin(), spec.declared.end(),
                                     [&](const Declared& each) { return each.address == address; });
  const OutputSpec* output =
      declared == spec.declared.end() ? nullptr : declared->wanted.As<OutputSpec>();
  if (output == nullptr) return NotToBeHad(name, "the spec has no such output");
  Remembered remembered(state, kinds);
  auto value = RenderText(output->text, [&](const Address& of) { return remembered(of); });
  if (!value) return NotToBeHad(name, "the state does not know what it refers to");
  if (OutputDigest(*value, state.digest_key) != record->digest) {
    return NotToBeHad(name, "the spec says another one than was applied last");
  }
  return *std::move(value);
}

}  // namespace podctl

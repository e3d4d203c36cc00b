#include "plans/engine/task.h"

#include <algorithm>

namespace podctl {

ReferenceLookup TaskContext::Lookup() const {
  return [this](const Address& of) -> const Value* {
    const auto it = published.find(of);
    return it == published.end() ? nullptr : &it->second;
  };
}

std::chrono::milliseconds PollPace::Next() {
  constexpr double kFirst = 1;
  constexpr double kGrowth = 1.4;
  constexpr double kLongest = 15;
  seconds_ = seconds_ == 0 ? kFirst : std::min(kLongest, seconds_ * kGrowth);
  const double jittered = seconds_ * (0.9 + 0.2 * random_->Uniform());
  return std::chrono::milliseconds(static_cast<std::int64_t>(jittered * 1000));
}

Need Done() {
  return Need{};
}

Need Failed(Error error) {
  Need need;
  need.result = std::move(error);
  return need;
}

Need CallFor(Call call, bool acts) {
  Need need;
  need.kind = Need::Kind::kCall;
  need.acts = acts;
  need.call = std::move(call);
  return need;
}

Need Sleep(std::chrono::milliseconds duration) {
  Need need;
  need.kind = Need::Kind::kSleep;
  need.sleep = duration;
  return need;
}

Need Later() {
  Need need;
  need.kind = Need::Kind::kLater;
  return need;
}

}  // namespace podctl

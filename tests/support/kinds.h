// The kinds that podctl has, for tests that need them all and look at no file.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/loader.h"
#include "tests/support/fake_file_system.h"

namespace podctl::testing {

inline KnownKinds AllKinds() {
  static FakeFileSystem files;
  static const BuiltInKinds kinds{{files}};
  return kinds.known();
}

inline const Kind* KindNamed(std::string_view name) {
  return FindKind(AllKinds().all, name);
}

// To be loaded with every section that there is.
inline LoadOptions WithKinds() {
  LoadOptions load;
  load.kinds = AllKinds();
  return load;
}

// The pods that a spec declares, lent by it.
class PodsOf {
 public:
  explicit PodsOf(const Spec& spec) : pods_(DeclaredPods(spec)) {}
  const PodSpec& operator[](std::size_t i) const { return *pods_.at(i); }
  const PodSpec& at(std::size_t i) const { return *pods_.at(i); }
  const PodSpec& front() const { return *pods_.at(0); }
  std::size_t size() const { return pods_.size(); }
  bool empty() const { return pods_.empty(); }

 private:
  const std::vector<const PodSpec*> pods_;
};

inline void Declare(PodSpec pod, Spec* spec) {
  Declared declared{PodAddress(pod.name), pod.place, {}, pod.depends_on};
  declared.wanted = Payload(std::move(pod), KindNamed("pod"));
  spec->declared.push_back(std::move(declared));
}

}  // namespace podctl::testing

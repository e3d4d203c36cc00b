#include "plans/kinds/pod/spec.h"

namespace podctl {

std::vector<const PodSpec*> DeclaredPods(const Spec& spec) {
  std::vector<const PodSpec*> pods;
  for (const Declared& declared : spec.declared) {
    if (declared.address.kind == kPodKind) pods.push_back(&WantedPod(declared));
  }
  return pods;
}

const PodSpec* FindDeclaredPod(const Spec& spec, std::string_view name) {
  for (const PodSpec* pod : DeclaredPods(spec)) {
    if (pod->name == name) return pod;
  }
  return nullptr;
}

std::vector<PodSpec*> EditPods(Spec* spec) {
  std::vector<PodSpec*> pods;
  for (Declared& declared : spec->declared) {
    if (declared.address.kind == kPodKind) pods.push_back(declared.wanted.Edit<PodSpec>());
  }
  return pods;
}

}  // namespace podctl

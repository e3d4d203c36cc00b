#include "plans/kinds/pod/bookkeeping.h"

#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/runtime_flags.h"

namespace podctl {

void TakeBookkeeping(const PodSpec& pod, const ReferenceLookup& lookup, PodRecord* record) {
  record->api_version = pod.api_version.value_or(ApiVersion::kV2);
  record->ssh = pod.ssh;
  record->depends_on = pod.depends_on;
  record->prevent_destroy = pod.lifecycle.prevent_destroy;
  record->exec_env.clear();
  // A sensitive value is never stored, so `exec` has to do without it.
  const auto entry = pod.metadata.find(kRuntimeVariablesKey);
  if (entry != pod.metadata.end() && entry->second.sensitive) return;
  for (const auto& [name, text] : pod.runtime_env) {
    if (auto plain = RenderText(text, lookup)) record->exec_env[name] = *plain;
  }
}

}  // namespace podctl

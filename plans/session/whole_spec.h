// A spec with what it takes from other states (`stateOf`): read once without them, so that nothing
// is contacted for a spec that is wrong, then with what their outputs are. No lock is taken.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "plans/spec/loader.h"
#include "plans/spec/spec.h"
#include "providers/base/diagnostic.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"
#include "state/store.h"

namespace podctl {

struct SpecDoors {
  FileSystem& files;
  const Environment& environment;
  std::function<std::unique_ptr<StateStore>(const std::string& place)> open_store;
};

struct WholeSpec {
  Spec spec;                   // usable only where `problems` has no errors
  Diagnostics problems;        // of the spec, or of the states that it names
  bool states_failed = false;  // the errors are of these: the spec is right, and it may pass
};

// `own`: where the state of a spec itself is. Of a spec without `stateOf` the same as LoadSpec.
WholeSpec LoadWholeSpec(const LoadOptions& load, const SpecDoors& doors,
                        const std::function<std::string(const Spec& spec)>& own);

}  // namespace podctl

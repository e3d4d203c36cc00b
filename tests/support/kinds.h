// The kinds that podctl has, for tests that need them all and look at no file.
#pragma once

#include "plans/kinds/kinds.h"
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

}  // namespace podctl::testing

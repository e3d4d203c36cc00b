#include "tests/support/folders.h"

namespace podctl::testing {

std::string SourceFolder() {
  return PODCTL_SOURCE_DIR;
}

std::string BinaryFolder() {
  return PODCTL_BINARY_DIR;
}

}  // namespace podctl::testing

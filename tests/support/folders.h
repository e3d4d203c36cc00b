// Where the source tree and the build folder are that a test belongs to.
//
// Told by one small library, not by a definition for every source: objects then do not depend on
// where a clone lies, and ccache serves them to the next one.
#pragma once

#include <string>

namespace podctl::testing {

// Both absolute, without a slash at the end.
std::string SourceFolder();
std::string BinaryFolder();

}  // namespace podctl::testing

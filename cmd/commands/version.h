// podctl version, and podctl --version.
#pragma once

#include <map>
#include <string>

#include "cmd/build_facts.h"
#include "providers/base/value.h"

namespace podctl {

// By name, as each says itself that is loaded; "" where it does not.
using LibraryVersions = std::map<std::string, std::string>;
LibraryVersions LoadedLibraries();

// The document of `podctl version --json`. What a build or a library does not know is null.
Value VersionDocument(const BuildFacts& facts, const LibraryVersions& libraries);

}  // namespace podctl

// Files that a spec names: where their paths start from, and what they hold.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plans/spec/value_reader.h"
#include "providers/bootstrap/step_runner.h"
#include "providers/os/file_system.h"

namespace podctl {

// A path written in `node`'s file, made relative to the current folder: "~/" is the home folder,
// other relative paths start at the folder of that file.
std::string PathFromSpec(const YamlNode& node, const std::string& path);

// Why the file cannot be had: "`src`: there is no such file".
std::string LocalFileProblem(const std::string& path, const Error& error);

// A relative path as seen from another folder than the one it started from; empty: this one.
std::string PathFrom(const std::string& folder, const std::string& path);

// A text file named by `node`, at most 256 KiB (what a metadata entry can hold) of UTF-8. None that
// is withheld from specs.
std::optional<std::string> ReadTextFile(ValueReader& reader, FileSystem& files,
                                        const YamlNode& node, const Slot& slot,
                                        const std::string& path);

// A digest over names, permissions and contents of everything under `sources` that is copied (of a
// folder not what is withheld), with `at` for what cannot be read or may not be copied. nullopt
// after a report.
std::optional<std::string> DigestFiles(ValueReader& reader, FileSystem& files,
                                       const std::vector<StepFile>& sources,
                                       const std::vector<const YamlNode*>& at, const Slot& slot);

// The same for a step whose spec is not at hand. kIo, naming the file that cannot be read.
Result<std::string> DigestFiles(FileSystem& files, const std::vector<StepFile>& sources,
                                const WithheldFiles& withheld);

}  // namespace podctl

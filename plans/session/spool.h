// What a run could not save while the place of its state was out of reach lies in a file of its
// machine, podctl.errored-43 (StateStore::SaveAside). The next run here that holds the lock
// saves it first, if nobody else has saved since.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "providers/os/file_system.h"
#include "state/record_codec.h"
#include "state/store.h"

namespace podctl {

struct SpoolDoors {
  std::vector<std::string> folders = {};  // where such files may lie
  // Whether git brought a file; nullopt: it cannot tell. What a repository carries was not left
  // here by a run.
  std::function<std::optional<bool>(const std::string& path)> git_follows = {};
};

// Saves, to be called with the lock held, and removes the files that it saved. Notes for the user,
// also of what is left, since others have saved meanwhile. A file that cannot be read, that is no
// private one (0600), or that is of another state is passed over.
Result<std::vector<std::string>> TakeUpSpool(FileSystem& files, const SpoolDoors& doors,
                                             RecordKinds kinds, StateStore& store);

// What TakeUpSpool would find beside what is stored, for who only looks.
std::vector<std::string> SpoolNotes(FileSystem& files, const SpoolDoors& doors, RecordKinds kinds,
                                    const Snapshot& stored);

}  // namespace podctl

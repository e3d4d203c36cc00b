// What is done on the disk for a file: looking, writing in one step, removing. Never through a
// symbolic link, and never over what is not expected there.
#pragma once

#include <string>

#include "plans/kinds/file/spec.h"
#include "providers/base/error.h"
#include "providers/base/value.h"
#include "providers/os/file_system.h"

namespace podctl {

// {kind, mode, content, digest}: `kind` is "file", "link" (also one on the way from `folder`),
// "folder", "other", or "unreadable" of a file that may not be read or is too large; content and
// digest ("sha256:…") are those of a file. kNotFound where there is nothing.
Result<Value> LookAtFile(FileSystem& files, const std::string& path, const std::string& folder);

// What is to be on the disk, with its references put in.
struct FileOnDisk {
  std::string path;
  std::string folder;  // that it must not leave through a link; empty: `path` is absolute
  std::string content;
  bool sensitive = false;
  int mode = 0;
  std::string replaces;    // FileSpec::replaces
  std::string digest_key;  // by which that is compared, and its temporary one named
  std::string nonce;       // a UUID that no earlier write had
};

// What the file is written as, before it takes its place: hidden, in the same folder, and under a
// name that nobody can know before. Who has not the state's key cannot have made a file of such a
// name; so what is there under one a killed run of this state left, and it is taken away by who
// comes next. Nothing else ever is. Without a nonce: as older podctls named it.
std::string TemporaryOf(const std::string& path, const std::string& digest_key,
                        const std::string& nonce);

// Replaces the file by a temporary one, a sync and a rename; folders on the way are made. What is
// there already as it is to be is written anew. kAlreadyExists where something is there that is not
// expected, kFailedPrecondition for a link.
Result<void> WriteFile(FileSystem& files, const FileOnDisk& file);
// Fine where it is gone already.
Result<void> RemoveFile(FileSystem& files, const FileOnDisk& file);

}  // namespace podctl

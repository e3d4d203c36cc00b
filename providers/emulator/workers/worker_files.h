// The folder of one worker: what its VM sees as /run/tpu-vm, /home, /root and parts of /etc.
//
// Accounts are made as the Google guest agent makes them of `ssh-keys`: one line for each key,
// "user:key", the user is made with a home and may do anything by sudo; a key that is no longer
// listed no longer opens the door, its account stays. Knows no processes. Not thread safe for one
// folder.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/base/error.h"
#include "providers/base/value.h"

namespace podctl::emulator {

struct WorkerFiles {
  std::string folder;    // absolute
  std::string hostname;  // "t1v-n-1a2b3c4d-w-0"
  std::string address;
  int port = 22;
  bool namespaces = false;  // else the VM sees `folder` itself and only this process's own user
  bool has_runtime = false;
  bool has_metadata_server = false;
  std::string storage = {};  // where it reaches Cloud Storage, without namespaces; or empty

  // Where the VM sees the folder.
  std::string Inside() const;

  // Everything that must be there before the first process starts. Homes, accounts and host keys
  // of an earlier boot are kept.
  Result<void> Prepare(const Value& metadata, const std::string& accounts) const;
  // Metadata files, accounts and authorized keys.
  Result<void> WriteMetadata(const Value& metadata, const std::string& accounts) const;
  // (type, base64) of each host key that has been made.
  std::vector<std::pair<std::string, std::string>> HostKeys() const;
  void RemoveHostKeys() const;

 private:
  Result<void> WriteAccounts(const std::string& accounts) const;
  Result<void> AddAccount(const std::string& user) const;
  Result<void> WriteSystem() const;
  std::string SshdConfig() const;
};

// Of the system call that has just failed: errno.
Error IoError(std::string_view what, const std::string& path);
// Whole or not at all, since a worker may read at any moment.
Result<void> WriteFile(const std::string& path, std::string_view text, mode_t mode);

// tpu-runtime among `programs`: a process of that name whose only work is to be there.
Result<void> LinkRuntime(const std::string& programs);

// A node's metadata as files: `folder`/metadata/attributes/KEY, and runtime.begin beside them, the
// text for sh that becomes the unit's process, `runtime`, with the words of tensorflow-env-vars and
// `kept` (NAME=VALUE) as its environment. Gives that text; "" and no file: the words cannot be
// read, and the unit will fail to start.
Result<std::string> WriteMetadataFolder(const std::string& folder, const Value& metadata,
                                        const std::string& runtime, std::string_view kept);

// The node metadata entry `tensorflow-env-vars`, as the tpu-runtime unit reads it when it starts:
// options of docker run, "-e NAME=VALUE", with the quotes of a shell and without its expansions.
// "NAME=VALUE" words in order. nullopt: an open quote, or anything but -e/--env: the unit would not
// start. `-e NAME` without a value passes a variable of the host on, which has none: left out.
std::optional<std::vector<std::string>> ParseRuntimeEnv(std::string_view text);

// "user:key" lines in order; other lines are left out, as are names that no system would take.
std::vector<std::pair<std::string, std::string>> ReadSshKeys(const std::string& text);

}  // namespace podctl::emulator

// How the program `ssh` is started for one worker: its configuration, its arguments, and the files
// with the host keys it may accept. As a master it logs in, goes into the background, where
// mux_session.h talks to it, and ends; or it is a user's shell. Knows no retries.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "providers/base/error.h"
#include "providers/os/environment.h"
#include "providers/ssh/transport.h"
#include "providers/worker.h"

namespace podctl::ssh {

// A folder of this process's own (0700) with the configuration, the known_hosts files and the
// sockets; removed with all of it when destroyed. Thread safe.
class SshFolder {
 public:
  // kIo when the folder cannot be made. Socket names are limited to some 100 bytes, so it lies in
  // $XDG_RUNTIME_DIR where that is short, else in /tmp.
  static Result<std::unique_ptr<SshFolder>> Make(const std::string& runtime_folder,
                                                 const std::string& home,
                                                 const std::string& program);
  ~SshFolder();
  SshFolder(const SshFolder&) = delete;
  SshFolder& operator=(const SshFolder&) = delete;

  // The words that start ssh for one attempt, whose files are told apart by `number`.
  // Writes what of the worker's host keys is known: with pins, only these are accepted; else the
  // user's own files count, certificate authorities and all. kIo when they cannot be written.
  Result<std::vector<std::string>> Arguments(const WorkerAccess& worker, int number,
                                             int connect_seconds) const;
  // The words that start it with the user's own terminal, for a command or (empty) the login shell;
  // `tty`: the worker's side gets a terminal too. It may ask what it wants to know.
  Result<std::vector<std::string>> ShellArguments(const WorkerAccess& worker, int number, bool tty,
                                                  const std::string& command) const;
  std::string SocketPath(int number) const;
  // After ssh has ended: what the program that leads there complained of, which ssh itself would
  // throw away; at most 4 KiB.
  std::string TakeRouteLog(int number) const;
  // After ssh has ended: the key that it took on trust, and nothing is left of its files.
  std::optional<HostKeyText> TakeLearnedKey(int number) const;

 private:
  SshFolder(std::string path, std::string program)
      : path_(std::move(path)), program_(std::move(program)) {}
  std::string HostsPath(int number) const;
  std::string RouteLogPath(int number) const;
  // What is the same however it is started: where to, as whom, and which host keys will do.
  Result<void> AddWorker(const WorkerAccess& worker, int number,
                         std::vector<std::string>* words) const;

  const std::string path_;
  const std::string program_;
};

enum class SshUse { kMaster, kShell };

// The configuration file: what podctl insists on, then the user's and the system's. Unless `home`
// is empty, the keys in its .ssh that podctl itself would offer are tried after those of the
// configuration. (ssh itself does not look at $HOME.)
std::string SshConfiguration(const std::string& home, SshUse use = SshUse::kMaster);

// A shell, or one command, on one worker with this terminal connected to it, by the program `ssh`:
// what libssh2/shell.h does by itself. ssh may ask the user what it wants to know.
//
// Blocks until ssh ends: kExited with its exit code, which is the remote side's, or 255 when there
// was no session, which ssh has said then; kSignaled when ssh itself was killed; kCancelled on
// `stop`. kUnreachable when it cannot be started. There is one attempt, and ssh has the limits of
// its own configuration. `command` is empty for the login shell.
WorkerResult RunShellByProgram(const WorkerAccess& worker, const std::string& command, bool tty,
                               const Environment& environment, const std::stop_token& stop);

}  // namespace podctl::ssh

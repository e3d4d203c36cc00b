// One command over a connection that the program `ssh` holds (a ControlMaster), spoken to directly
// through its socket: OpenSSH's PROTOCOL.mux, version 4. It tells what the exit code of a second
// `ssh` could not: whether the command was sent, and a remote 255 from trouble of ssh's own.
//
// Knows nothing of how the connection came about. One thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "providers/base/error.h"

namespace podctl::ssh {

// Whether the master behind this socket answers, within two seconds.
bool MasterAnswers(const std::string& socket_path);
// Asks it to end, with all its sessions; does not wait for it.
void EndMaster(const std::string& socket_path);

// A hold on a master, which keeps it from ending when nothing runs over it.
class MuxHold {
 public:
  static Result<std::unique_ptr<MuxHold>> Take(const std::string& socket_path);
  ~MuxHold();
  MuxHold(const MuxHold&) = delete;
  MuxHold& operator=(const MuxHold&) = delete;

  // Has the master listen on 127.0.0.1, and lead each connection to where the worker's side
  // connects to. kAlreadyExists when it cannot listen there, kUnavailable when it does not answer.
  Result<void> Forward(int local_port, const std::string& remote_host, int remote_port);
  // Readable once the master has ended, and with it the connection to the worker.
  int fd() const { return control_; }

 private:
  explicit MuxHold(int control) : control_(control) {}
  int control_;
};

class MuxSession {
 public:
  // Asks the master to run `command`. kUnavailable when it does not answer; then nothing was sent.
  // After that the command may have run. Without streams it has nothing to read or to write to.
  static Result<std::unique_ptr<MuxSession>> Start(const std::string& socket_path,
                                                   std::string_view command, bool streams);
  ~MuxSession();  // hangs up: the master closes the channel
  MuxSession(const MuxSession&) = delete;
  MuxSession& operator=(const MuxSession&) = delete;

  // What to poll; reading and writing never waits. -1 where there is nothing (any more).
  int control_fd() const { return control_; }
  int out_fd() const { return out_; }
  int err_fd() const { return err_; }
  int in_fd() const { return in_; }  // to write to, with send(2)

  void CloseOut();
  void CloseErr();
  void CloseIn();  // the end of standard input

  // After control_fd() was readable: takes what the master said.
  void ReadControl();
  bool over() const { return control_ < 0; }  // the master has said all that there will be
  bool opened() const { return opened_; }     // the worker took the command
  // The worker or the master did not want another session: the command was not sent. Why.
  const std::optional<std::string>& refusal() const { return refusal_; }
  // What the worker told. None when over(): a signal, or the end of the connection.
  std::optional<int> exit_code() const { return exit_code_; }

 private:
  explicit MuxSession(int control) : control_(control) {}
  bool Ask(std::string_view command, bool streams);
  void Take(std::string_view message);

  int control_;
  int out_ = -1;
  int err_ = -1;
  int in_ = -1;
  bool opened_ = false;
  std::optional<std::string> refusal_;
  std::optional<int> exit_code_;
  std::string heard_;  // less than a whole message
};

}  // namespace podctl::ssh

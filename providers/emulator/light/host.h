// What a light SSH server asks of the worker that it plays. All calls are thread safe and quick.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/error.h"
#include "providers/emulator/light/inline_command.h"

namespace podctl::emulator {

// How a user's commands begin.
struct Login {
  std::string shell;                     // absolute; runs a command as `shell -c COMMAND`
  std::vector<std::string> environment;  // NAME=VALUE
  std::string folder;
};

class Host {
 public:
  virtual ~Host() = default;
  virtual std::string_view Hostname() const = 0;
  // May whoever has this key log in? `key` is "ssh-ed25519 AAAA…".
  virtual bool Admits(std::string_view user, std::string_view key) = 0;
  // Called before each command that is a process.
  virtual Result<Login> LogIn(const std::string& user) = 0;
  // A command that this host may answer without a process, once it has all of its input. When it
  // does not (or the input is large), the command is run, and gets that input.
  virtual bool MayAnswer(std::string_view /*command*/) { return false; }
  virtual std::optional<InlineAnswer> Answer(std::string_view /*command*/,
                                             std::string_view /*input*/) {
    return std::nullopt;
  }
};

}  // namespace podctl::emulator

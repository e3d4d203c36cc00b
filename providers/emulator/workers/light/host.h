// What a light SSH server asks of the worker that it plays, and the commands that it answers
// without starting a process, so that thousands of workers can be asked at once. All calls are
// thread safe and quick.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/error.h"

namespace podctl::emulator {

// Exactly what /bin/sh would have answered.
struct InlineAnswer {
  std::string text;  // repeated until `size` bytes have come
  std::uint64_t size = 0;
};

// `true`, `hostname`, `echo WORDS` and `yes WORD | head -c BYTES`, of plain words: letters, digits
// and _-.,:/@%+=. All of them succeed; nullopt: it is
// another one.
std::optional<InlineAnswer> AnswerInline(std::string_view command, std::string_view hostname);

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

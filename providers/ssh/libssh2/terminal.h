// The local end of an interactive session: three file descriptors and, when they are a terminal,
// its size and mode. Knows nothing of SSH.
#pragma once

#include <signal.h>
#include <termios.h>

#include <utility>
#include <vector>

#include "providers/base/error.h"
#include "providers/os/descriptor.h"

namespace podctl::ssh {

struct WindowSize {
  int columns = 80;
  int rows = 24;
  friend bool operator==(const WindowSize&, const WindowSize&) = default;
};

class Terminal {
 public:
  virtual ~Terminal() = default;
  virtual int input() const = 0;   // readable
  virtual int output() const = 0;  // writable
  virtual int error() const = 0;   // writable
  virtual WindowSize Size() const = 0;
  // Readable once the size may have changed; read empty by SilenceResize. -1: it never changes.
  virtual int resized() const = 0;
  virtual void SilenceResize() = 0;
  // Every key goes to the other side, Ctrl-C too. No-op where the input is no terminal.
  virtual Result<void> EnterRaw() = 0;
  virtual void Restore() = 0;  // undoes EnterRaw; safe to call at any time
};

// A terminal of this process; one at a time. While it lives it owns the handlers of SIGWINCH,
// SIGTSTP and SIGCONT: a raw terminal is put back before this process stops (Ctrl-Z itself goes to
// the other side, but a shell's `kill -TSTP` comes here), and made raw again when it goes on. It is
// also put back by std::quick_exit.
class LocalTerminal final : public Terminal {
 public:
  LocalTerminal() : LocalTerminal(0, 1, 2) {}
  LocalTerminal(int input, int output, int error);  // lent
  ~LocalTerminal() override;                        // restores
  LocalTerminal(const LocalTerminal&) = delete;
  LocalTerminal& operator=(const LocalTerminal&) = delete;

  bool IsTerminal() const;  // input and output both
  int input() const override { return input_; }
  int output() const override { return output_; }
  int error() const override { return error_; }
  WindowSize Size() const override;
  int resized() const override { return resized_.fd(); }
  void SilenceResize() override { resized_.Silence(); }
  Result<void> EnterRaw() override;
  void Restore() override;

 private:
  const int input_;
  const int output_;
  const int error_;
  Wakeup resized_;
  bool raw_ = false;
  std::vector<std::pair<int, struct sigaction>> handlers_before_;
};

}  // namespace podctl::ssh

// Reads what the program `ssh` says (LogLevel DEBUG1) while it logs in: how far it has come, and
// why it gave up. Its exit code tells whether it is in; words that it has chosen otherwise in some
// version cost the reason, never the truth about that. Knows no processes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/ssh/transport.h"

namespace podctl::ssh {

class SshLog {
 public:
  void Add(std::string_view bytes);
  void Finish();  // a last line without its newline is a line too
  // What the program that leads there said elsewhere.
  void AddRouteLog(std::string_view text);

  // The stage it is in; never kReady or kFailed.
  Stage stage() const { return stage_; }

  // After ssh has ended without being let in.
  Verdict Judge(const WorkerAccess& worker) const;

 private:
  void AddLine(std::string_view line);
  void AddRouteLine(std::string_view line);
  std::string RouteWords() const;

  Stage stage_ = Stage::kConnecting;
  std::string partial_;
  std::string shown_key_;             // "ssh-ed25519 SHA256:…"
  std::vector<std::string> offered_;  // keys, as ssh names them
  std::string complaint_;             // its last words that are no debug message
  bool proxied_ = false;              // a program leads there
  // The last words of that program, before the worker's first: two lines.
  std::pair<std::string, std::string> route_lines_;
  std::string warning_;
  bool refused_ = false;
  bool distrusted_ = false;
  bool changed_ = false;
  bool revoked_ = false;
};

}  // namespace podctl::ssh

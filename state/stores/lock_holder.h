// Who takes locks, and how one finds out whether another of this host still lives.
#pragma once

#include <functional>
#include <string>

namespace podctl {

struct LockHolder {
  std::string host;
  std::string who;  // "alice@host"
  int pid = 0;
  // Whether process `pid` runs and did so at `created` (RFC 3339) already.
  std::function<bool(int pid, const std::string& created)> process_ran_at;
  // ProcessMark of this process, and ProcessHasEnded of another's: for a lock that several machines
  // see, where a host's name and a clock prove nothing.
  std::string mark = {};
  std::function<bool(const std::string& mark)> has_ended = {};

  static LockHolder ThisProcess();
};

}  // namespace podctl

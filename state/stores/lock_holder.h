// Who takes locks, and how one finds out whether another of this host still lives.
#pragma once

#include <functional>
#include <string>
#include <string_view>

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

// Where in a ProcessMark its process ran, without its number and start; empty: it does not say.
inline std::string_view SpaceOfMark(std::string_view mark) {
  const auto start = mark.rfind('/');
  if (start == std::string_view::npos || start == 0) return {};
  const auto number = mark.rfind('/', start - 1);
  return number == std::string_view::npos ? std::string_view() : mark.substr(0, number);
}

// True only when two marks tell that it was another machine, boot or container: there the numbers
// of processes mean others.
inline bool RanElsewhere(std::string_view mark, std::string_view own_mark) {
  const std::string_view space = SpaceOfMark(mark);
  const std::string_view own = SpaceOfMark(own_mark);
  return !space.empty() && !own.empty() && space != own;
}

}  // namespace podctl

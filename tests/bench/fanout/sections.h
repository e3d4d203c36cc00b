// The parts of `./dev bench fanout`: each starts the servers it needs, lets podctl and its peers at
// them, prints its tables, and leaves what was wanted and measured with the score.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/fanout/contest.h"

namespace podctl::bench {

struct Settings {
  std::string podctl;        // the program
  std::string light_server;  // the program of the light fleet
  std::string folder;        // for all that is written; removed by the supervisor
  std::vector<int> sizes;    // given by the user; empty: those of each part
  bool all = false;          // the large sizes too
  int cores = 2;             // of this machine
  int runs = 3;              // of podctl and of the peers that it is measured by; others run once

  std::vector<int> Sizes(const std::vector<int>& usual, const std::vector<int>& large) const {
    if (!sizes.empty()) return sizes;
    return all ? large : usual;
  }
  // For the parts that deal with one size.
  int Size(int usual, int large) const { return Sizes({usual}, {large}).front(); }
};

void CompareOnLight(const Settings& settings, Score* score);  // sizes where sshd fills the machine
void CompareOnReal(const Settings& settings, Score* score);   // OpenSSH's sshd
void CompareFarAway(const Settings& settings, Score* score);  // 25 ms each way, and 0.1 % loss
void CompareDeadAndSlow(const Settings& settings, Score* score);  // one bad worker of all
void CompareOutput(const Settings& settings, Score* score);       // 1 MiB from each; gathered
void CompareFurther(const Settings& settings, Score* score);  // more commands on open connections
void CompareTunnels(const Settings& settings, Score* score);  // throughput against `ssh -L`
void MeasureMemory(const Settings& settings, Score* score);   // all open; a small window

}  // namespace podctl::bench

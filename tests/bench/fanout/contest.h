// Clients beside each other at one task, in turn, several times over: what each cost, in a table;
// and what the figures were wanted to be.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/fanout/client.h"

namespace podctl::bench {

class Fleet;

using Figure = double ClientRun::*;

class Contest {
 public:
  // `fleet`: whose CPU time is told with each run; null: nobody's. `workers`: how many each client
  // talks to.
  Contest(std::string title, int workers, const Fleet* fleet)
      : title_(std::move(title)), workers_(workers), fleet_(fleet) {}

  // The first one is what the others are compared with. `runs`: how many times; a client that is
  // not there is left out.
  void Add(const std::optional<Client>& client, const Expected& expected, int runs,
           double limit_seconds = 300);

  // Runs all, round by round, and prints the table. A client whose run does not count is told
  // loudly and runs no more.
  void Run();

  // The median over the runs that counted; nothing when there was none.
  std::optional<double> Median(const std::string& client, Figure figure) const;
  // The least median of these clients.
  std::optional<double> Best(const std::vector<std::string>& clients, Figure figure) const;
  bool failed() const { return failed_; }

 private:
  struct Contestant {
    Client client;
    Expected expected;
    int runs = 0;
    double limit_seconds = 0;
    std::vector<ClientRun> results;
    std::string trouble;
  };
  void RunOnce(Contestant* contestant);
  void Print() const;
  const Contestant* Find(const std::string& client) const;

  std::string title_;
  int workers_;
  const Fleet* fleet_;
  std::vector<Contestant> contestants_;
  bool failed_ = false;
};

// What was wanted, beside what was measured.
class Score {
 public:
  // Both sides of a ratio; a side that is not there makes it "not measured".
  void Ratio(const std::string& what, std::optional<double> ours, std::optional<double> theirs,
             double wanted_at_most);
  void AtLeast(const std::string& what, std::optional<double> ours, std::optional<double> theirs,
               double wanted_at_least);
  void AtMost(const std::string& what, std::optional<double> value, double limit,
              const std::string& unit);
  void Say(const std::string& what, bool good);
  void Failed(const std::string& what);

  void Print() const;
  // 0 when every contest was run to its end; how good the figures are is for people to judge.
  int ExitCode() const { return failures_.empty() ? 0 : 1; }

 private:
  std::vector<std::string> lines_;
  std::vector<std::string> failures_;
};

}  // namespace podctl::bench

// What makes the workers of a job a gang: the program (gang.py) that stands by the job on each of
// them, and what it is told. It starts the job's command, tells the others how it ended, ends it
// when another's has failed, and starts it again together with them; for none of that does anybody
// have to be connected. Starts nothing itself.
//
// In the job's folder (jobs.h) lie for it, besides what every job has:
//   gang.py                 the program
//   gang.json, gang.pem     what it is told, and the run's certificate; it takes both away at once
//   gang                    its answer, lines that GangNews reads
// and of an attached run (runs.h), where a shell stands beside it
//   script                  what it runs in place of the job's `command`; it is taken away at once
// and of a job whose log is kept in a bucket
//   ship.py                 the program that brings it there, which gang.py starts
//   attempts                where each attempt begins in the log
//   shipped                 how far it was brought
//   cut                     where the log begins on this disk
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace podctl::workers {

// Needs Python 3.7 on the worker, and nothing but its standard library.
extern const char* const kGangProgram;
extern const char* const kShipProgram;

// Where the log of a job is kept: an object is PREFIX and a name of ship.py's.
struct KeptLogPlace {
  std::string bucket;
  std::string prefix;  // "logs/research/train/"
};

struct Gang {
  struct Member {
    int worker = 0;
    std::string address;  // as the others reach it
  };
  std::vector<Member> members;  // the first two are who the others connect to
  // By which they know each other: a certificate made for this run (MakeCertificate), with its
  // private key, in PEM.
  // Secret: it goes to the workers by their standard input, and stays in no file.
  std::string certificate;
  int first = 1;                // number of the first start: earlier ones were on other machines
  int restarts = 0;             // starts after number 1
  std::vector<std::string> on;  // of them: "failure", "killed", "connection", "hang", …
  std::chrono::seconds first_pause{1};
  std::chrono::seconds longest_pause{60};
  std::chrono::seconds silence{30};  // of a worker that is given up then
  std::chrono::seconds assembly{0};  // for the first word of each at the start, where that is more
  std::chrono::milliseconds beat{3000};   // between two signs of life
  std::chrono::seconds hang{0};           // without a line of any worker; 0: never
  std::optional<KeptLogPlace> logs = {};  // nullopt: the log stays on its worker
};

// POSIX shell without a single quote: defines has_python, which says so where gang.py cannot run.
extern const char* const kNeedsPython;

// gang.json of the member with number `me`.
std::string GangConfig(const Gang& gang, std::size_t me, const std::string& job,
                       const std::string& run, std::chrono::seconds grace,
                       const std::string& container);

// What a gang says of itself.
struct GangNews {
  struct First {
    int attempt = 1;
    std::optional<int> worker = 0;       // nullopt: no one, as of a hang
    std::chrono::milliseconds after{0};  // from the attempt's start
    std::string reason;                  // as in Gang::on
    // Behind "worker 3 ": "ended with exit code 3"; where there is none, all that is to be said.
    std::string cause;
  };
  int attempt = 1;
  int attempts = 1;            // that there are at most
  std::optional<First> first;  // who failed first, of this attempt or of the one before
  // On whose end the next attempt, or the end of all, waits here.
  std::vector<int> waiting;
  bool attached = false;  // whether it begins again is for the podctl that runs it
};
// Takes a line of it; false for one that is none.
bool ReadGangLine(std::string_view line, GangNews* news);

}  // namespace podctl::workers

// Looks over what the workers of a pod are to each other: the program (pod_probe.py) that runs on
// all of them at the same time, what it is told, and the reader of its answers. It tells facts of
// its worker and of the way out, connects to its neighbours, and in another run adds up numbers
// over the whole pod with JAX. What the answers mean is said by pod_verdict.h. Starts nothing
// itself, connects to nothing.
//
// An answer comes from a machine that may be broken or hostile: it is read strictly, bounded in
// lines and lengths, and texts in it lose their control characters. Its lines, between the first
// one and "end":
//   kernel RELEASE          driver MODULE VERSION       google            it is a machine of theirs
//   accel COUNT             vfio COUNT                  numbered devices; no "vfio": no such folder
//   python VERSION          package NAME VERSION        no-python WHY
//   egress HOST PORT ok MILLISECONDS | proxy | failed WHY
//   no-port WHY             it could not be called
//   peer PLACE ok PORT OFFSET WAY RATE | failed WHY     a neighbour that it called
//   came PLACE              a neighbour that called it
//   stage NAME MILLISECONDS [PROCESSES DEVICES LOCAL PLATFORM SUM]   of the collective
//   failed MILLISECONDS WHY waited MILLISECONDS         left COUNT
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/error.h"

namespace podctl::workers {

// Needs Python 3.7 on the worker, and nothing but its standard library.
extern const char* const kPodProbeProgram;

struct EgressTarget {
  std::string host;
  int port = 443;
  friend bool operator==(const EgressTarget&, const EgressTarget&) = default;
};
// "pypi.org", "pypi.org:443", "10.0.0.1:80", "[2001:db8::1]:80"; nullopt for anything else.
std::optional<EgressTarget> ParseEgressTarget(std::string_view text);
// The first is Google's own, which Private Google Access leads to; the other one is the internet's.
std::vector<EgressTarget> UsualEgress();
std::string TargetName(const EgressTarget& target);  // "pypi.org:443"

struct PodProbe {
  struct Member {
    int worker = 0;
    std::string address;                     // as the others reach it
    std::map<std::string, std::string> env;  // of the collective
  };
  std::vector<Member> members;
  std::string run;  // which chooses the ports; letters, digits and '-'
  // By which the workers know each other. Secret: it goes to them by their standard input, and
  // stays in no file.
  std::string secret;
  std::vector<EgressTarget> egress;
  bool egress_due = true;          // false: where one is not reached that is no trouble, and noted
  std::string python = "python3";  // whose packages are told, and which runs the collective
  bool neighbours = true;          // false: they are not called
  // How long one tries to reach a neighbour, from the common start.
  std::chrono::seconds patience{10};
  std::chrono::seconds collective{90};  // until all have added up
  // The input stays open as long as somebody waits for the answers: its end ends everything.
  bool watched = true;
};

// Whom a worker calls, by place in `members`: the next one, and then those twice as far each time,
// so that a pod of any size is connected by few calls, and each of a worker's troubles shows with
// several others. The first one is the next in the ring. With fewer than two there is none.
std::vector<std::size_t> CallsOf(std::size_t place, std::size_t members);

// One command for the remote shell, the same for all workers and both kinds of run. It writes
// kStagedLine (runs.h) on standard error when it is ready, and then waits for kGoLine; without it,
// it ends with kNotStarted.
std::string PodProbeCommand();
// Its standard input, before kGoLine.
std::string NeighboursInput(const PodProbe& probe, std::size_t place);
std::string CollectiveInput(const PodProbe& probe, std::size_t place);
// After which a worker has ended it all by itself, whatever happens.
std::chrono::seconds LongestNeighbours(const PodProbe& probe);
std::chrono::seconds LongestCollective(const PodProbe& probe);

// Of a line of standard error that tells the worker's clock at the common start: milliseconds since
// 1970. nullopt for another.
std::optional<std::int64_t> ReadProbeClock(std::string_view line);

struct PodProbeAnswer {
  struct Egress {
    EgressTarget target;
    bool proxied = false;  // the session goes out by a proxy, so it was not tried
    std::string why;       // it was not reached; empty: it was
    std::chrono::milliseconds took{0};
  };
  struct Peer {
    std::size_t place = 0;
    std::string why;                   // it was not reached; empty: it was
    int port = 0;                      // where it was
    std::int64_t offset_ms = 0;        // its clock less this one's
    std::chrono::microseconds way{0};  // there and back, for one line
    std::int64_t kbits = 0;            // a second, to it; 0: not measured
  };
  std::string kernel;
  std::string python;  // "3.10.12"; empty: none, `no_python` says why
  std::string no_python;
  std::map<std::string, std::string> packages;  // name: version
  std::map<std::string, std::string> drivers;   // module: version
  bool google = false;
  int accel = 0;
  std::optional<int> vfio;  // nullopt: there is no /dev/vfio
  std::vector<Egress> egress;
  std::string no_port;
  std::vector<Peer> peers;
  std::vector<std::size_t> came;
};
// `lines` of standard output; what comes before the answer's first line is passed over. `members`:
// how many there are. kDataLoss when it is not a whole answer.
Result<PodProbeAnswer> ParsePodProbe(const std::vector<std::string>& lines, std::size_t members);

struct CollectiveAnswer {
  // How far it came, in this order.
  enum class Stage { kNothing, kImport, kJoin, kDevices, kSum, kDone };
  Stage stage = Stage::kNothing;
  std::chrono::milliseconds after{0};  // from its start to what is told last
  std::string why;  // it failed by itself; empty: it is done, or has waited until the end
  int left = 0;     // processes of it that could not be ended
  // Of kDone.
  int processes = 0;
  int devices = 0;  // of the whole pod
  int local = 0;    // of this worker
  std::string platform;
  std::int64_t sum = 0;
};
Result<CollectiveAnswer> ParseCollective(const std::vector<std::string>& lines);

}  // namespace podctl::workers

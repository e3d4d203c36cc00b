// A bad line: listens on all of 127.0.0.0/8 at one port, and treats each connection as a rule says:
// speaks itself (or says nothing), or passes the bytes on to a server and breaks the line after so
// many of them, freezes it, or lets them drip.
//
// One thread serves all connections. No sleeps: delays are timers of that thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "providers/worker.h"

namespace podctl::testing {

struct LineRule {
  static constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  enum class End { kReset, kFreeze };  // freeze: nothing more is passed on, and nobody hangs up

  int target_port = 0;   // of a server on 127.0.0.1; 0: nobody, `greeting` is all there is
  std::string greeting;  // what the line itself says first
  std::chrono::milliseconds delay{0};  // before that, or before the server is reached
  bool hang_up = false;                // after the greeting
  std::size_t to_client = kNever;      // bytes passed on before `end`
  std::size_t to_server = kNever;
  End end = End::kReset;
  std::size_t drip = 0;  // bytes for each `tick` in each direction; 0: as they come
  std::chrono::milliseconds tick{1};
};

class RoughLine {
 public:
  // `number` is that of the address: 127.1.x.y is 256 x + y. `earlier` connections came to it
  // before.
  using Plan = std::function<LineRule(int number, int earlier)>;
  explicit RoughLine(Plan plan);
  ~RoughLine();
  RoughLine(const RoughLine&) = delete;
  RoughLine& operator=(const RoughLine&) = delete;

  int port() const { return port_; }
  static std::string AddressOf(int number);
  // `worker` as reached over this line.
  WorkerAccess Access(WorkerAccess worker, int number) const;
  int connections() const { return connections_; }  // in all
  // Bytes passed on so far, of all connections.
  std::size_t bytes_to_client() const { return to_client_; }
  std::size_t bytes_to_server() const { return to_server_; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Direction {
    std::string waiting;  // read from one side, not yet written to the other
    std::size_t passed = 0;
    bool ended = false;  // the side that is read has said all
  };
  struct Pair {
    LineRule rule;
    int client = -1;
    int server = -1;
    bool greeted = false;
    bool frozen = false;
    Time next{};  // when the greeting or the next drop is due
    Direction to_client;
    Direction to_server;
  };

  void Run();
  void Accept();
  static bool Begin(Pair& pair);
  bool Serve(Pair& pair, Time now);
  static bool Pass(int from, int to, Direction& direction, std::size_t limit,
                   std::size_t allowance);
  static void Drop(Pair& pair, bool reset);

  const Plan plan_;
  int listener_ = -1;
  int port_ = 0;
  std::map<int, int> seen_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::atomic<int> connections_ = 0;
  std::atomic<std::size_t> to_client_ = 0;
  std::atomic<std::size_t> to_server_ = 0;
  std::atomic<bool> stop_ = false;
  int bell_ = -1;
  std::thread thread_;
};

}  // namespace podctl::testing

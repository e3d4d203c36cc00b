// One run of a client (podctl or a peer) and what it cost.
//
// Each runs under a process of its own that inherits every orphan of the client's tree, daemonised
// masters too, ends what is left when the client ends, and has waited for all of them: so the CPU
// time is that of the whole tree, to the kernel's own precision, and no privilege is needed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace podctl::bench {

struct Client {
  std::string name;
  std::vector<std::string> words;
  std::vector<std::string> environment;  // "NAME=value", on top of the bench's own
  std::string folder;                    // where it is run
  int network = -1;                      // descriptor of a network namespace; -1: the bench's own
  std::string input;                     // a file to read from; empty: nothing
};

// What its standard output must hold; else its figures are worth nothing.
struct Expected {
  std::string token;
  std::uint64_t tokens = 0;  // just so many
  std::uint64_t bytes = 0;   // at least so many
  bool success = true;       // whether the client has to exit with 0 (else: with anything but 0)
  bool any_exit = false;     // peers that hide failures exit as they like
};

struct ClientRun {
  double wall_seconds = 0;
  double cpu_seconds = 0;         // user and system
  double peak_mib = 0;            // of all its processes together, looked at now and then
  double last_token_seconds = 0;  // from the start to the last token in the output
  double server_cpu_seconds = 0;  // filled in by who knows the server
  std::uint64_t bytes = 0;
  std::uint64_t tokens = 0;
  int exit_code = 0;    // 128 + the signal's number when killed
  std::string trouble;  // why the run does not count; empty: it does
};

// Runs it; after `limit_seconds` it is killed, which is told as trouble.
ClientRun RunClient(const Client& client, const Expected& expected, double limit_seconds = 300);

// Joins the network namespace; ends the process when it may not. For use between fork and exec.
void EnterNetwork(int network);

}  // namespace podctl::bench

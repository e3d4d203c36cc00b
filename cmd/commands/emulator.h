// podctl emulator: serves the Cloud TPU API on loopback until it is told to stop.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace podctl {

class Wiring;

struct EmulatorOptions {
  std::string listen = "127.0.0.1:8470";
  std::string data;
  std::string workers = "sshd";
  std::chrono::milliseconds operation_delay{2000};
  std::string worker_network;  // "private", "host"; empty: private where it can be had
  int ssh_port = 0;            // 0: 22 where that may be bound, else 2222
  // Rules, as docs/emulator.md writes them.
  std::vector<std::string> capacity;
  std::vector<std::string> quotas;
  std::vector<std::string> reservations;
  std::string faults;  // a file
};

// In run_emulator.cpp; where podctl is built without the emulator, in no_emulator.cpp.
int RunEmulator(Wiring& wiring, const EmulatorOptions& options);
// Of the library that its light workers serve SSH with; empty where podctl is built without it.
std::string EmulatorSshVersion();

}  // namespace podctl

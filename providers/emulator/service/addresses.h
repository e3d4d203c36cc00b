// The addresses of workers, in 127.64.0.0/10: four million of loopback that nothing else uses by
// habit.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "providers/base/error.h"
#include "providers/emulator/workers/worker_farm.h"

namespace podctl::emulator {

class Addresses {
 public:
  // The farm, which knows whether somebody else has one, is lent. `seed`: where to begin.
  Addresses(WorkerFarm* farm, std::uint32_t seed) : farm_(farm), next_(seed) {}

  // So many that nobody has; none where there are not as many left.
  std::vector<std::string> Take(int count);
  void Claim(const std::vector<std::string>& addresses);
  void Release(const std::vector<std::string>& addresses);
  // Before its workers start: those of `owner` whose address somebody else took meanwhile get
  // another one; true if so. Waits for `patience` at most for an address to come free.
  Result<bool> Renew(std::vector<std::string>* addresses, const std::string& owner,
                     std::chrono::milliseconds patience);

 private:
  WorkerFarm* const farm_;
  std::uint32_t next_;
  std::set<std::string> taken_;
};

}  // namespace podctl::emulator

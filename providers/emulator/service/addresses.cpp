#include "providers/emulator/service/addresses.h"

#include <fmt/format.h>

#include <thread>
#include <utility>

namespace podctl::emulator {
namespace {

constexpr std::uint32_t kFirstAddress = (127U << 24U) | (64U << 16U);
constexpr std::uint32_t kAddresses = 1U << 22U;
constexpr int kAddressTries = 100'000;
constexpr std::chrono::milliseconds kAddressPause{20};

}  // namespace

std::vector<std::string> Addresses::Take(int count) {
  std::vector<std::string> addresses;
  for (int tries = 0; static_cast<int>(addresses.size()) < count && tries < kAddressTries;
       ++tries) {
    const std::uint32_t bits = kFirstAddress + next_ % kAddresses;
    next_ = (next_ + 1) % kAddresses;
    if ((bits & 255U) == 0 || (bits & 255U) == 255U) continue;  // they look like networks
    std::string address = fmt::format("{}.{}.{}.{}", bits >> 24U, (bits >> 16U) & 255U,
                                      (bits >> 8U) & 255U, bits & 255U);
    if (taken_.contains(address) || !farm_->IsFree(address)) continue;
    taken_.insert(address);
    addresses.push_back(std::move(address));
  }
  if (static_cast<int>(addresses.size()) < count) Release(std::exchange(addresses, {}));
  return addresses;
}

void Addresses::Claim(const std::vector<std::string>& addresses) {
  taken_.insert(addresses.begin(), addresses.end());
}

void Addresses::Release(const std::vector<std::string>& addresses) {
  for (const std::string& address : addresses) taken_.erase(address);
}

Result<bool> Addresses::Renew(std::vector<std::string>* addresses, const std::string& owner,
                              std::chrono::milliseconds patience) {
  bool moved = false;
  for (std::string& address : *addresses) {
    bool is_free = farm_->IsFree(address);
    for (; !is_free && patience.count() > 0; patience -= kAddressPause) {
      std::this_thread::sleep_for(kAddressPause);
      is_free = farm_->IsFree(address);
    }
    if (is_free) continue;
    const std::vector<std::string> fresh = Take(1);
    if (fresh.empty()) {
      return MakeError(ErrorCode::kUnavailable,
                       fmt::format("the address {} of a worker of {} is taken, and there is no "
                                   "other one left",
                                   address, owner));
    }
    taken_.erase(address);
    address = fresh.front();
    moved = true;
  }
  return moved;
}

}  // namespace podctl::emulator

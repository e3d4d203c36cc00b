// Chance with a seed: the same seed throws the same numbers on every machine and compiler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "providers/os/clock.h"

namespace podctl::simulation {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}

  // splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators).
  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  // 0 <= Below(n) < n; n > 0.
  std::size_t Below(std::size_t n) { return static_cast<std::size_t>(Next() % n); }
  double Fraction() { return static_cast<double>(Next() >> 11U) * 0x1.0p-53; }
  bool Chance(double probability) { return Fraction() < probability; }
  template <typename T>
  const T& Pick(const std::vector<T>& all) {
    return all[Below(all.size())];
  }

 private:
  std::uint64_t state_;
};

// The door to chance that podctl is given.
class DiceRandom final : public Random {
 public:
  explicit DiceRandom(Dice& dice) : dice_(dice) {}
  double Uniform() override { return dice_.Fraction(); }
  std::string Uuid() override {
    const std::string number = std::to_string(++count_);
    return "00000000-0000-4000-8000-" + std::string(12 - number.size(), '0') + number;
  }

 private:
  Dice& dice_;
  int count_ = 0;
};

}  // namespace podctl::simulation

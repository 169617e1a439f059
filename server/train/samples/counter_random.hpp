// Random numbers as a pure function of a seed, a step and a stream: a run that goes on with step 1000 needs no state of
// the steps before it.
#pragma once

#include <array>
#include <cstdint>

namespace znni {

using RandomBlock = std::array<std::uint32_t, 4>;

// Returns the block of Philox4x32-10 for a counter and a key.
// Source: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, SC 2011, section 3.3.
[[nodiscard]] RandomBlock philox(RandomBlock counter, std::array<std::uint32_t, 2> key);

// What numbers are drawn for. Each has numbers of its own, so that one that draws more does not change the others.
enum class RandomStream : std::uint32_t { place, symmetry, tone, planes };

// Draws the numbers of one step, one after the other.
class CounterRandom {
 public:
  CounterRandom(std::uint64_t seed, std::uint64_t step, RandomStream stream);

  // Returns 64 random bits.
  [[nodiscard]] std::uint64_t bits();
  // Returns a number of [0, 1), a multiple of 2^-53.
  [[nodiscard]] double uniform();
  // Returns a whole number of [0, count), each as likely. Requires count > 0.
  [[nodiscard]] std::int64_t below(std::int64_t count);
  [[nodiscard]] bool chance(double probability) { return uniform() < probability; }
  // Returns a normal number of mean 0 and deviation 1, by Box and Muller.
  [[nodiscard]] double normal();

 private:
  std::array<std::uint32_t, 2> key_;
  RandomBlock counter_;
  RandomBlock block_ = {};
  std::size_t used_ = 4;  // numbers of the block
};

}  // namespace znni

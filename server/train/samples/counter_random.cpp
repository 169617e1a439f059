#include "server/train/samples/counter_random.hpp"

#include <cmath>
#include <numbers>

#include "primitives/core/result.hpp"

namespace znni {
namespace {

constexpr int rounds = 10;
constexpr std::array<std::uint64_t, 2> multipliers = {0xD2511F53, 0xCD9E8D57};
constexpr std::array<std::uint32_t, 2> weyl = {0x9E3779B9, 0xBB67AE85};

std::uint32_t low(std::uint64_t number) { return static_cast<std::uint32_t>(number); }
std::uint32_t high(std::uint64_t number) { return static_cast<std::uint32_t>(number >> 32); }

}  // namespace

RandomBlock philox(RandomBlock counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t a = multipliers[0] * counter[0];
    const std::uint64_t b = multipliers[1] * counter[2];
    counter = {high(b) ^ counter[1] ^ key[0], low(b), high(a) ^ counter[3] ^ key[1], low(a)};
    key = {key[0] + weyl[0], key[1] + weyl[1]};
  }
  return counter;
}

CounterRandom::CounterRandom(std::uint64_t seed, std::uint64_t step, RandomStream stream)
    : key_{low(seed), high(seed)}, counter_{0, static_cast<std::uint32_t>(stream), low(step), high(step)} {}

std::uint64_t CounterRandom::bits() {
  if (used_ == block_.size()) {
    block_ = philox(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  const std::uint64_t first = block_[used_];
  const std::uint64_t second = block_[used_ + 1];
  used_ += 2;
  return first | second << 32;
}

double CounterRandom::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

std::int64_t CounterRandom::below(std::int64_t count) {
  ensure(count > 0, "there is a number to draw");
  const auto range = static_cast<std::uint64_t>(count);
  // The lowest numbers are left out, as many as make the rest a multiple of the range.
  const std::uint64_t left_out = (std::uint64_t{0} - range) % range;
  std::uint64_t drawn = bits();
  while (drawn < left_out) drawn = bits();
  return static_cast<std::int64_t>(drawn % range);
}

double CounterRandom::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));  // of (0, 1], whose logarithm is finite
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace znni

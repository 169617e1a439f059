#include "tests/bench/rates/machine_rates.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <span>
#include <vector>

#include "server/pipeline/schedule/prefault.hpp"
#include "tests/bench/rates/fma_chains.hpp"

namespace znni::bench {
namespace {

// Work is short and repeated, and the fastest run counts, because other programs can only slow a run down.
constexpr std::int64_t rounds = 1'000'000;  // of multiply-adds; some 2 ms
constexpr int flop_repetitions = 100;
constexpr int read_repetitions = 30;  // some 6 ms each

// Results are written here, so that the compiler counts them as used.
std::atomic<float> used = 0.5F;

template <class Work>
Seconds fastest(int repetitions, const Work& work) {
  Seconds least = 1e9;
  for (int i = 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    least = std::min(least, std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - start).count());
  }
  return least;
}

double measure_flops(Device& device) {
  const FmaChains chains = fma_chains(device.spec().simd_floats);
  const float seed = used;
  const Seconds seconds = fastest(flop_repetitions, [&] {
    device.executor().on_every_worker([&](std::int64_t, int) { used = chains.run(rounds, seed); });
  });
  return chains.flops() * static_cast<double>(rounds) * device.executor().workers() / seconds;
}

// Returns the sum of integers, which the compiler may add in any order, vector by vector.
std::uint64_t sum_of(std::span<const std::uint64_t> words) {
  std::uint64_t sum = 0;
  for (const std::uint64_t word : words) sum += word;
  return sum;
}

double measure_reads(Device& device, const Reservation& block) {
  const std::span<const std::uint64_t> words(reinterpret_cast<const std::uint64_t*>(block.data()),
                                             static_cast<std::size_t>(block.bytes()) / sizeof(std::uint64_t));
  const std::size_t part = std::size_t{1} << 17;  // words: 1 MiB
  const Seconds seconds = fastest(read_repetitions, [&] {
    device.executor().parallel_for(static_cast<std::int64_t>(words.size() / part), [&](std::int64_t index, int) {
      if (sum_of(words.subspan(static_cast<std::size_t>(index) * part, part)) != 0) used = 0.25F;
    });
  });
  return static_cast<double>(block.bytes()) / seconds;
}

}  // namespace

std::int64_t read_block_bytes(const DeviceSpec& spec) {
  return std::clamp<std::int64_t>(round_up(mul(spec.l3_bytes, 4), 1 << 20), 256 << 20, 1 << 30);
}

Result<MachineRates> measure_machine(Device& device) {
  MachineRates rates;
  if (getloadavg(&rates.load, 1) != 1) rates.load = 0;
  Result<Reservation> block = device.reserve(MemorySpace::host, read_block_bytes(device.spec()), "reads of memory");
  if (!block) return block.error();
  const std::span<std::byte> bytes(block->data(), static_cast<std::size_t>(block->bytes()));
  if (const Result<Seconds> touched = prefault(bytes, device.executor(), {}); !touched) return touched.error();
  rates.flops_per_second = measure_flops(device);
  rates.read_bytes_per_second = measure_reads(device, *block);
  return rates;
}

}  // namespace znni::bench

#include "tests/bench/layers/layer_work.hpp"

#include <ctime>

#include "server/pipeline/schedule/prefault.hpp"

namespace znni::bench {
Seconds processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Result<RunTime> time_run(const LayerWork& work, EnergyMeter energy, const std::function<Result<Seconds>()>& run) {
  if (work.stop.stop_requested()) return Error{ErrorCode::cancelled, "stopped before all runs were made"};
  energy.start();
  const Seconds before = processor_seconds();
  const Result<Seconds> wall = run();
  const Seconds processor = processor_seconds() - before;
  if (!wall) return wall.error();
  return RunTime{*wall, processor / work.device->executor().workers(), energy.stop()};
}

Result<Reservation> touched_block(const LayerWork& work, std::int64_t bytes) {
  Result<Reservation> block = work.device->reserve(MemorySpace::host, bytes, "transient buffers");
  if (!block) return block.error();
  const std::span<std::byte> all(block->data(), static_cast<std::size_t>(block->bytes()));
  const Result<Seconds> touched = prefault(all, work.device->executor(), work.stop);
  if (!touched) return touched.error();
  return block;
}

}  // namespace znni::bench

// Multiply-adds stay on the chip of their kernel transform (ZNNi section IV.A.3): a primary thread has just
// written the kernel's transform into its chip's cache, so only workers of that chip may take the tasks that
// read it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "primitives/core/executor.hpp"

namespace znni::cpu {

// Which workers are primary threads: `count` of them, spread over the chips so that no chip has two more
// than another that still has workers to give. Rising worker numbers. 1 <= count <= workers.
[[nodiscard]] std::vector<int> choose_primaries(const std::vector<int>& chip_of_worker, std::int64_t count);

// The chip of each worker: where this machine's topology pins it. All on chip 0 when that is unknown.
[[nodiscard]] std::vector<int> worker_chips(int workers);

// Where primary threads offer tasks and the other workers of their chip find them. Waiting threads sleep.
class ChipTasks {
 public:
  // `primaries` as choose_primaries() gives them.
  ChipTasks(const std::vector<int>& chip_of_worker, const std::vector<int>& primaries);

  // By a primary: task(index, worker) for every index in [0, count), by itself and by idle workers of its
  // chip. Returns when all are done and their writes are visible.
  void share(int primary, std::int64_t count, IndexedTask task);

  // By a primary, once: it has no kernels left.
  void retire(int primary);

  // By any worker that has nothing else to do: takes shared tasks of its chip until its primaries are retired.
  void help(int worker);

 private:
  struct Offer {
    const IndexedTask* task = nullptr;
    std::int64_t next = 0;
    std::int64_t count = 0;
    std::int64_t running = 0;
  };
  struct Chip {
    std::mutex mutex;  // guards all below; held for a few instructions per task
    std::condition_variable changed;
    std::deque<Offer*> offers;  // those with tasks to take, oldest first
    int primaries = 0;          // not retired yet
    int idle = 0;               // workers asleep in help()
  };

  [[nodiscard]] Chip& chip_of(int worker) {
    return chips_[static_cast<std::size_t>(chip_of_worker_[static_cast<std::size_t>(worker)])];
  }
  static void take(Chip& chip, Offer& offer, int worker, std::unique_lock<std::mutex>& lock);

  std::vector<int> chip_of_worker_;
  std::deque<Chip> chips_;  // a deque: a mutex cannot be moved
};

}  // namespace znni::cpu

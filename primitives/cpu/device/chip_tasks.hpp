// Keeps multiply-adds on the chip of their kernel transform (ZNNi section IV.A.3). A primary thread has just written
// the kernel's transform into its chip's cache. Only workers of that chip may therefore take the tasks that read it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "primitives/core/executor.hpp"

namespace znni::cpu {

// Chooses `count` workers as primary threads, spread evenly over the chips. No chip gets two more than another chip
// that has a worker left. Returns rising worker numbers. 1 <= count <= workers.
[[nodiscard]] std::vector<int> choose_primaries(const std::vector<int>& chip_of_worker, std::int64_t count);

// Returns the chip to which this machine's topology pins each worker; chip 0 for all if that is unknown.
[[nodiscard]] std::vector<int> worker_chips(int workers);

// Lets primary threads offer tasks to the other workers of their chip. Waiting threads sleep.
class ChipTasks {
 public:
  // Takes `primaries` as choose_primaries() returns them.
  ChipTasks(const std::vector<int>& chip_of_worker, const std::vector<int>& primaries);

  // Runs task(index, worker) for every index in [0, count), on the calling primary thread and on idle workers of its
  // chip. Returns when all tasks are done; their writes are visible.
  void share(int primary, std::int64_t count, IndexedTask task);

  // Retires a primary thread that has no kernels left; each primary thread calls it once.
  void retire(int primary);

  // Takes shared tasks of the worker's chip until all its primary threads have retired. Any idle worker may call it.
  void help(int worker);

 private:
  struct Offer {
    const IndexedTask* task = nullptr;
    std::int64_t next = 0;
    std::int64_t count = 0;
    std::int64_t running = 0;
  };
  struct Chip {
    std::mutex mutex;  // guards all fields below; held for a few instructions per task
    std::condition_variable changed;
    std::deque<Offer*> offers;  // offers with tasks left, oldest first
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

// Schedules the tasks of batches that pass through forward, column and inverse work, without barriers. A task may start
// when the tasks whose results it reads are done, so workers find work of several batches. Transforms are limited by
// memory and products by arithmetic. Half of the workers therefore prefer the first, half the second.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "primitives/core/executor.hpp"

namespace znni::cpu::fft_tiled {

enum class BatchPhase { forward, column, inverse };

struct BatchTask {
  std::int64_t batch = 0;
  BatchPhase phase = BatchPhase::forward;
  std::int64_t index = 0;  // index within the phase
};

class BatchPipeline {
 public:
  // Plans counts[p] tasks, at least one, for phase p of every batch; the last batch has last_counts[p] instead. A batch
  // starts when the batch `slots` before it has ended, because the two share memory.
  BatchPipeline(std::int64_t batches, std::array<std::int64_t, 3> counts, std::array<std::int64_t, 3> last_counts,
                std::int64_t slots);

  // Runs task(const BatchTask&, int worker) once for every task on the executor's workers. Returns when all are done.
  template <class Task>
  void run(Executor& executor, const Task& task) {
    executor.on_every_worker([&](std::int64_t, int worker) {
      while (!ended()) {
        BatchTask next;
        if (!claim(worker, next)) {
          pause();
          continue;
        }
        task(next, worker);
        complete(next);
      }
    });
  }

 private:
  struct Phase {
    std::atomic<std::int64_t> claimed{0};
    std::atomic<std::int64_t> done{0};
  };
  [[nodiscard]] std::int64_t count(std::int64_t batch, BatchPhase phase) const;
  [[nodiscard]] bool is_done(std::int64_t batch, BatchPhase phase) const;
  [[nodiscard]] bool is_ready(std::int64_t batch, BatchPhase phase) const;
  [[nodiscard]] bool ended() const { return first_open_.load(std::memory_order_acquire) == batches_; }
  [[nodiscard]] Phase& state(std::int64_t batch, BatchPhase phase) const {
    return states_[static_cast<std::size_t>(3 * batch + static_cast<std::int64_t>(phase))];
  }
  bool claim(int worker, BatchTask& task);
  bool claim(std::int64_t batch, BatchPhase phase, BatchTask& task);
  void complete(const BatchTask& task);
  static void pause();

  std::int64_t batches_;
  std::array<std::int64_t, 3> counts_;
  std::array<std::int64_t, 3> last_counts_;
  std::int64_t slots_;
  std::unique_ptr<Phase[]> states_;
  std::atomic<std::int64_t> first_open_{0};
};

}  // namespace znni::cpu::fft_tiled

#include "primitives/cpu/fft_tiled/batch_pipeline.hpp"

#include <algorithm>
#include <thread>

#include "primitives/core/result.hpp"

namespace znni::cpu::fft_tiled {
namespace {

constexpr std::array<BatchPhase, 3> transforms_first{BatchPhase::inverse, BatchPhase::forward, BatchPhase::column};
constexpr std::array<BatchPhase, 3> products_first{BatchPhase::column, BatchPhase::inverse, BatchPhase::forward};

}  // namespace

BatchPipeline::BatchPipeline(std::int64_t batches, std::array<std::int64_t, 3> counts,
                             std::array<std::int64_t, 3> last_counts, std::int64_t slots)
    : batches_(batches),
      counts_(counts),
      last_counts_(last_counts),
      slots_(slots),
      states_(std::make_unique<Phase[]>(static_cast<std::size_t>(3 * batches))) {
  for (const std::int64_t tasks : counts_) ensure(tasks > 0, "every phase has tasks");
  for (const std::int64_t tasks : last_counts_) ensure(tasks > 0, "every phase of the last batch has tasks");
}

std::int64_t BatchPipeline::count(std::int64_t batch, BatchPhase phase) const {
  return (batch + 1 < batches_ ? counts_ : last_counts_)[static_cast<std::size_t>(phase)];
}

bool BatchPipeline::is_done(std::int64_t batch, BatchPhase phase) const {
  return state(batch, phase).done.load() == count(batch, phase);
}

bool BatchPipeline::is_ready(std::int64_t batch, BatchPhase phase) const {
  if (phase == BatchPhase::forward) return batch < slots_ || is_done(batch - slots_, BatchPhase::inverse);
  return is_done(batch, phase == BatchPhase::column ? BatchPhase::forward : BatchPhase::column);
}

bool BatchPipeline::claim(std::int64_t batch, BatchPhase phase, BatchTask& task) {
  Phase& of = state(batch, phase);
  const std::int64_t tasks = count(batch, phase);
  if (of.claimed.load(std::memory_order_relaxed) >= tasks || !is_ready(batch, phase)) return false;
  const std::int64_t index = of.claimed.fetch_add(1, std::memory_order_relaxed);
  task = {batch, phase, index};
  return index < tasks;
}

bool BatchPipeline::claim(int worker, BatchTask& task) {
  const std::int64_t first = first_open_.load(std::memory_order_acquire);
  const std::int64_t end = std::min(batches_, first + slots_ + 1);
  for (const BatchPhase phase : worker % 2 == 0 ? products_first : transforms_first) {
    for (std::int64_t batch = first; batch < end; ++batch) {
      if (claim(batch, phase, task)) return true;
    }
  }
  return false;
}

void BatchPipeline::complete(const BatchTask& task) {
  const std::int64_t done = state(task.batch, task.phase).done.fetch_add(1) + 1;
  if (task.phase != BatchPhase::inverse || done != count(task.batch, task.phase)) return;
  // Any open batch may end first. If two batches end at the same time, their workers must see each other's counts; the
  // total order of these operations ensures that.
  std::int64_t open = first_open_.load();
  while (open < batches_ && is_done(open, BatchPhase::inverse)) {
    first_open_.compare_exchange_strong(open, open + 1);
    open = first_open_.load();
  }
}

void BatchPipeline::pause() { std::this_thread::yield(); }

}  // namespace znni::cpu::fft_tiled

#include "primitives/cpu/fft_tiled/batch_pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/random.hpp"

namespace znni::cpu::fft_tiled {
namespace {

struct Case {
  std::int64_t batches = 1;
  std::array<std::int64_t, 3> counts{1, 1, 1};
  std::array<std::int64_t, 3> last_counts{1, 1, 1};
  std::int64_t slots = 1;
  int workers = 1;

  [[nodiscard]] std::int64_t count(std::int64_t batch, std::int64_t phase) const {
    return (batch + 1 < batches ? counts : last_counts)[static_cast<std::size_t>(phase)];
  }
};

std::string case_name(const Case& c) {
  std::string text = std::to_string(c.batches) + " batches in " + std::to_string(c.slots) + " slots, " +
                     std::to_string(c.workers) + " workers, tasks";
  for (const std::int64_t count : c.counts) text += " " + std::to_string(count);
  for (const std::int64_t count : c.last_counts) text += " " + std::to_string(count);
  return text;
}

// Records what the tasks of one run saw. The cells are plain memory, one set per slot as in the layer. They also show
// (best to the thread sanitizer) that writes of one phase are visible in the next.
class Record {
 public:
  explicit Record(const Case& c)
      : case_(c),
        ran_(static_cast<std::size_t>(c.batches * 3 * most())),
        done_(static_cast<std::size_t>(c.batches * 3)),
        cells_(static_cast<std::size_t>(c.slots * c.counts[0]), -1) {}

  void run(const BatchTask& task) {
    const auto phase = static_cast<std::int64_t>(task.phase);
    ++ran_[static_cast<std::size_t>((task.batch * 3 + phase) * most() + task.index)];
    if (phase > 0 && done(task.batch, phase - 1) != case_.count(task.batch, phase - 1)) ++early_;
    const std::int64_t before = task.batch - case_.slots;
    if (phase == 0 && before >= 0 && done(before, 2) != case_.count(before, 2)) ++early_;
    std::int64_t* const cells = cells_.data() + task.batch % case_.slots * case_.counts[0];
    if (phase == 0) {
      cells[task.index] = task.batch;
    } else if (std::count(cells, cells + case_.count(task.batch, 0), task.batch) != case_.count(task.batch, 0)) {
      ++lost_;
    }
    ++done_[static_cast<std::size_t>(task.batch * 3 + phase)];
  }

  void check() {
    for (std::int64_t batch = 0; batch < case_.batches; ++batch) {
      for (std::int64_t phase = 0; phase < 3; ++phase) {
        for (std::int64_t index = 0; index < most(); ++index) {
          EXPECT_EQ(ran_[static_cast<std::size_t>((batch * 3 + phase) * most() + index)],
                    index < case_.count(batch, phase) ? 1 : 0)
              << "task " << index << " of phase " << phase << " of batch " << batch;
        }
      }
    }
    EXPECT_EQ(early_, 0) << "tasks started before those they read from were done";
    EXPECT_EQ(lost_, 0) << "tasks did not find what the forward tasks of their batch wrote";
  }

 private:
  [[nodiscard]] std::int64_t most() const { return *std::max_element(case_.counts.begin(), case_.counts.end()); }
  [[nodiscard]] std::int64_t done(std::int64_t batch, std::int64_t phase) const {
    return done_[static_cast<std::size_t>(batch * 3 + phase)];
  }

  Case case_;
  std::vector<std::atomic<int>> ran_;
  std::vector<std::atomic<std::int64_t>> done_;
  std::vector<std::int64_t> cells_;
  std::atomic<int> early_{0};
  std::atomic<int> lost_{0};
};

void check_run(const Case& c, Executor& executor) {
  SCOPED_TRACE(case_name(c));
  Record record(c);
  BatchPipeline pipeline(c.batches, c.counts, c.last_counts, c.slots);
  pipeline.run(executor, [&](const BatchTask& task, int worker) {
    EXPECT_TRUE(worker >= 0 && worker < c.workers) << worker;
    record.run(task);
  });
  record.check();
}

TEST(BatchPipeline, RunsEveryTaskOnceAndInOrder) {
  for (int workers = 1; workers <= 4; ++workers) {
    Executor executor(workers);
    for (int index = 0; index < test::case_count(100); ++index) {
      const std::uint64_t seed = test::base_seed() * 1000 + static_cast<std::uint64_t>(index);
      test::Random random(seed);
      Case c;
      c.workers = workers;
      c.batches = random.integer(1, 12);
      c.slots = random.integer(1, std::min<std::int64_t>(3, c.batches));
      for (std::size_t phase = 0; phase < 3; ++phase) {
        c.counts[phase] = random.chance(0.3) ? 1 : random.integer(1, 20);
        c.last_counts[phase] = random.integer(1, c.counts[phase]);
      }
      SCOPED_TRACE("seed " + std::to_string(seed));
      check_run(c, executor);
    }
  }
}

// With the fewest tasks between dependences, a wrong order shows up soonest.
TEST(BatchPipeline, KeepsTheOrderOfManyTinyBatches) {
  for (int workers = 1; workers <= 4; ++workers) {
    Executor executor(workers);
    for (const std::int64_t slots : {1, 2, 3}) check_run({2000, {1, 1, 1}, {1, 1, 1}, slots, workers}, executor);
    check_run({1000, {2, 1, 2}, {1, 1, 1}, 2, workers}, executor);
  }
}

TEST(BatchPipeline, TakesMoreSlotsThanBatchesAndNoBatches) {
  Executor executor(2);
  check_run({1, {3, 4, 5}, {3, 4, 5}, 2, 2}, executor);
  BatchPipeline nothing(0, {1, 1, 1}, {1, 1, 1}, 2);
  nothing.run(executor, [](const BatchTask&, int) { ADD_FAILURE() << "there is no task"; });
}

// The product of batch 0 waits for the transform of batch 1, so without overlap this would never end.
TEST(BatchPipeline, TransformsTheNextBatchBesideProducts) {
  Executor executor(2);
  BatchPipeline pipeline(2, {1, 1, 1}, {1, 1, 1}, 2);
  std::atomic<bool> transformed{false};
  pipeline.run(executor, [&](const BatchTask& task, int) {
    if (task.batch == 1 && task.phase == BatchPhase::forward) transformed = true;
    while (task.phase == BatchPhase::column && !transformed) std::this_thread::yield();
  });
  EXPECT_TRUE(transformed);
}

// Both products wait for each other: only two workers can finish this.
TEST(BatchPipeline, SharesOutTheTasksOfAPhase) {
  Executor executor(2);
  BatchPipeline pipeline(1, {1, 2, 1}, {1, 2, 1}, 1);
  std::atomic<int> arrived{0};
  pipeline.run(executor, [&](const BatchTask& task, int) {
    if (task.phase != BatchPhase::column) return;
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
}

}  // namespace
}  // namespace znni::cpu::fft_tiled

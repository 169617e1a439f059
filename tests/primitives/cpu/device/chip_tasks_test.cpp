#include "primitives/cpu/device/chip_tasks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <set>
#include <vector>

#include "tests/support/random.hpp"

namespace znni::cpu {
namespace {

TEST(ChoosePrimaries, TakesEveryWorkerWhenThereIsWorkForAll) {
  EXPECT_EQ(choose_primaries({0, 0, 1, 1}, 4), (std::vector<int>{0, 1, 2, 3}));
}

TEST(ChoosePrimaries, SpreadsOverChips) {
  EXPECT_EQ(choose_primaries({0, 0, 0, 1, 1, 1}, 2), (std::vector<int>{0, 3}));
  EXPECT_EQ(choose_primaries({0, 0, 0, 1, 1, 1}, 3), (std::vector<int>{0, 1, 3}));
  EXPECT_EQ(choose_primaries({0, 0, 0, 1}, 3), (std::vector<int>{0, 1, 3}));
}

TEST(ChoosePrimaries, IsFairOnRandomMachines) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    test::Random random(seed);
    std::vector<int> chips;
    for (std::int64_t worker = random.integer(1, 40); worker > 0; --worker) {
      chips.push_back(static_cast<int>(random.integer(0, 3)));
    }
    const std::int64_t count = random.integer(1, static_cast<std::int64_t>(chips.size()));
    const std::vector<int> chosen = choose_primaries(chips, count);
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_EQ(static_cast<std::int64_t>(chosen.size()), count);
    EXPECT_EQ(std::set<int>(chosen.begin(), chosen.end()).size(), chosen.size());
    EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
    std::array<std::int64_t, 4> primaries{};
    std::array<std::int64_t, 4> workers{};
    for (const int chip : chips) ++workers[static_cast<std::size_t>(chip)];
    for (const int worker : chosen) ++primaries[static_cast<std::size_t>(chips[static_cast<std::size_t>(worker)])];
    const std::int64_t most = *std::max_element(primaries.begin(), primaries.end());
    for (std::size_t chip = 0; chip < 4; ++chip) {
      EXPECT_TRUE(primaries[chip] + 1 >= most || primaries[chip] == workers[chip]) << "chip " << chip;
    }
  }
}

TEST(WorkerChips, NamesAChipPerWorker) {
  for (const int workers : {1, 2, 1000}) {
    const std::vector<int> chips = worker_chips(workers);
    ASSERT_EQ(static_cast<int>(chips.size()), workers);
    EXPECT_GE(*std::min_element(chips.begin(), chips.end()), 0);
  }
}

// Checks that all tasks run: every primary thread offers `rounds` sets of tasks one after the other, as for its
// kernels.
void check_shared_work(const std::vector<int>& chips, std::int64_t primaries, std::int64_t rounds, std::int64_t count) {
  const std::vector<int> chosen = choose_primaries(chips, primaries);
  ChipTasks tasks(chips, chosen);
  std::vector<std::atomic<int>> done(static_cast<std::size_t>(primaries * rounds * count));
  std::atomic<int> strangers{0};
  std::atomic<int> unfinished{0};
  Executor executor(static_cast<int>(chips.size()));
  executor.on_every_worker([&](std::int64_t, int worker) {
    const auto found = std::find(chosen.begin(), chosen.end(), worker);
    if (found != chosen.end()) {
      for (std::int64_t round = 0; round < rounds; ++round) {
        const std::int64_t first = ((found - chosen.begin()) * rounds + round) * count;
        const auto task = [&](std::int64_t index, int by) {
          ++done[static_cast<std::size_t>(first + index)];
          if (chips[static_cast<std::size_t>(by)] != chips[static_cast<std::size_t>(worker)]) ++strangers;
        };
        tasks.share(worker, count, task);
        for (std::int64_t index = 0; index < count; ++index) {
          if (done[static_cast<std::size_t>(first + index)] != 1) ++unfinished;
        }
      }
      tasks.retire(worker);
    }
    tasks.help(worker);
  });
  for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
  EXPECT_EQ(strangers, 0) << "tasks left the chip of their kernel transform";
  EXPECT_EQ(unfinished, 0) << "share() returned before its tasks were done";
}

TEST(ChipTasks, EveryTaskRunsOnceOnTheChipOfItsPrimary) {
  check_shared_work({0, 0, 0, 0}, 1, 200, 7);
  check_shared_work({0, 0, 0, 0}, 4, 100, 3);
  check_shared_work({0, 1, 0, 1, 1}, 2, 200, 5);
  check_shared_work({0, 1, 2}, 2, 50, 4);  // chip 2 has a worker and no primary
  check_shared_work({0}, 1, 20, 9);
  check_shared_work({0, 0}, 1, 500, 1);
}

TEST(ChipTasks, IdleWorkersOfTheChipTakePart) {
  ChipTasks tasks({0, 0}, {0});
  Executor executor(2);
  std::atomic<int> arrived{0};
  std::array<std::atomic<int>, 2> tasks_of{};
  executor.on_every_worker([&](std::int64_t, int worker) {
    if (worker == 0) {
      // Both tasks wait for each other: only two workers can finish this.
      tasks.share(0, 2, [&](std::int64_t, int by) {
        ++tasks_of[static_cast<std::size_t>(by)];
        ++arrived;
        while (arrived < 2) std::this_thread::yield();
      });
      tasks.retire(0);
    }
    tasks.help(worker);
  });
  EXPECT_EQ(tasks_of[0], 1);
  EXPECT_EQ(tasks_of[1], 1);
}

}  // namespace
}  // namespace znni::cpu

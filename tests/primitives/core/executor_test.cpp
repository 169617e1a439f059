#include "primitives/core/executor.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <set>
#include <system_error>

namespace znni {
namespace {

TEST(Executor, VisitsEveryIndexOnce) {
  Executor executor(3);
  for (const std::int64_t count : {0, 1, 2, 3, 1000}) {
    std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count) + 1);
    executor.parallel_for(count, [&](std::int64_t index, int worker) {
      EXPECT_GE(worker, 0);
      EXPECT_LT(worker, 3);
      ++visits[static_cast<std::size_t>(index)];
    });
    for (std::int64_t index = 0; index < count; ++index) EXPECT_EQ(visits[static_cast<std::size_t>(index)], 1);
  }
}

TEST(Executor, OneWorkerGoesInOrder) {
  Executor executor(1);
  std::vector<std::int64_t> seen;
  executor.parallel_for(5, [&](std::int64_t index, int) { seen.push_back(index); });
  EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

// Every worker waits for all others, which is possible only if all run at the same time.
TEST(Executor, RunsOnEveryWorkerAtTheSameTime) {
  Executor executor(4);
  std::atomic<int> arrived{0};
  std::atomic<int> sum{0};
  executor.on_every_worker([&](std::int64_t index, int worker) {
    EXPECT_EQ(index, worker);
    sum += worker;
    ++arrived;
    while (arrived < 4) std::this_thread::yield();
  });
  EXPECT_EQ(sum, 6);
}

// A worker that another program keeps from its processor. The wait ends after a while only if the test fails.
TEST(Executor, DoesNotWaitForAWorkerThatTakesNoIndex) {
  std::promise<void> returned;
  std::atomic<bool> in_time{false};
  const auto held_up = [&, until = returned.get_future().share()](int worker) {
    if (worker == 1) in_time = until.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  };
  std::atomic<int> visits{0};
  {
    Executor executor(2, held_up);
    for (int call = 0; call < 3; ++call) executor.parallel_for(10, [&](std::int64_t, int) { ++visits; });
    returned.set_value();
    executor.on_every_worker([&](std::int64_t, int) { ++visits; });
  }
  EXPECT_TRUE(in_time);
  EXPECT_EQ(visits, 32);
}

// Workers that come late meet calls that are over, and the next ones.
TEST(Executor, ShortCallsOfBothKindsTakeTurns) {
  Executor executor(4);
  for (int round = 0; round < 500; ++round) {
    std::atomic<int> visits{0};
    executor.parallel_for(1, [&](std::int64_t, int) { ++visits; });
    ASSERT_EQ(visits, 1);
    executor.on_every_worker([&](std::int64_t, int) { ++visits; });
    ASSERT_EQ(visits, 5);
  }
}

TEST(Executor, WritesAreVisibleToTheCaller) {
  Executor executor(2);
  for (int round = 0; round < 500; ++round) {
    std::vector<int> values(16, 0);
    executor.parallel_for(16, [&](std::int64_t index, int) { values[static_cast<std::size_t>(index)] = round; });
    for (const int value : values) ASSERT_EQ(value, round);
  }
}

TEST(Executor, StartsEveryWorkerBeforeItsFirstTask) {
  std::array<std::atomic<bool>, 3> started{};
  Executor executor(3, [&](int worker) { started[static_cast<std::size_t>(worker)] = true; });
  executor.on_every_worker([&](std::int64_t, int worker) { EXPECT_TRUE(started[static_cast<std::size_t>(worker)]); });
  EXPECT_EQ(executor.workers(), 3);
}

TEST(Executor, ServesSeveralCallersInTurn) {
  Executor executor(2);
  std::atomic<int> done{0};
  for (int caller = 0; caller < 3; ++caller) {
    std::thread([&] { executor.parallel_for(10, [&](std::int64_t, int) { ++done; }); }).join();
  }
  EXPECT_EQ(done, 30);
}

// During its lifetime, new threads ask for more address space than there is.
class NoThreads {
 public:
  NoThreads() {
    EXPECT_EQ(pthread_getattr_default_np(&before_), 0);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 47);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_{};
};

// The executor copies it for each worker before it starts that worker; from some copy on, no thread can be started.
struct RunsOutOfThreads {
  RunsOutOfThreads(std::optional<NoThreads>& none, int& copies) : none_(none), copies_left(copies) {}
  RunsOutOfThreads(const RunsOutOfThreads& other) : none_(other.none_), copies_left(other.copies_left) {
    if (copies_left-- == 0) none_.emplace();
  }
  RunsOutOfThreads& operator=(const RunsOutOfThreads&) = delete;
  ~RunsOutOfThreads() = default;
  void operator()(int) const {}
  std::optional<NoThreads>& none_;
  int& copies_left;
};

TEST(Executor, EndsTheWorkersThereAreWhereTheSystemGrantsNoMore) {
  for (int copies = 0; copies < 8; ++copies) {
    std::optional<NoThreads> none;
    int left = copies;
    EXPECT_THROW(Executor(8, RunsOutOfThreads(none, left)), std::system_error) << copies;
  }
}

TEST(ExecutorDeathTest, NeedsAWorker) { EXPECT_DEATH(Executor(0), "at least one worker"); }

}  // namespace
}  // namespace znni

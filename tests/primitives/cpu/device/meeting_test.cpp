#include "primitives/cpu/device/meeting.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace znni::cpu {
namespace {

// Runs `work(worker)` in so many threads.
template <class Work>
void run_in_threads(int workers, const Work& work) {
  std::vector<std::jthread> threads;
  for (int worker = 0; worker < workers; ++worker) threads.emplace_back([&work, worker] { work(worker); });
}

TEST(Meeting, EachWorkerSeesWhatTheOthersWroteBefore) {
  for (const int workers : {1, 2, 5}) {
    constexpr int rounds = 300;
    Meeting meeting(workers);
    std::vector<int> written(static_cast<std::size_t>(workers));
    std::vector<int> wrong(static_cast<std::size_t>(workers));
    run_in_threads(workers, [&](int worker) {
      for (int round = 1; round <= rounds; ++round) {
        written[static_cast<std::size_t>(worker)] = round;
        meeting.meet();
        for (const int value : written) wrong[static_cast<std::size_t>(worker)] += value != round ? 1 : 0;
        meeting.meet();
      }
    });
    EXPECT_EQ(wrong, std::vector<int>(static_cast<std::size_t>(workers))) << workers << " workers";
  }
}

TEST(Meeting, OneWorkerCompletesWhileTheOthersWait) {
  constexpr int workers = 4;
  constexpr int rounds = 200;
  Meeting meeting(workers);
  int completed = 0;  // unguarded: only one worker at a time may touch it
  std::vector<int> wrong(workers);
  run_in_threads(workers, [&](int worker) {
    for (int round = 1; round <= rounds; ++round) {
      meeting.meet([&] { ++completed; });
      wrong[static_cast<std::size_t>(worker)] += completed != round ? 1 : 0;
      meeting.meet();
    }
  });
  EXPECT_EQ(completed, rounds);
  EXPECT_EQ(wrong, std::vector<int>(workers));
}

TEST(Meeting, WorkersThatSleepAreWoken) {
  Meeting meeting(2);
  std::atomic<bool> has_passed = false;
  std::jthread early([&] {
    meeting.meet();
    has_passed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(has_passed);
  meeting.meet();
  early.join();
  EXPECT_TRUE(has_passed);
}

}  // namespace
}  // namespace znni::cpu

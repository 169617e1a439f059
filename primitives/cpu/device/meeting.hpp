// A place where the workers of a convolution wait for each other.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace znni::cpu {

// Lets a fixed number of workers wait until all of them have come, again and again. A worker looks for some
// microseconds, in which the others arrive if each has a processor, and then sleeps. std::barrier yields instead: on a
// busy machine each crossing then takes a time slice of every other program.
class Meeting {
 public:
  explicit Meeting(int workers) : workers_(workers) {}

  // Returns when all workers have come. What each wrote before is then visible to all.
  void meet() {
    meet([] {});
  }

  // Runs `completion`, which must not throw, in the last worker that comes, while the others wait. All workers pass the
  // same one.
  template <class Completion>
  void meet(const Completion& completion) {
    const std::uint64_t round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < workers_) return wait_for_end_of(round);
    completion();
    arrived_.store(0, std::memory_order_relaxed);
    {
      const std::lock_guard lock(mutex_);
      round_.store(round + 1, std::memory_order_release);
    }
    ended_.notify_all();
  }

 private:
  static constexpr int looks = 5000;

  void wait_for_end_of(std::uint64_t round) {
    const auto has_ended = [&] { return round_.load(std::memory_order_acquire) != round; };
    for (int look = 0; look < looks; ++look) {
      if (has_ended()) return;
    }
    std::unique_lock lock(mutex_);
    ended_.wait(lock, has_ended);
  }

  const int workers_;
  std::atomic<int> arrived_ = 0;
  std::atomic<std::uint64_t> round_ = 0;
  std::mutex mutex_;  // held while a round ends, so that no worker falls asleep after its end
  std::condition_variable ended_;
};

}  // namespace znni::cpu

// Threads of a block as threads of the host. Nothing but the kernel's barriers and the ends of blocks orders them, so
// that the thread sanitizer sees which accesses a barrier is needed for.
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tests/cuda_emulation/block_runner.hpp"
#include "tests/cuda_emulation/include/cuda_runtime.h"

namespace znni::cuda_emulation {
namespace {

// The point where all threads of a block meet: at a barrier of the kernel, or at its end.
class MeetingPoint {
 public:
  explicit MeetingPoint(std::uint64_t threads) : threads_(threads) {}

  // Waits until all threads are here; nothing: at the kernel's end. Throws Abandoned where they came to different
  // places.
  void meet(const std::optional<std::source_location>& at) {
    std::unique_lock lock(mutex_);
    if (arrived_ == 0) at_ = at;
    if (wrong_.empty() && at.has_value() != at_.has_value()) {
      wrong_ = "some threads of a block wait at " + place_text(at ? *at : *at_) + ", others have ended";
    } else if (wrong_.empty() && at && !is_same(*at, *at_)) {
      wrong_ = "threads of a block wait at " + place_text(*at_) + " and at " + place_text(*at);
    }
    const std::uint64_t round = round_;
    if (++arrived_ == threads_) {
      arrived_ = 0;
      ++round_;
      all_here_.notify_all();
    }
    all_here_.wait(lock, [&] { return round_ != round; });
    if (!wrong_.empty()) throw Abandoned();
  }

  // Returns what went wrong; valid once the threads have ended.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  const std::uint64_t threads_;
  std::mutex mutex_;  // guards all below
  std::condition_variable all_here_;
  std::uint64_t arrived_ = 0;
  std::uint64_t round_ = 0;
  std::optional<std::source_location> at_;
  std::string wrong_;
};

thread_local MeetingPoint* meeting_point = nullptr;

// Runs one thread in all blocks.
void run_thread(const Grid& grid, std::uint64_t index, MeetingPoint& point, const std::function<void()>& kernel) {
  meeting_point = &point;
  threadIdx = place_of(grid.threads, index, false);
  try {
    for (std::uint64_t block = 0; block < count_of(grid.blocks); ++block) {
      blockIdx = place_of(grid.blocks, block, grid.backwards);
      kernel();
      point.meet(std::nullopt);
    }
  } catch (const Abandoned&) {
  }
}

}  // namespace

void wait_for_block(const std::source_location& at) { meeting_point->meet(at); }

std::string run_blocks(const Grid& grid, const std::function<void()>& kernel) {
  MeetingPoint point(count_of(grid.threads));
  std::vector<std::thread> threads;
  for (std::uint64_t index = 0; index < count_of(grid.threads); ++index) {
    threads.emplace_back([&, index] { run_thread(grid, index, point, kernel); });
  }
  for (std::thread& thread : threads) thread.join();
  return point.wrong();
}

}  // namespace znni::cuda_emulation

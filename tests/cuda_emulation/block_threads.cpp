// Threads of a block as threads of the host. Nothing but the kernel's barriers and the ends of blocks orders them, so
// that the thread sanitizer sees which accesses a barrier is needed for.
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tests/cuda_emulation/block_runner.hpp"
#include "tests/cuda_emulation/include/cuda_runtime.h"
#include "tests/cuda_emulation/warp.hpp"

namespace znni::cuda_emulation {
namespace {

// The points where threads of a block meet: all of them, at a barrier of the kernel or at its end, or those of a warp.
class MeetingPoints {
 public:
  explicit MeetingPoints(std::uint64_t threads)
      : threads_(threads), points_(1 + (threads + lanes_of_warp - 1) / lanes_of_warp) {}

  // Waits until all threads are here; nothing: at the kernel's end. Throws Abandoned where they came to different
  // places.
  void meet(const std::optional<std::source_location>& at) {
    std::unique_lock lock(mutex_);
    arrive(points_[0], threads_, at, nullptr, lock);
  }

  // Does the same for the warp of a thread, and has the last of them act.
  void meet_in_warp(std::uint64_t thread, void* brought, const ActForWarp& act, const std::source_location& at) {
    std::unique_lock lock(mutex_);
    Point& point = points_[1 + thread / lanes_of_warp];
    point.brought[thread % lanes_of_warp] = brought;
    arrive(point, lanes_of_warp, at, &act, lock);
  }

  // Returns what went wrong; valid once the threads have ended.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  struct Point {
    std::uint64_t arrived = 0;
    std::uint64_t round = 0;
    std::optional<std::source_location> at;
    Brought brought{};
  };

  void arrive(Point& point, std::uint64_t all, const std::optional<std::source_location>& at, const ActForWarp* act,
              std::unique_lock<std::mutex>& lock) {
    if (point.arrived == 0) point.at = at;
    if (wrong_.empty()) wrong_ = difference(point, at);
    const std::uint64_t round = point.round;
    ++waiting_;
    if (++point.arrived == all && wrong_.empty()) {
      if (act != nullptr) (*act)(point.brought);
      point.arrived = 0;
      ++point.round;
      waiting_ -= all;
    } else if (waiting_ == threads_ && wrong_.empty()) {
      wrong_ = "threads of a block, or of a warp, wait for others at " + (at ? place_text(*at) : "its end");
    }
    if (point.round != round || !wrong_.empty()) changed_.notify_all();
    changed_.wait(lock, [&] { return point.round != round || !wrong_.empty(); });
    if (!wrong_.empty()) throw Abandoned();
  }

  static std::string difference(const Point& point, const std::optional<std::source_location>& at) {
    if (at.has_value() != point.at.has_value()) {
      return "some threads of a block wait at " + place_text(at ? *at : *point.at) + ", others have ended";
    }
    if (!at || is_same(*at, *point.at)) return "";
    return "threads of a block wait at " + place_text(*point.at) + " and at " + place_text(*at);
  }

  const std::uint64_t threads_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::vector<Point> points_;  // the block's, then those of warps
  std::uint64_t waiting_ = 0;
  std::string wrong_;
};

thread_local MeetingPoints* meeting_points = nullptr;

// Runs one thread in all blocks.
void run_thread(const Grid& grid, std::uint64_t index, MeetingPoints& points, const std::function<void()>& kernel) {
  meeting_points = &points;
  threadIdx = place_of(grid.threads, index, false);
  try {
    for (std::uint64_t block = 0; block < count_of(grid.blocks); ++block) {
      blockIdx = place_of(grid.blocks, block, grid.backwards);
      kernel();
      points.meet(std::nullopt);
    }
  } catch (const Abandoned&) {
  }
}

}  // namespace

void wait_for_block(const std::source_location& at) { meeting_points->meet(at); }

void meet_in_warp(void* brought, const ActForWarp& act, const std::source_location& at) {
  meeting_points->meet_in_warp(index_of(blockDim, threadIdx), brought, act, at);
}

std::string run_blocks(const Grid& grid, const std::function<void()>& kernel) {
  MeetingPoints points(count_of(grid.threads));
  std::vector<std::thread> threads;
  for (std::uint64_t index = 0; index < count_of(grid.threads); ++index) {
    threads.emplace_back([&, index] { run_thread(grid, index, points, kernel); });
  }
  for (std::thread& thread : threads) thread.join();
  return points.wrong();
}

}  // namespace znni::cuda_emulation

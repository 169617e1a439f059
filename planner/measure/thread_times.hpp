// Times for which the threads of this process ran and waited for a processor. They show if a machine was busy with
// other things while something was timed.
#pragma once

#include <filesystem>

namespace znni {

struct ThreadTimes {
  double ran = 0;     // seconds, all threads together
  double waited = 0;  // ready to run, but another had the processor

  ThreadTimes& operator+=(ThreadTimes other) {
    ran += other.ran;
    waited += other.waited;
    return *this;
  }
  // Returns the share of time that threads waited, 0 to 1; 0 if nothing is known.
  [[nodiscard]] double waited_share() const { return ran + waited > 0 ? waited / (ran + waited) : 0; }
};
[[nodiscard]] inline ThreadTimes operator-(ThreadTimes a, ThreadTimes b) {
  return {a.ran - b.ran, a.waited - b.waited};
}

// Reads the times of all current threads from task/*/schedstat below `process`; zeros if the system does not count.
[[nodiscard]] ThreadTimes read_thread_times(const std::filesystem::path& process = "/proc/self");

}  // namespace znni

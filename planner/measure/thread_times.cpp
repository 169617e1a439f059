#include "planner/measure/thread_times.hpp"

#include <fstream>
#include <system_error>

namespace znni {

ThreadTimes read_thread_times(const std::filesystem::path& process) {
  ThreadTimes sum;
  std::error_code error;
  std::filesystem::directory_iterator thread(process / "task", error);
  for (; !error && thread != std::filesystem::directory_iterator(); thread.increment(error)) {
    std::ifstream file(thread->path() / "schedstat");
    double ran = 0;
    double waited = 0;
    if (file >> ran >> waited) sum += {ran * 1e-9, waited * 1e-9};
  }
  return sum;
}

}  // namespace znni

#include "planner/base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace znni {

void parallel_for(int threads, std::size_t count, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) body(i);
  };
  const std::size_t wanted = std::min(count, static_cast<std::size_t>(std::max(1, threads)));
  std::vector<std::jthread> others;  // joined before `next` goes
  try {
    while (others.size() + 1 < wanted) others.emplace_back(work);
  } catch (const std::system_error&) {
    // A limit on processes: the threads there are take all of it.
  }
  work();
}

}  // namespace znni

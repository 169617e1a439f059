#include "tests/gpu_bench/timing.hpp"

#include <algorithm>
#include <vector>

namespace znni::gpu_bench {

Result<double> median_seconds(cuda::CudaDevice& device, const Work& work, int repetitions, int warm_up) {
  const Result<Event> first = device.make_event();
  if (!first) return first.error();
  const Result<Event> last = device.make_event();
  if (!last) return last.error();
  std::vector<double> seconds;
  for (int i = 0; i < warm_up + repetitions; ++i) {
    if (Result<void> marked = device.record(Stream::compute, *first); !marked) return marked.error();
    if (Result<void> done = work(); !done) return done.error();
    if (Result<void> marked = device.record(Stream::compute, *last); !marked) return marked.error();
    if (Result<void> passed = device.synchronise(*last); !passed) return passed.error();
    const Result<double> time = device.seconds_between(*first, *last);
    if (!time) return time.error();
    if (i >= warm_up) seconds.push_back(*time);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace znni::gpu_bench

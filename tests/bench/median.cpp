#include "tests/bench/median.hpp"

#include <algorithm>

namespace znni::bench {

Seconds median(std::vector<Seconds> seconds) {
  ensure(!seconds.empty(), "the median of something");
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>((seconds.size() - 1) / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

}  // namespace znni::bench

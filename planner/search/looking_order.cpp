#include "planner/search/looking_order.hpp"

#include <algorithm>
#include <numeric>

namespace znni {

std::vector<std::size_t> looking_order(std::size_t count) {
  constexpr std::size_t sample = 61;
  std::vector<std::size_t> order;
  order.reserve(count);
  for (std::size_t i = 0; i < count; i += sample) order.push_back(i);
  for (std::size_t i = 0; i < count; ++i) {
    if (i % sample != 0) order.push_back(i);
  }
  return order;
}

std::vector<std::size_t> slowest_first(const Geometry& geometry, const std::vector<bool>& absent,
                                       const std::vector<Seconds>& seconds_per_operation) {
  const auto leaves_out = [&](std::size_t value) { return !absent.empty() && absent[value]; };
  std::vector<Seconds> likely;
  for (std::size_t node = 0; node < geometry.problems.size(); ++node) {
    const double operations = static_cast<double>(geometry.runs[node]) * direct_flops(geometry.problems[node]);
    likely.push_back(leaves_out(node + 1) ? 0 : operations * seconds_per_operation[node - (leaves_out(node) ? 1 : 0)]);
  }
  std::vector<std::size_t> order(likely.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return likely[a] > likely[b]; });
  return order;
}

std::size_t round_size(std::size_t done) { return std::clamp<std::size_t>(done / 8, 16, 256); }

}  // namespace znni

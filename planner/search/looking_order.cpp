#include "planner/search/looking_order.hpp"

#include <algorithm>

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

std::size_t round_size(std::size_t done) { return std::clamp<std::size_t>(done / 8, 16, 256); }

}  // namespace znni

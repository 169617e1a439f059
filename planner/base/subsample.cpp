#include "planner/base/subsample.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace znni {

std::vector<std::int64_t> subsample(const std::vector<std::int64_t>& extents, std::size_t count) {
  if (extents.size() <= count || extents.size() < 2 || count < 2) return extents;
  std::set<std::int64_t> chosen = {extents.front(), extents.back()};
  const auto span = static_cast<double>(extents.back() - extents.front() + 1);
  for (std::size_t i = 1; i + 1 < count; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(count - 1);
    const auto wanted = extents.front() + static_cast<std::int64_t>(std::pow(span, part)) - 1;
    const auto above = std::upper_bound(extents.begin(), extents.end(), wanted);
    chosen.insert(above == extents.begin() ? extents.front() : *std::prev(above));
  }
  return {chosen.begin(), chosen.end()};
}

std::vector<std::int64_t> halved(const std::vector<std::int64_t>& extents) {
  if (extents.empty()) return extents;
  std::set<std::int64_t> chosen = {extents.front()};
  for (std::int64_t edge = extents.back(); edge >= extents.front() && edge > 0; edge /= 2) {
    chosen.insert(*std::prev(std::upper_bound(extents.begin(), extents.end(), edge)));
  }
  return {chosen.begin(), chosen.end()};
}

}  // namespace znni

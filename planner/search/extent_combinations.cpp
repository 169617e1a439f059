#include "planner/search/extent_combinations.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "planner/base/subsample.hpp"

namespace znni {

void ExtentCombinations::add_all(const AxisExtents& extents) {
  for (const std::int64_t z : extents[0]) {
    for (const std::int64_t y : extents[1]) {
      for (const std::int64_t x : extents[2]) add(z, y, x);
    }
  }
}

void ExtentCombinations::add_cubes(const AxisExtents& extents, std::size_t most, bool mixtures) {
  std::set<std::int64_t> edges;
  for (const auto& list : extents) edges.insert(list.begin(), list.end());
  const std::vector<std::int64_t> all(edges.begin(), edges.end());
  const std::vector<std::int64_t> cubes = subsample(all, most);
  for (std::size_t i = 0; i < cubes.size(); ++i) {
    const std::int64_t next = cubes[std::min(i + 1, cubes.size() - 1)];
    for (int corner = 0; corner < (mixtures ? 8 : 1); ++corner) {
      add(fitted(extents[0], (corner & 4) != 0 ? next : cubes[i]),
          fitted(extents[1], (corner & 2) != 0 ? next : cubes[i]),
          fitted(extents[2], (corner & 1) != 0 ? next : cubes[i]));
    }
  }
}

std::int64_t combination_count(const AxisExtents& extents) {
  return mul(std::ssize(extents[0]), mul(std::ssize(extents[1]), std::ssize(extents[2])));
}

std::int64_t fitted(const std::vector<std::int64_t>& extents, std::int64_t edge) {
  const auto above = std::upper_bound(extents.begin(), extents.end(), edge);
  return above == extents.begin() ? extents.front() : *std::prev(above);
}

AxisExtents ladder(const AxisExtents& extents, std::int64_t most) {
  const auto per_axis = static_cast<std::size_t>(std::max(2.0, std::floor(std::cbrt(static_cast<double>(most)))));
  return {subsample(extents[0], per_axis), subsample(extents[1], per_axis), subsample(extents[2], per_axis)};
}

std::vector<std::int64_t> around(const std::vector<std::int64_t>& extents, std::int64_t own, std::int64_t most) {
  const std::int64_t at = std::lower_bound(extents.begin(), extents.end(), own) - extents.begin();
  const std::int64_t begin = std::max<std::int64_t>(0, at - most);
  const std::int64_t end = std::min<std::int64_t>(std::ssize(extents), at + most + 1);
  return {extents.begin() + begin, extents.begin() + end};
}

}  // namespace znni

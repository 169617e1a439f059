// Combinations of extents along the three axes: all, or some of many.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "primitives/core/shape.hpp"

namespace znni {

// Extents along each axis, rising.
using AxisExtents = std::array<std::vector<std::int64_t>, 3>;

class ExtentCombinations {
 public:
  void add(std::int64_t z, std::int64_t y, std::int64_t x) { found_.insert({z, y, x}); }
  void add_all(const AxisExtents& extents);
  // Adds up to `most` cubes, as far as each axis goes; with `mixtures` also those of one cube's edges with the next
  // one's. Requires an extent along every axis.
  void add_cubes(const AxisExtents& extents, std::size_t most, bool mixtures);
  [[nodiscard]] const std::set<Vec3>& found() const { return found_; }

 private:
  std::set<Vec3> found_;
};

[[nodiscard]] std::int64_t combination_count(const AxisExtents& extents);

// Returns the largest of `extents` that is at most `edge`, or the smallest. Requires one.
[[nodiscard]] std::int64_t fitted(const std::vector<std::int64_t>& extents, std::int64_t edge);

// Returns as many along each axis (planner/base/subsample.hpp) that about `most` combinations remain.
[[nodiscard]] AxisExtents ladder(const AxisExtents& extents, std::int64_t most);

// Returns of `extents` up to `most` below `own`, itself, and up to `most` above. Requires that `own` is one of them.
[[nodiscard]] std::vector<std::int64_t> around(const std::vector<std::int64_t>& extents, std::int64_t own,
                                               std::int64_t most);

}  // namespace znni

// The facts that candidates share which differ in their extents alone: looked up once for all of them, by several
// threads.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "planner/geometry/geometry_family.hpp"
#include "planner/layers/node_choice.hpp"

namespace znni {

class SearchFamily {
 public:
  // Makes the family of candidates that are like `like` but for their extents. Keeps `network`.
  SearchFamily(const Network& network, const GeometryChoice& like);

  // Returns the geometries, or why there are none.
  [[nodiscard]] const Result<GeometryFamily>& geometries() const { return geometries_; }
  // Returns how nodes use values, each node by itself. Requires geometries, as the others below.
  [[nodiscard]] const NetworkUse& use() const { return use_; }
  // Returns the same where pairs leave out the values `absent`. The reference holds as long as the family.
  [[nodiscard]] const NetworkUse& use_in_pairs(const std::vector<bool>& absent) const;
  // Returns true once some primitive computes the node and the pooling behind it at once, at some extents. The
  // description of a layer says if it does so at others.
  [[nodiscard]] std::atomic<bool>& begins_pair(std::size_t node) const { return begins_pair_[node]; }

 private:
  const Network& network_;
  Result<GeometryFamily> geometries_;
  NetworkUse use_;
  mutable std::vector<std::atomic<bool>> begins_pair_;
  mutable std::mutex mutex_;  // guards uses_in_pairs_
  mutable std::map<std::vector<bool>, NetworkUse> uses_in_pairs_;
};

}  // namespace znni

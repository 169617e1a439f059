// Sizes from which on a primitive was recorded to refuse a kind of layer, as libraries do that count voxels in 32 bits.
#pragma once

#include <map>
#include <string>

#include "primitives/core/problem.hpp"

namespace znni {

// Returns the bytes of all tensors that a problem reads and writes: its size.
[[nodiscard]] double tensors_bytes(const LayerProblem& problem, Format in, Format out);

class RefusedSizes {
 public:
  // Adds a size that was refused. `kind`: a primitive, its way and the family of the problem.
  void add(const std::string& kind, double bytes);
  // Returns whether a refused size of that kind is at most as large.
  [[nodiscard]] bool refuses(const std::string& kind, double bytes) const;
  [[nodiscard]] bool empty() const { return least_.empty(); }

 private:
  std::map<std::string, double> least_;
};

}  // namespace znni

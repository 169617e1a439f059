#include "planner/costs/refused_sizes.hpp"

#include <algorithm>

#include "primitives/core/primitive.hpp"

namespace znni {

double tensors_bytes(const LayerProblem& problem, Format in, Format out) {
  auto bytes = static_cast<double>(tensor_bytes(output_shape(problem), out));
  for (int index = 0; index < input_count(problem); ++index) {
    bytes += static_cast<double>(tensor_bytes(input_shape(problem, index), input_format(problem, index, in, out)));
  }
  return bytes;
}

void RefusedSizes::add(const std::string& kind, double bytes) {
  double& least = least_.try_emplace(kind, bytes).first->second;
  least = std::min(least, bytes);
}

bool RefusedSizes::refuses(const std::string& kind, double bytes) const {
  const auto found = least_.find(kind);
  return found != least_.end() && bytes >= found->second;
}

}  // namespace znni

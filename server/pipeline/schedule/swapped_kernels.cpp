#include "server/pipeline/schedule/swapped_kernels.hpp"

#include <variant>

#include "planner/network/swap_axes.hpp"

namespace znni {

std::vector<std::span<const float>> swapped_kernels(const Geometry& geometry, std::span<const NodeWeights> weights,
                                                    std::byte* to) {
  const int axis = geometry.choice.axis;
  std::vector<std::span<const float>> kernels;
  if (axis == 0) return kernels;
  auto* floats = reinterpret_cast<float*>(to);
  for (std::size_t node = 0; node < geometry.problems.size(); ++node) {
    const auto* const conv = std::get_if<ConvProblem>(&geometry.problems[node]);
    const std::span<float> copy(floats, conv == nullptr ? 0 : weights[node].kernels.size());
    if (conv != nullptr) swap_kernel_axes(weights[node].kernels, swap_axes(conv->k, axis), axis, copy);
    kernels.emplace_back(copy);
    floats += copy.size();
  }
  return kernels;
}

}  // namespace znni

#include "server/train/step/transposed.hpp"

#include <algorithm>

#include "planner/network/graph_edits.hpp"
#include "primitives/core/fragments.hpp"
#include "primitives/core/index.hpp"

namespace znni {
namespace {

// Kernels of a convolution, [phase][pair of channels][tap].
struct PhaseKernels {
  Vec3 factor;  // phases
  Vec3 taps;

  // Returns the tap of the transposed kernel (proto/convert/onnx/operators/onnx_conv_transpose.cpp).
  [[nodiscard]] Vec3 tap_at(std::int64_t phase, std::int64_t tap) const {
    return fragment_at(phase, factor) + factor * (taps - Vec3::cube(1) - fragment_at(tap, taps));
  }
};

// Returns the least extent of the transposed kernel; that of all taps if all weights are 0.
Vec3 kernel_extent(const PhaseKernels& shape, const std::vector<float>& kernels) {
  Vec3 extent = shape.factor * (shape.taps - Vec3::cube(1)) + Vec3::cube(1);
  const std::int64_t taps = voxels(shape.taps);
  const std::int64_t pairs = std::ssize(kernels) / voxels(shape.factor) / taps;
  bool is_zero = true;
  for (std::int64_t i = 0; i < std::ssize(kernels); ++i) {
    if (kernels[static_cast<std::size_t>(i)] == 0.0F) continue;
    is_zero = false;
    const Vec3 at = shape.tap_at(i / taps / pairs, i % taps);
    for (int axis = 0; axis < 3; ++axis) extent[axis] = std::max(extent[axis], at[axis] + 1);
  }
  return is_zero ? shape.factor * shape.taps : extent;
}

TransposedTies ties_of(const PhaseKernels& shape, const std::vector<float>& kernels) {
  TransposedTies ties{voxels(shape.factor), {}};
  const Vec3 extent = kernel_extent(shape, kernels);
  if (extent == shape.factor * shape.taps) return ties;
  for (std::int64_t phase = 0; phase < ties.phases; ++phase) {
    for (std::int64_t tap = 0; tap < voxels(shape.taps); ++tap) {
      ties.absent.push_back(!covers(extent, shape.tap_at(phase, tap) + Vec3::cube(1)));
    }
  }
  return ties;
}

}  // namespace

std::vector<TransposedTies> transposed_ties(const Network& network, const NetworkWeights& weights) {
  std::vector<TransposedTies> ties(network.nodes.size());
  for (const Node& node : network.nodes) {
    const auto* upsample = std::get_if<Upsample>(&node.operation);
    const int value = node.inputs.front();
    if (upsample == nullptr || upsample->kind != UpsampleKind::shuffle || value == 0) continue;
    const bool is_alone = readers_of(network, value).size() == 1;
    const auto* conv = std::get_if<Convolution>(&network.nodes[index(value) - 1].operation);
    if (!is_alone || conv == nullptr) continue;
    ties[index(value) - 1] = ties_of({upsample->factor, conv->k}, weights[index(value) - 1].kernels);
  }
  return ties;
}

void tie_transposed(const TransposedTies& ties, NodeWeights& gradients) {
  const auto phases = static_cast<std::size_t>(ties.phases);
  const std::size_t taps = ties.absent.size() / phases;
  const std::size_t of_phase = gradients.kernels.size() / phases;
  for (std::size_t i = 0; taps > 0 && i < gradients.kernels.size(); ++i) {
    if (ties.absent[i / of_phase * taps + i % taps]) gradients.kernels[i] = 0.0F;
  }
  const std::size_t channels = gradients.bias.size() / phases;
  for (std::size_t j = 0; j < channels; ++j) {
    double sum = 0.0;
    for (std::size_t at = j; at < gradients.bias.size(); at += channels) sum += static_cast<double>(gradients.bias[at]);
    for (std::size_t at = j; at < gradients.bias.size(); at += channels) gradients.bias[at] = static_cast<float>(sum);
  }
}

}  // namespace znni

// Random problems, tensors and weights. All follow from a seed, which a failing test prints. `ZNNI_TEST_SEED=n` repeats
// it; without it the seed is fixed, so that every run draws the same cases.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "primitives/core/problem.hpp"

namespace znni::test {

// Returns ZNNI_TEST_SEED, or 1.
[[nodiscard]] std::uint64_t base_seed();
// Returns the number of random cases per suite: ZNNI_TEST_CASES, or else `otherwise` divided by ZNNI_TEST_CASES_DIVISOR
// (1), at least 1.
[[nodiscard]] int case_count(int otherwise);

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15ULL + 1) {}

  // Returns a uniform number in [low, high], both included.
  [[nodiscard]] std::int64_t integer(std::int64_t low, std::int64_t high);
  [[nodiscard]] bool chance(double probability);
  [[nodiscard]] float normal();
  [[nodiscard]] Vec3 vec3(std::int64_t low, std::int64_t high) {
    const std::int64_t z = integer(low, high);
    const std::int64_t y = integer(low, high);
    return {z, y, integer(low, high)};
  }
  [[nodiscard]] std::vector<float> normals(std::int64_t count, float deviation = 1.0F);

 private:
  std::mt19937_64 engine_;
};

// Parameters of one problem that own their memory.
struct Weights {
  std::vector<float> kernels;
  std::vector<float> bias;
  std::vector<float> scale;
  std::vector<float> shift;
  [[nodiscard]] LayerWeights view() const { return {kernels, bias, scale, shift}; }
};

// Returns He-normal kernels and small biases (one problem in eight has none).
[[nodiscard]] Weights random_weights(const LayerProblem& problem, Random& random);
// Returns one dense planar tensor per input of the problem, standard normal.
[[nodiscard]] std::vector<std::vector<float>> random_inputs(const LayerProblem& problem, Random& random);
// Returns the same for a gradient of the problem: of an average of what lies inside some voxels at the border are
// outside, and divisors are not near 0.
[[nodiscard]] std::vector<std::vector<float>> random_trained_inputs(const LayerProblem& problem, Random& random);
// Returns standard normal voxels, those in a box at each end -infinity.
[[nodiscard]] std::vector<float> random_framed(const Shape5& shape, Random& random);

// Returns a legal problem that takes at most about `max_flops` of the textbook algorithm. Covers S 1-3, anisotropic n,
// k and dilation, even k and k = 1, f and f_out that are not multiples of 16, every activation, residuals.
[[nodiscard]] ConvProblem random_conv(Random& random, double max_flops = 4e7);
// Returns such a problem with a stride of up to 3 per axis, which is not 1 on all of them. Covers rests that are not
// read.
[[nodiscard]] ConvProblem random_strided_conv(Random& random, double max_flops = 4e7);
// Returns one of 2 to 20 groups, half of them of one channel each. Some have strides.
[[nodiscard]] ConvProblem random_grouped_conv(Random& random, double max_flops = 4e7);
// Returns a pooling; covers windows that differ from the stride, fragments of earlier poolings, both kinds.
[[nodiscard]] PoolProblem random_pool(Random& random, PoolMode mode);
// Returns one of which windows are dilated along some axes.
[[nodiscard]] PoolProblem random_dilated_pool(Random& random, PoolMode mode);
[[nodiscard]] PoolKind any_pool_kind(Random& random);
// Returns a convolution of up to `max_f` channels, sometimes dilated, and a pooling of either kind behind it.
// random_problem() does not draw these.
[[nodiscard]] ConvPoolProblem random_conv_pool(Random& random, std::int64_t max_f, double max_flops = 4e6);
// Returns the same without dilation, with max pooling over windows of two voxels along y and x and one or two along z.
[[nodiscard]] ConvPoolProblem random_conv_pool_of_pairs(Random& random, std::int64_t max_f, double max_flops = 4e6);
[[nodiscard]] Activation random_activation(Random& random);
[[nodiscard]] LayerProblem random_elementwise(Random& random);
// Returns an upsampling that moves voxels, nearest or shuffle, by up to 3 per axis, to channels that may fill blocks of
// 8 or 16 or not.
[[nodiscard]] UpsampleProblem random_upsample(Random& random);
// Returns one that interpolates, of extents that leave it a voxel or more.
[[nodiscard]] UpsampleProblem random_linear_upsample(Random& random);
[[nodiscard]] UpsampleProblem random_aligned_upsample(Random& random);
// Returns an instance or a group normalisation, of groups that may fill blocks of 8 or 16 or not. random_problem() does
// not draw these.
[[nodiscard]] NormProblem random_norm(Random& random);
// Returns what is made across channels but for a softmax, with the same reservation.
[[nodiscard]] AcrossChannelsProblem random_across(Random& random);
// Returns a pooling of all voxels of either kind, with the same reservation.
[[nodiscard]] GlobalPoolProblem random_global_pool(Random& random);
// Returns 1 to 12 stages of all kinds, along axes that are closed or open, with the same reservation.
[[nodiscard]] StackProblem random_stack(Random& random);
[[nodiscard]] AttentionProblem random_attention(Random& random);
[[nodiscard]] AddVolumeProblem random_add_volume(Random& random);
// Returns a reorder between planar and the layout of `width` channels per block, in either direction.
[[nodiscard]] ReorderProblem random_reorder(Random& random, std::int64_t width);
// Returns any of the others.
[[nodiscard]] LayerProblem random_problem(Random& random);

}  // namespace znni::test

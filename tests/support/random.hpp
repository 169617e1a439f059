// Random problems, tensors and weights. Everything follows from a seed, which is printed when a test fails
// (`ZNNI_TEST_SEED=n` repeats it; without it the seed is fixed, so that runs repeat).
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "primitives/core/problem.hpp"

namespace znni::test {

// ZNNI_TEST_SEED, or 1.
[[nodiscard]] std::uint64_t base_seed();
// Number of random cases per suite: ZNNI_TEST_CASES, or `otherwise`.
[[nodiscard]] int case_count(int otherwise);

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15ULL + 1) {}

  // Uniform in [low, high], both included.
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

// He-normal kernels, small biases (one problem in eight has none).
[[nodiscard]] Weights random_weights(const LayerProblem& problem, Random& random);
// One dense planar tensor per input of the problem, standard normal.
[[nodiscard]] std::vector<std::vector<float>> random_inputs(const LayerProblem& problem, Random& random);

// Legal problems that take at most about `most_flops` of the textbook algorithm: S 1-3, anisotropic n, k and
// dilation, even k and k = 1, f and f_out that are no multiples of 16, every activation, residuals.
[[nodiscard]] ConvProblem random_conv(Random& random, double most_flops = 4e7);
// Windows other than the stride, fragments of earlier poolings, both kinds.
[[nodiscard]] PoolProblem random_pool(Random& random, PoolMode mode);
// A convolution of up to `most_f` images, dilated at times, and a pooling of either kind behind it. Not among the
// problems of random_problem().
[[nodiscard]] ConvPoolProblem random_conv_pool(Random& random, std::int64_t most_f, double most_flops = 4e6);
// The same without dilation, and the largest of windows of two voxels along y and x, one or two along z.
[[nodiscard]] ConvPoolProblem random_conv_pool_of_pairs(Random& random, std::int64_t most_f, double most_flops = 4e6);
[[nodiscard]] Activation random_activation(Random& random);
[[nodiscard]] LayerProblem random_elementwise(Random& random);
// A reorder between planar and the layout of `width` images per block, either way round.
[[nodiscard]] ReorderProblem random_reorder(Random& random, std::int64_t width);
// Any of the others.
[[nodiscard]] LayerProblem random_problem(Random& random);

}  // namespace znni::test

#include "server/pipeline/schedule/swapped_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/network/swap_axes.hpp"

namespace znni {
namespace {

class SwappedKernels : public testing::Test {
 protected:
  SwappedKernels() {
    network_.nodes = {{"first", Convolution{2, {1, 2, 3}, Vec3::cube(1), {}}, {0}},
                      {"act", Activate{{ActivationKind::relu, 0.0F}}, {1}},
                      {"last", Convolution{1, {3, 1, 2}, Vec3::cube(1), {}}, {2}}};
    weights_ = random_weights(network_, 1);
    copies_.resize(static_cast<std::size_t>(kernel_bytes(network_)) / sizeof(float));
  }
  [[nodiscard]] std::vector<std::span<const float>> along(int axis) {
    const Geometry geometry = make_geometry(network_, {{4, 8, 8}, 1, {}, 0, axis != 0, axis}).value();
    return swapped_kernels(geometry, weights_, reinterpret_cast<std::byte*>(copies_.data()));
  }

  Network network_;
  NetworkWeights weights_;
  std::vector<float> copies_;
};

TEST_F(SwappedKernels, FillTheirMemoryNodeAfterNode) {
  for (const int axis : {1, 2}) {
    const std::vector<std::span<const float>> kernels = along(axis);
    ASSERT_EQ(kernels.size(), 3U);
    EXPECT_EQ(kernels[0].data(), copies_.data());
    EXPECT_TRUE(kernels[1].empty());
    EXPECT_EQ(kernels[2].data() + kernels[2].size(), copies_.data() + copies_.size());
    for (const std::size_t node : {0U, 2U}) {
      const Vec3 k = std::get<Convolution>(network_.nodes[node].operation).k;
      std::vector<float> wanted(weights_[node].kernels.size());
      swap_kernel_axes(weights_[node].kernels, k, axis, wanted);
      EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), kernels[node].begin(), kernels[node].end()));
    }
  }
}

TEST_F(SwappedKernels, AreNotNeededAlongZ) { EXPECT_TRUE(along(0).empty()); }

}  // namespace
}  // namespace znni

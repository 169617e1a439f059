#include "server/train/step/transposed.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

Network upsampled(UpsampleKind kind) {
  Network network;
  const Convolution conv{16, Vec3::cube(1), Vec3::cube(1), {}};
  network.nodes = {{"down", conv, {0}}, {"conv", conv, {1}}, {"up", Upsample{{1, 2, 2}, kind}, {2}}};
  return network;
}

TEST(Transposed, AreConvolutionsThatOnlyAShuffleReads) {
  EXPECT_EQ(transposed_phases(upsampled(UpsampleKind::shuffle)), (std::vector<std::int64_t>{1, 4, 1}));
  EXPECT_EQ(transposed_phases(upsampled(UpsampleKind::nearest)), (std::vector<std::int64_t>{1, 1, 1}));
  Network both = upsampled(UpsampleKind::shuffle);
  both.nodes.push_back({"crop", Crop{}, {2}});
  EXPECT_EQ(transposed_phases(both), (std::vector<std::int64_t>{1, 1, 1, 1}));
}

TEST(Transposed, VoxelsShareTheirBias) {
  NodeWeights weights{{1, 2, 3, 4}, {0, 0, 0, 0}, {}, {}};
  NodeWeights gradients{{5, 6, 7, 8}, {1, 10, 2, 20}, {}, {}};
  tie_transposed(2, weights, gradients);
  EXPECT_EQ(gradients.bias, (std::vector<float>{3, 30, 3, 30}));
  EXPECT_EQ(gradients.kernels, (std::vector<float>{5, 6, 7, 8}));
}

TEST(Transposed, KernelsHaveNoTapsMore) {
  NodeWeights weights{{1, 0, -0.0F, 4}, {}, {}, {}};
  NodeWeights gradients{{5, 6, 7, 8}, {}, {}, {}};
  tie_transposed(4, weights, gradients);
  EXPECT_EQ(gradients.kernels, (std::vector<float>{5, 0, 0, 8}));
}

}  // namespace
}  // namespace znni

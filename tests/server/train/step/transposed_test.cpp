#include "server/train/step/transposed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

Network upsampled(UpsampleKind kind) {
  Network network;
  const Convolution conv{16, Vec3::cube(1), Vec3::cube(1), {}};
  network.nodes = {{"down", conv, {0}}, {"conv", conv, {1}}, {"up", Upsample{{1, 2, 2}, kind}, {2}}};
  return network;
}

std::vector<std::int64_t> phases_of(const Network& network) {
  std::vector<std::int64_t> phases;
  for (const TransposedTies& ties : transposed_ties(network, NetworkWeights(network.nodes.size()))) {
    phases.push_back(ties.phases);
  }
  return phases;
}

// Returns the ties of kernels with `pairs` of channels, one number [phase][tap] each, of a row of 2 taps to 2 voxels.
TransposedTies ties_of_row(const std::vector<std::vector<float>>& pairs) {
  Network network;
  network.nodes = {{"conv", Convolution{2, {1, 1, 2}, Vec3::cube(1), {}}, {0}},
                   {"up", Upsample{{1, 1, 2}, UpsampleKind::shuffle}, {1}}};
  NetworkWeights weights(2);
  for (std::size_t phase = 0; phase < 2; ++phase) {
    for (const std::vector<float>& pair : pairs) {
      weights[0].kernels.insert(weights[0].kernels.end(), {pair[2 * phase], pair[2 * phase + 1]});
    }
  }
  return transposed_ties(network, weights)[0];
}

TEST(Transposed, AreConvolutionsThatOnlyAShuffleReads) {
  EXPECT_THAT(phases_of(upsampled(UpsampleKind::shuffle)), ElementsAre(1, 4, 1));
  EXPECT_THAT(phases_of(upsampled(UpsampleKind::nearest)), Each(1));
  Network both = upsampled(UpsampleKind::shuffle);
  both.nodes.push_back({"crop", Crop{}, {2}});
  EXPECT_THAT(phases_of(both), Each(1));
}

TEST(Transposed, VoxelsShareTheirBias) {
  NodeWeights gradients{{5, 6, 7, 8}, {1, 10, 2, 20}, {}, {}};
  tie_transposed({2, {}}, gradients);
  EXPECT_THAT(gradients.bias, ElementsAre(3, 30, 3, 30));
  EXPECT_THAT(gradients.kernels, ElementsAre(5, 6, 7, 8));
}

// 3 taps to 2 voxels: tap 3, the first one of the second voxel, is none. Those of 0 beside it are trained.
TEST(Transposed, KernelsHaveNoTapsMore) {
  const TransposedTies ties = ties_of_row({{1, 0, 0, 0}, {2, 3, -0.0F, 0}});
  EXPECT_THAT(ties.absent, ElementsAre(false, false, true, false));
  NodeWeights gradients{{1, 2, 3, 4, 5, 6, 7, 8}, {}, {}, {}};
  tie_transposed(ties, gradients);
  EXPECT_THAT(gradients.kernels, ElementsAre(1, 2, 3, 4, 0, 6, 0, 8));
}

// A zero in one pair of channels, or in all, is no absent tap.
TEST(Transposed, KernelsOfZerosAreTrained) {
  EXPECT_THAT(ties_of_row({{0, 0, 0, 0}, {0, 0, 0, 0}}).absent, IsEmpty());
  EXPECT_THAT(ties_of_row({{0, 0, 0, 0}, {0, 0, 1, 0}}).absent, IsEmpty());
}

}  // namespace
}  // namespace znni

// Networks with strides of their own, padded or valid: U-Nets and what is like them.
#pragma once

#include "tests/server/pipeline/padded_network.hpp"

namespace znni::test {

// Draws one or two levels: convolutions, then a max or average pooling, padded or not, or a strided convolution; the
// level below; then nearest neighbours, linear interpolation (in networks that are `linear`, in some places at least)
// or a transposed convolution, and a concatenation or an addition of what the level had. Kernels of 1 to 3, factors of
// 1 to 3 along each axis. `valid`: nothing pads, and skips are cropped to the middle.
[[nodiscard]] PaddedNetwork random_strided_network(Random& random, bool valid, bool linear = false);

// Draws a padded network, or a single level, in which convolutions read the voxels at the border again in place of
// zeros.
[[nodiscard]] PaddedNetwork random_edged_network(Random& random);

// Draws a network likewise, in which convolutions read the voxels beside the border reflected.
[[nodiscard]] PaddedNetwork random_reflecting_network(Random& random);

// Draws a network as the first function does, or a single level, and behind it a pooling or a strided convolution that
// none upsamples.
[[nodiscard]] PaddedNetwork random_coarse_network(Random& random, bool valid);

}  // namespace znni::test

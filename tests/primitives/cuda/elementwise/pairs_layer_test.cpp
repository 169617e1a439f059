#include "primitives/cuda/elementwise/pairs_layer.hpp"

#include <gtest/gtest.h>

#include "tests/primitives/cuda/no_gpu.hpp"

namespace znni::cuda {
namespace {

TEST(CudaPairsLayer, OtherDevicesAreRefused) {
  NoGpu other;
  for (const bool divides : {false, true}) EXPECT_FALSE(make_pairs_layer(other, divides).has_value());
}

}  // namespace
}  // namespace znni::cuda

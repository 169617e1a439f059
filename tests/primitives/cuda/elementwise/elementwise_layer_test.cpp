#include "primitives/cuda/elementwise/elementwise_layer.hpp"

#include <gmock/gmock.h>

#include "primitives/cuda/kernels/elementwise_kernel.hpp"
#include "tests/primitives/cuda/no_gpu.hpp"

namespace znni::cuda {
namespace {

TEST(ElementwiseLayer, OtherDevicesAreRefused) {
  NoGpu other;
  const Result<std::unique_ptr<PreparedLayer>> layer = make_elementwise_layer(other, {});
  ASSERT_FALSE(layer.has_value());
  EXPECT_EQ(layer.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(layer.error().message, ::testing::HasSubstr("'no GPU' is not a device of the CUDA back end"));
}

TEST(ElementwiseLayer, WidthsWithoutAKernelAreNotLaunched) {
  ElementwiseArg arg;
  arg.width = 3;
  EXPECT_EQ(launch_elementwise(arg, Storage::f32, nullptr), cudaErrorInvalidValue);
  arg.width = 1;
  EXPECT_EQ(launch_elementwise(arg, Storage::u8, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace znni::cuda

#include "primitives/cuda/elementwise/across_layer.hpp"

#include <gmock/gmock.h>

#include "primitives/cuda/kernels/across_kernel.hpp"
#include "tests/primitives/cuda/no_gpu.hpp"

namespace znni::cuda {
namespace {

// Kernels have the kinds in the problem's order.
static_assert(static_cast<int>(Across::softmax) == static_cast<int>(AcrossKind::softmax));
static_assert(static_cast<int>(Across::log_softmax) == static_cast<int>(AcrossKind::log_softmax));
static_assert(static_cast<int>(Across::arg_max) == static_cast<int>(AcrossKind::arg_max));
static_assert(static_cast<int>(Across::arg_max_last) == static_cast<int>(AcrossKind::arg_max_last));
static_assert(static_cast<int>(Across::norm) == static_cast<int>(AcrossKind::norm));

TEST(AcrossLayer, OtherDevicesAreRefused) {
  NoGpu other;
  Arena arena({});
  const AcrossChannelsProblem problem{{1, 3, {2, 2, 2}}};
  const Result<std::unique_ptr<PreparedLayer>> layer = prepare_across(problem, {}, {}, arena, other);
  ASSERT_FALSE(layer.has_value());
  EXPECT_THAT(layer.error().message, ::testing::HasSubstr("is not a device of the CUDA back end"));
}

TEST(AcrossLayer, TypesWithoutAKernelAreNotLaunched) {
  EXPECT_EQ(launch_across({}, Storage::u8, nullptr, nullptr, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace znni::cuda

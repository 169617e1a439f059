#include "primitives/cuda/conv/cudnn_descriptor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace znni::cuda {
namespace {

CudnnDescriptor tensor(std::int64_t first_extent) {
  const std::array<std::int64_t, 5> extents = {first_extent, 2, 3, 4, 5};
  const std::array<std::int64_t, 5> strides = {120, 60, 20, 5, 1};
  CudnnDescriptor descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, "tensor");
  descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  descriptor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, extents);
  descriptor.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, std::int64_t{7});
  descriptor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{16});
  return descriptor;
}

TEST(CudnnDescriptor, KeepsWhatItWasTold) {
  CudnnDescriptor descriptor = tensor(1);
  ASSERT_TRUE(descriptor.finalise().has_value());
  EXPECT_EQ(*descriptor.integer(CUDNN_ATTR_TENSOR_UNIQUE_ID), 7);
  EXPECT_THAT(descriptor.values<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 8),
              ::testing::ElementsAre(1, 2, 3, 4, 5));
  CudnnDescriptor moved = std::move(descriptor);
  EXPECT_EQ(*moved.integer(CUDNN_ATTR_TENSOR_UNIQUE_ID), 7);
}

TEST(CudnnDescriptor, TheFirstFailureIsToldWhenItIsFinalised) {
  CudnnDescriptor wrong = tensor(-1);
  const Result<void> made = wrong.finalise();
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::unsupported);
  EXPECT_THAT(made.error().message, ::testing::StartsWith("cuDNN tensor: "));
}

}  // namespace
}  // namespace znni::cuda

#include "primitives/cuda/device/status.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CudaStatus, SuccessIsNoError) {
  EXPECT_TRUE(check(cudaSuccess, "a"));
  EXPECT_TRUE(check(CUFFT_SUCCESS, "b"));
  EXPECT_TRUE(check(CUBLAS_STATUS_SUCCESS, "c"));
  EXPECT_TRUE(check(CUDNN_STATUS_SUCCESS, "d"));
}

TEST(CudaStatus, FailuresNameTheCallAndTheReason) {
  const Result<void> launch = check(cudaErrorInvalidValue, "pooling kernel");
  EXPECT_EQ(launch.error().code, ErrorCode::device_failure);
  EXPECT_THAT(launch.error().message, HasSubstr("pooling kernel: cudaErrorInvalidValue"));
  EXPECT_EQ(check(cudaErrorMemoryAllocation, "x").error().code, ErrorCode::over_budget);
  EXPECT_THAT(check(CUFFT_EXEC_FAILED, "x").error().message, HasSubstr("x: CUFFT_EXEC_FAILED"));
  EXPECT_EQ(check(cudaErrorIllegalAddress, "x").error().code, ErrorCode::device_lost);
  EXPECT_EQ(check(CUFFT_ALLOC_FAILED, "x").error().code, ErrorCode::over_budget);
  EXPECT_THAT(check(CUBLAS_STATUS_NOT_INITIALIZED, "x").error().message, HasSubstr("CUBLAS_STATUS_NOT_INITIALIZED"));
  const Result<void> declined = check(CUDNN_STATUS_NOT_SUPPORTED, "x");
  EXPECT_EQ(declined.error().code, ErrorCode::unsupported);
  EXPECT_THAT(declined.error().message, Not(HasSubstr("\n")));
  EXPECT_EQ(check(CUDNN_STATUS_EXECUTION_FAILED, "x").error().code, ErrorCode::device_failure);
}

}  // namespace
}  // namespace znni::cuda

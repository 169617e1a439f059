#include "primitives/cuda/device/lost_context.hpp"

#include <gtest/gtest.h>

namespace znni::cuda {
namespace {

// Numbers, as the driver and the kernel's log give them.
TEST(LostContext, FaultsOfKernelsAndOfTheHardwareLoseIt) {
  for (const int status : {214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911}) {
    EXPECT_TRUE(loses_context(static_cast<cudaError_t>(status))) << cudaGetErrorName(static_cast<cudaError_t>(status));
  }
}

TEST(LostContext, WantOfMemoryWrongCallsAndGpusInUseDoNot) {
  for (const cudaError_t status :
       {cudaSuccess, cudaErrorMemoryAllocation, cudaErrorInvalidValue, cudaErrorInvalidConfiguration, cudaErrorNoDevice,
        cudaErrorDevicesUnavailable, cudaErrorInsufficientDriver, cudaErrorNotReady, cudaErrorLaunchOutOfResources,
        cudaErrorNoKernelImageForDevice, cudaErrorSystemNotReady}) {
    EXPECT_FALSE(loses_context(status)) << cudaGetErrorName(status);
  }
}

}  // namespace
}  // namespace znni::cuda

// The GPU that tests run on. Without one they are skipped, with the reason; ZNNI_REQUIRE_GPU=1 makes that a failure.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string_view>

#include "primitives/cuda/device/cuda_device.hpp"

namespace znni::cuda {

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<GpuProperties> gpus = read_gpus();
    if (gpus.empty()) {
      const char* const required = std::getenv("ZNNI_REQUIRE_GPU");
      if (required != nullptr && std::string_view(required) == "1") FAIL() << "ZNNI_REQUIRE_GPU=1, but there is no GPU";
      GTEST_SKIP() << "no GPU, or no driver for it";
    }
    Result<std::unique_ptr<CudaDevice>> device =
        open_cuda_device(gpus.front(), std::int64_t{1} << 28, std::int64_t{1} << 28, std::int64_t{4} << 30, 2);
    ASSERT_TRUE(device.has_value()) << device.error().message;
    device_ = std::move(*device);
  }
  std::unique_ptr<CudaDevice> device_;
};

}  // namespace znni::cuda

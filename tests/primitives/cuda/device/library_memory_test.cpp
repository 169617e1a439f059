#include "primitives/cuda/device/library_memory.hpp"

#include <gmock/gmock.h>

#include "tests/primitives/cuda/require_gpu.hpp"

namespace znni::cuda {
namespace {

TEST(LibraryMemory, WithoutADriverTheGpuIsNamed) {
  if (!read_gpus().empty()) GTEST_SKIP() << "there is a GPU";
  const Result<GpuMemory> memory = measure_memory(h200());
  ASSERT_FALSE(memory.has_value());
  EXPECT_EQ(memory.error().code, ErrorCode::device_failure);
  EXPECT_THAT(memory.error().message, ::testing::HasSubstr("NVIDIA H200"));
}

class LibraryMemoryOnGpu : public OnGpu {};

// A device that is open has taken its budget: that much less is free.
TEST_F(LibraryMemoryOnGpu, WhatIsFreeIsLessThanAll) {
  const GpuProperties gpu = read_gpus().front();
  const Result<GpuMemory> memory = measure_memory(gpu);
  ASSERT_TRUE(memory.has_value()) << memory.error().message;
  EXPECT_GT(memory->free, 0);
  EXPECT_LE(memory->free, gpu.memory_bytes - device_->budget(MemorySpace::device));
  EXPECT_GE(memory->libraries, late_code_bytes);
  EXPECT_LT(memory->libraries, std::int64_t{4} << 30);
  RecordProperty("library_mebibytes", static_cast<int>(memory->libraries >> 20));
}

}  // namespace
}  // namespace znni::cuda

#include "server/pipeline/split/gpu_failure.hpp"

#include <gtest/gtest.h>

#include "tests/support/host_sim.hpp"

namespace znni {
namespace {

// Returns what the simulated GPU makes of a library's failure once a piece of its work has failed with `code`.
Error seen(ErrorCode failure, ErrorCode code) {
  test::HostSim gpu;
  gpu.fail_work(1, code);
  static_cast<void>(gpu.launch(Stream::compute, 0, [] {}));
  return with_cause({failure, "the library failed"}, gpu);
}

TEST(GpuFailure, IsTheGpusOrForWantOfMemory) {
  EXPECT_TRUE(is_gpu_failure(ErrorCode::device_failure));
  EXPECT_TRUE(is_gpu_failure(ErrorCode::device_lost));
  EXPECT_TRUE(is_gpu_failure(ErrorCode::over_budget));
  EXPECT_FALSE(is_gpu_failure(ErrorCode::cancelled));
  EXPECT_FALSE(is_gpu_failure(ErrorCode::internal));
}

TEST(GpuFailure, OfALibraryIsThatOfALostGpuWhereTheGpuSaysSo) {
  const Error found = seen(ErrorCode::device_failure, ErrorCode::device_lost);
  EXPECT_EQ(found.code, ErrorCode::device_lost);
  EXPECT_EQ(found.message, "the library failed; work failed, as the test asked");
}

TEST(GpuFailure, IsLeftAsItIsWhereTheGpuMayWorkAgain) {
  const Error found = seen(ErrorCode::device_failure, ErrorCode::device_failure);
  EXPECT_EQ(found.code, ErrorCode::device_failure);
  EXPECT_EQ(found.message, "the library failed");
}

TEST(GpuFailure, OfMemoryIsNoLoss) {
  EXPECT_EQ(seen(ErrorCode::over_budget, ErrorCode::device_lost).code, ErrorCode::over_budget);
}

}  // namespace
}  // namespace znni

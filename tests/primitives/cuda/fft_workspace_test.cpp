// The order in which a work area is lent to cuBLAS, with a cuBLAS that only takes notes. A program of its own, because
// its functions take the place of the library's.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "primitives/cuda/fft/fft_products.hpp"

namespace {

std::vector<std::string> calls;                           // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
cublasStatus_t answer_to_stream = CUBLAS_STATUS_SUCCESS;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

cublasStatus_t cublasSetStream(cublasHandle_t /*handle*/, cudaStream_t /*stream*/) {
  calls.emplace_back("stream");
  return answer_to_stream;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t /*handle*/, void* /*workspace*/, std::size_t bytes) {
  calls.push_back("workspace of " + std::to_string(bytes));
  return CUBLAS_STATUS_SUCCESS;
}

namespace znni::cuda {
namespace {

// A stream that is set takes the workspace away: the library would use memory of its own, outside the budget.
TEST(FftWorkspace, IsLentBehindTheStream) {
  std::array<std::byte, 64> area{};
  calls.clear();
  ASSERT_TRUE(lend_workspace(nullptr, nullptr, area));
  EXPECT_EQ(calls, (std::vector<std::string>{"stream", "workspace of 64"}));
}

TEST(FftWorkspace, IsNotLentWhereTheStreamIsRefused) {
  std::array<std::byte, 64> area{};
  calls.clear();
  answer_to_stream = CUBLAS_STATUS_NOT_INITIALIZED;
  const Result<void> refused = lend_workspace(nullptr, nullptr, area);
  answer_to_stream = CUBLAS_STATUS_SUCCESS;
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("cublasSetStream"), std::string::npos);
  EXPECT_EQ(calls, std::vector<std::string>{"stream"});
}

}  // namespace
}  // namespace znni::cuda

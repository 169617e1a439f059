#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "primitives/core/modules.hpp"
#include "primitives/cuda/device/gpu_properties.hpp"

namespace znni {
namespace {

// The file as programs find it, opened as they do.
TEST(CudaModule, OpensWithoutADriver) {
  const auto file = find_module("cuda", program_folder() / ".." / "bin");
  ASSERT_TRUE(file.has_value()) << "no " << module_file("cuda") << " beside the programs";
  const Result<const Backend*> backend = open_module(*file);
  ASSERT_TRUE(backend.has_value()) << backend.error().message;
  EXPECT_EQ((*backend)->name, "cuda");
  EXPECT_FALSE((*backend)->primitives.empty());
  EXPECT_EQ((*backend)->probe().size(), cuda::read_gpus().size());
}

TEST(CudaModule, DescribesForAGpuThatIsNotHere) {
  const Result<const Backend*> backend = open_module(*find_module("cuda", program_folder() / ".." / "bin"));
  ASSERT_TRUE(backend.has_value()) << backend.error().message;
  const PoolProblem pool{.in = {1, 80, {9, 9, 9}}, .mode = PoolMode::fragments};
  int taken = 0;
  for (const Primitive* primitive : (*backend)->primitives) {
    taken += primitive->describe(pool, cuda::spec_of(cuda::h200())).has_value() ? 1 : 0;
  }
  EXPECT_EQ(taken, 1);
}

}  // namespace
}  // namespace znni

#include "primitives/core/accelerator_spec.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

TEST(LinkRate, IsAlphaPlusBytesOverBeta) {
  const LinkRate link{1e-3, 1e9};
  EXPECT_DOUBLE_EQ(link.seconds(0), 1e-3);
  EXPECT_DOUBLE_EQ(link.seconds(5e8), 0.501);
}

TEST(AcceleratorSpec, OfNoGpuIsOfNoMemory) {
  EXPECT_EQ(AcceleratorSpec().memory_bytes, 0);
  EXPECT_EQ(AcceleratorSpec(), AcceleratorSpec());
}

}  // namespace
}  // namespace znni

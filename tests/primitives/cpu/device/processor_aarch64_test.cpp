#include <gtest/gtest.h>

#include "primitives/cpu/device/processor.hpp"

namespace znni::cpu {
namespace {

TEST(ProcessorAarch64, HasTwoUnitsOfFourFloats) {
  const VectorUnits units = read_vector_units();
  EXPECT_EQ(units.floats, 4);
  EXPECT_DOUBLE_EQ(units.flops_per_cycle, 2 * 2 * 4);
}

}  // namespace
}  // namespace znni::cpu

#include <gtest/gtest.h>

#include "primitives/cpu/device/processor.hpp"
#include "tests/support/temporary.hpp"

namespace znni::cpu {
namespace {

TEST(ProcessorX86, CountsHalvedVectorsOfFamily25Once) {
  const test::TemporaryDirectory root;
  const double whole = read_vector_units(root.path()).flops_per_cycle;
  root.write("proc/cpuinfo", "vendor_id\t: AuthenticAMD\ncpu family\t: 25\n");
  const VectorUnits halved = read_vector_units(root.path());
  EXPECT_DOUBLE_EQ(halved.flops_per_cycle, halved.floats == 16 ? whole / 2 : whole);
  root.write("proc/cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 25\n");
  EXPECT_DOUBLE_EQ(read_vector_units(root.path()).flops_per_cycle, whole);
}

// This code itself is built for x86-64-v3.
TEST(ProcessorX86, HasAtLeastEightFloats) { EXPECT_GE(read_vector_units().floats, 8); }

}  // namespace
}  // namespace znni::cpu

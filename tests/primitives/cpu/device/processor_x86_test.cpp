#include <gtest/gtest.h>

#include <string>

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

TEST(ProcessorX86, CountsBf16TwiceWhereItIsAsWideAsFloat32) {
  const test::TemporaryDirectory root;
  const auto rate = [&](const char* vendor, int family) {
    root.write("proc/cpuinfo",
               std::string("vendor_id\t: ") + vendor + "\ncpu family\t: " + std::to_string(family) + "\n");
    const VectorUnits units = read_vector_units(root.path());
    return units.bf16_flops_per_cycle / units.flops_per_cycle;
  };
  const bool has_it = rate("GenuineIntel", 6) > 0;
  EXPECT_DOUBLE_EQ(rate("GenuineIntel", 6), has_it ? 1.0 : 0.0);
  EXPECT_DOUBLE_EQ(rate("AuthenticAMD", 25), has_it ? 1.0 : 0.0);
  EXPECT_DOUBLE_EQ(rate("AuthenticAMD", 26), has_it ? 2.0 : 0.0);
}

// This code itself is built for x86-64-v3.
TEST(ProcessorX86, HasAtLeastEightFloats) { EXPECT_GE(read_vector_units().floats, 8); }

}  // namespace
}  // namespace znni::cpu

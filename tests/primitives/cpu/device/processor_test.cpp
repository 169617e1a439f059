#include "primitives/cpu/device/processor.hpp"

#include <gtest/gtest.h>

#include "tests/support/temporary.hpp"

namespace znni::cpu {
namespace {

TEST(Processor, ReadsModelAndHighestClock) {
  const test::TemporaryDirectory root;
  root.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Test 9000\nmodel name\t: Other\n");
  root.write("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "4100000\n");
  const Processor processor = read_processor(root.path());
  EXPECT_EQ(processor.model, "Test 9000");
  EXPECT_DOUBLE_EQ(processor.hertz, 4.1e9);
}

TEST(Processor, TakesTheClockFromTheModelsName) {
  const test::TemporaryDirectory root;
  root.write("proc/cpuinfo", "model name\t: Test CPU @ 2.60GHz\n");
  EXPECT_DOUBLE_EQ(read_processor(root.path()).hertz, 2.6e9);
}

TEST(Processor, AssumesAUsualClockWhereNothingIsKnown) {
  const test::TemporaryDirectory root;
  const Processor processor = read_processor(root.path());
  EXPECT_EQ(processor.model, "unknown processor");
  EXPECT_DOUBLE_EQ(processor.hertz, 3.6e9);
}

TEST(Processor, NamesArmsByTheirNumbers) {
  const test::TemporaryDirectory root;
  root.write("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n");
  EXPECT_EQ(read_processor(root.path()).model, "implementer 0x41, part 0xd0c");
}

TEST(Processor, OfThisMachineHasAKnownVectorWidth) {
  const Processor processor = read_processor();
  const int simd_floats = processor.simd_floats;
  EXPECT_EQ(simd_floats, read_vector_units().floats);
  EXPECT_DOUBLE_EQ(processor.flops_per_cycle, read_vector_units().flops_per_cycle);
  EXPECT_TRUE(simd_floats == 16 || simd_floats == 8 || simd_floats == 4) << simd_floats;
  EXPECT_EQ(simd_name(16), "avx512");
  EXPECT_EQ(simd_name(8), "avx2");
  EXPECT_EQ(simd_name(4), "simd4");
}

}  // namespace
}  // namespace znni::cpu

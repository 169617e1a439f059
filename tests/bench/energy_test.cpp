#include "tests/bench/energy.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace znni::bench {
namespace {

class EnergyTest : public testing::Test {
 protected:
  EnergyTest() { std::filesystem::remove_all(folder_); }
  ~EnergyTest() override { std::filesystem::remove_all(folder_); }

  void set(const std::string& counter, std::int64_t energy, std::int64_t range = 1'000'000'000) {
    std::filesystem::create_directories(folder_ / counter);
    std::ofstream(folder_ / counter / "energy_uj") << energy << "\n";
    std::ofstream(folder_ / counter / "max_energy_range_uj") << range << "\n";
  }

  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "bench_energy";
};

TEST_F(EnergyTest, PackagesAreSummedAndTheirPartsAreNot) {
  set("intel-rapl:0", 5'000'000);
  set("intel-rapl:1", 1'000'000);
  set("intel-rapl:0:0", 0);
  EnergyMeter meter(folder_);
  ASSERT_TRUE(meter.readable());
  meter.start();
  set("intel-rapl:0", 7'500'000);
  set("intel-rapl:1", 2'000'000);
  set("intel-rapl:0:0", 900'000'000);
  EXPECT_DOUBLE_EQ(meter.stop().value_or(0), 3.5);
}

TEST_F(EnergyTest, ACounterMayBeginAnew) {
  set("intel-rapl:0", 9'000'000, 10'000'000);
  EnergyMeter meter(folder_);
  meter.start();
  set("intel-rapl:0", 500'000, 10'000'000);
  EXPECT_DOUBLE_EQ(meter.stop().value_or(0), 1.5);
}

TEST_F(EnergyTest, WithoutCountersNothingIsSaid) {
  EnergyMeter meter(folder_ / "none");
  EXPECT_FALSE(meter.readable());
  meter.start();
  EXPECT_FALSE(meter.stop());
}

}  // namespace
}  // namespace znni::bench

#include "tests/bench/energy.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/temporary.hpp"

namespace znni::bench {
namespace {

class EnergyTest : public testing::Test {
 protected:
  void set(const std::string& counter, std::int64_t energy, std::int64_t range = 1'000'000'000) {
    directory_.write(counter + "/energy_uj", std::to_string(energy) + "\n");
    directory_.write(counter + "/max_energy_range_uj", std::to_string(range) + "\n");
  }

  const test::TemporaryDirectory directory_;
  const std::filesystem::path folder_ = directory_.path();
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

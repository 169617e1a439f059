#include "planner/measure/measured_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/planner/plain_device.hpp"

namespace znni {
namespace {

constexpr std::array<const Primitive*, 1> primitives = {&plain::mean};
std::vector<DeviceSpec> probe() { return {DeviceSpec{}}; }
Result<std::unique_ptr<Device>> open(const DeviceSpec& spec, std::int64_t host, std::int64_t, std::int64_t) {
  return std::unique_ptr<Device>(std::make_unique<plain::PlainDevice>(spec, host));
}
constexpr Backend backend = {"plain", probe, open, primitives};
constexpr std::array<const Backend*, 1> backends = {&backend};

class PlannerMeasuredSearch : public testing::Test {
 protected:
  PlannerMeasuredSearch() {
    network_.name = "net";
    network_.nodes = {{"conv", Convolution{2, Vec3::cube(2), Vec3::cube(1), {}}, {0}}, {"soft", AcrossChannels{}, {1}}};
    search_.memory_limit = 1 << 20;
    search_.max_extent = 8;
    search_.max_S = 1;
    measure_.memory_limit = 1 << 20;
    measure_.enough = 1e-9;
  }

  Result<Plan> run() {
    const Catalogue catalogue = *Catalogue::make(backends);
    Measurer measurer([this](std::int64_t bytes) { return open(spec_, bytes, 0, 0); }, spec_, timings_, measure_, {});
    return measured_search(network_, spec_, catalogue, measurer, search_,
                           [this](const std::string& line) { lines_.push_back(line); });
  }

  Network network_;
  DeviceSpec spec_;
  Timings timings_;
  SearchOptions search_;
  MeasureOptions measure_;
  std::vector<std::string> lines_;
};

TEST_F(PlannerMeasuredSearch, EndsWithAPlanOfMeasuredTimes) {
  const Result<Plan> plan = run();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->predicted.basis, Basis::measured);
  EXPECT_GE(timings_.records().size(), 2U);
  ASSERT_FALSE(lines_.empty());
  EXPECT_EQ(lines_.front(), "searching patches");
  EXPECT_TRUE(
      std::any_of(lines_.begin(), lines_.end(), [](const auto& line) { return line.starts_with("best so far "); }));
}

TEST_F(PlannerMeasuredSearch, ASecondRunNeedsNothingNewForItsPlan) {
  ASSERT_TRUE(run());
  const std::size_t records = timings_.records().size();
  const Result<Plan> again = run();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->predicted.basis, Basis::recorded);
  EXPECT_EQ(timings_.records().size(), records);
}

TEST_F(PlannerMeasuredSearch, WithoutTimeThePlanIsModelled) {
  measure_.time_limit = 0;
  const Result<Plan> plan = run();
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->predicted.basis, Basis::model);
  EXPECT_TRUE(timings_.records().empty());
}

TEST_F(PlannerMeasuredSearch, StoppedItStillPlansWithWhatItHas) {
  int polls = 0;
  search_.stop = [&] { return ++polls > 2; };
  const Result<Plan> plan = run();
  ASSERT_TRUE(plan) << plan.error().message;
}

TEST_F(PlannerMeasuredSearch, LayersTooLargeToMeasureKeepTheirModel) {
  measure_.memory_limit = 64;
  const Result<Plan> plan = run();
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->predicted.basis, Basis::model);
}

TEST_F(PlannerMeasuredSearch, RefusalsPassThrough) {
  search_.memory_limit = 100;
  const Result<Plan> plan = run();
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::over_budget);
}

}  // namespace
}  // namespace znni

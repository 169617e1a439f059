#include "server/pipeline/prepared_segment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/support/host_sim.hpp"

namespace znni {
namespace {

class PreparedSegmentTest : public testing::Test {
 protected:
  [[nodiscard]] SegmentDesign part(int theta, std::size_t which) const {
    const GeometryChoice choice = test::choice_of(network_, PoolMode::fragments, 0);
    const Rung rung = test::split_rung(network_, choice, theta, 0, cpu_->spec(), test::host_sim_spec()).value();
    return std::move(take_apart(network_, rung, test::split_catalogue(), {cpu_->spec(), test::host_sim_spec()})
                         .value()
                         .segments[which]);
  }

  std::unique_ptr<Device> cpu_ = test::host_device(std::int64_t{1} << 28);
  Network network_ = test::simple_network(1);
  NetworkWeights weights_ = random_weights(network_, 3);
};

TEST_F(PreparedSegmentTest, ReservesWhatItsScheduleDeclaresAndGivesItBack) {
  test::HostSim gpu;
  {
    const SegmentDesign design = part(1, 1);
    const std::int64_t persistent = persistent_bytes(design.schedule.memory, MemorySpace::device);
    const std::int64_t transient = pack(design.schedule.memory, MemorySpace::device).bytes;
    ASSERT_TRUE(PreparedSegment::open(design, weights_, {gpu, &gpu}));
    const Result<PreparedSegment> segment = PreparedSegment::open(design, weights_, {gpu, &gpu});
    ASSERT_TRUE(segment) << segment.error().message;
    EXPECT_GE(gpu.reserved(MemorySpace::device), persistent + transient);
    EXPECT_LE(gpu.reserved(MemorySpace::device), persistent + transient + 64 * 8);
    EXPECT_EQ(gpu.reserved(MemorySpace::pinned), 0);
  }
  EXPECT_EQ(gpu.reserved(MemorySpace::device), 0);
}

TEST_F(PreparedSegmentTest, StopsBetweenLayersAndNamesTheNodeOfAnError) {
  Result<PreparedSegment> head = PreparedSegment::open(part(1, 0), weights_, *cpu_);
  ASSERT_TRUE(head);
  std::stop_source stop;
  stop.request_stop();
  std::vector<float> in(static_cast<std::size_t>(elements(head->design().group_input())));
  std::vector<float> out(static_cast<std::size_t>(elements(head->design().group_output())));
  const TensorView output = dense_view(out.data(), head->design().group_output());
  EXPECT_EQ(head->run(in.data(), output, 0, stop.get_token()).error().code, ErrorCode::cancelled);
  EXPECT_TRUE(head->run(in.data(), output, 0, {}));

  test::HostSimOptions options;
  options.device_budget = 1024;
  test::HostSim small(options);
  const Result<PreparedSegment> tail = PreparedSegment::open(part(1, 1), weights_, {small, &small});
  ASSERT_FALSE(tail);
  EXPECT_EQ(tail.error().code, ErrorCode::over_budget);
}

}  // namespace
}  // namespace znni

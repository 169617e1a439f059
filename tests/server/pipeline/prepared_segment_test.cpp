#include "server/pipeline/prepared_segment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/server/pipeline/streams.hpp"
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

// The head computes at the same time, and its executor takes one job at a time.
TEST_F(PreparedSegmentTest, StreamsThroughHostRamWhileTheCpuComputes) {
  network_ = test::simple_network(0);
  weights_ = random_weights(network_, 3);
  test::HostSim gpu;
  test::Random random(1);
  const GeometryChoice choice = test::stream_of(network_, 2, 200);
  const int nodes = static_cast<int>(network_.nodes.size());
  const Rung rung = test::rung_of_three(network_, choice, 0, nodes, cpu_->spec(), gpu.spec(), random).value();
  RungSegments parts = take_apart(network_, rung, test::split_catalogue(), {cpu_->spec(), gpu.spec()}).value();
  Result<PreparedSegment> segment = PreparedSegment::open(parts.segments[0], weights_, {*cpu_, &gpu});
  ASSERT_TRUE(segment) << segment.error().message;
  const Schedule& schedule = segment->design().schedule;
  ASSERT_FALSE(schedule.histories.empty());
  ASSERT_GT(schedule.memory[static_cast<std::size_t>(schedule.histories[0].buffer)].bytes, 1 << 18)
      << "larger than what one thread copies alone";
  std::vector<float> in(static_cast<std::size_t>(elements(segment->design().group_tensor())));
  std::vector<float> out(static_cast<std::size_t>(elements(segment->design().group_output())));
  const TensorView output = dense_view(out.data(), segment->design().group_output());
  cpu_->executor().parallel_for(1, [&](std::int64_t, int) {
    EXPECT_TRUE(segment->forget());
    EXPECT_TRUE(segment->run(in.data(), output, 0, {}));
  });
}

}  // namespace
}  // namespace znni

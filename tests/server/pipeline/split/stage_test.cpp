#include "server/pipeline/split/stage.hpp"

#include <gtest/gtest.h>

#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/support/host_sim.hpp"

namespace znni {
namespace {

using Floats = std::vector<float>;

class StageTest : public testing::Test {
 protected:
  // Returns a segment of nodes [first, end of the net) in micro-batches on one place.
  [[nodiscard]] SegmentDesign tail(int first, std::int64_t micro_batch, Place place) const {
    const GeometryChoice choice = test::choice_of(network_, PoolMode::fragments, 0, 2);
    Rung rung = test::split_rung(network_, choice, first, micro_batch, cpu_->spec(), test::host_sim_spec()).value();
    if (place == Place::cpu) {
      const int nodes = static_cast<int>(network_.nodes.size());
      const Rung whole = test::split_rung(network_, choice, nodes, 0, cpu_->spec(), test::host_sim_spec()).value();
      rung.segments.back().place = place;
      rung.segments.back().steps.assign(whole.segments[0].steps.begin() + first, whole.segments[0].steps.end());
    }
    auto parts = take_apart(network_, rung, test::split_catalogue(), {cpu_->spec(), test::host_sim_spec()});
    return std::move(parts.value().segments.back());
  }
  [[nodiscard]] Floats input(const SegmentDesign& design) const {
    test::Random random(5);
    return random.normals(elements(design.whole_input()));
  }
  [[nodiscard]] Floats on_cpu(int first, std::int64_t micro_batch) const {
    HostStage stage = std::move(HostStage::open(tail(first, micro_batch, Place::cpu), weights_, *cpu_).value());
    Floats in = input(stage.design());
    Floats out(static_cast<std::size_t>(elements(stage.design().whole_output())));
    EXPECT_TRUE(stage.run(in.data(), dense_view(out.data(), stage.design().whole_output()), 0, {}));
    return out;
  }
  [[nodiscard]] Floats on_gpu(int first, std::int64_t micro_batch, test::HostSim& gpu) const {
    GpuStage stage =
        std::move(GpuStage::open(tail(first, micro_batch, Place::gpu), weights_, gpu, gpu.poison()).value());
    const Floats in = input(stage.design());
    const std::int64_t out_bytes = tensor_bytes(stage.design().whole_output(), {});
    const Reservation from = std::move(gpu.reserve(MemorySpace::pinned, std::ssize(in) * 4, "in").value());
    const Reservation to = std::move(gpu.reserve(MemorySpace::pinned, out_bytes, "out").value());
    std::copy(in.begin(), in.end(), reinterpret_cast<float*>(from.data()));
    auto* const out = reinterpret_cast<float*>(to.data());
    EXPECT_TRUE(stage.run(reinterpret_cast<const float*>(from.data()), out, 0, {}));
    return {out, out + out_bytes / 4};
  }

  std::unique_ptr<Device> cpu_ = test::host_device(std::int64_t{1} << 28);
  Network network_ = test::simple_network(2, {2, 3, 2}, 2);
  NetworkWeights weights_ = random_weights(network_, 3);
};

TEST_F(StageTest, GroupsGiveWhatTheWholeGives) {
  for (const int first : {1, 2, 3, 4}) {
    const Floats whole = on_cpu(first, 0);
    for (const std::int64_t micro_batch : {1, 2}) {
      EXPECT_EQ(on_cpu(first, micro_batch), whole) << first << " " << micro_batch;
    }
  }
}

TEST_F(StageTest, TheGpuGivesWhatTheCpuGivesInAnyOrderOfWork) {
  for (const int first : {1, 2, 4}) {
    const Floats whole = on_cpu(first, 0);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      test::HostSimOptions options;
      options.seed = seed;
      test::HostSim gpu(options);
      const Floats found = on_gpu(first, seed % 2 == 0 ? 1 : 2, gpu);
      ASSERT_EQ(found.size(), whole.size());
      for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(found[i], whole[i], 1e-4) << seed << " " << i;
    }
  }
}

// With micro-batches, copies and work overlap: the whole takes less than the sum of its parts.
TEST_F(StageTest, GroupsOverlapCopiesWithWork) {
  test::HostSimOptions options;
  options.spec.accelerator.up.seconds_per_copy = options.spec.accelerator.down.seconds_per_copy = 0;
  test::HostSim as_it_is(options);
  static_cast<void>(on_gpu(2, 1, as_it_is));
  // A link that is as busy as the arithmetic.
  const test::SimStreams& clock = as_it_is.clock();
  options.spec.accelerator.up.bytes_per_second *= clock.busy(Stream::upload) / clock.busy(Stream::compute);
  options.spec.accelerator.down.bytes_per_second *= clock.busy(Stream::download) / clock.busy(Stream::compute);
  test::HostSim gpu(options);
  static_cast<void>(on_gpu(2, 1, gpu));
  double sum = 0;
  for (const Stream stream : {Stream::upload, Stream::compute, Stream::download}) sum += gpu.clock().busy(stream);
  EXPECT_LT(gpu.clock().now(), 0.6 * sum);
}

TEST_F(StageTest, ReportsFailedWorkAndLeavesNothingUnderWay) {
  test::HostSimOptions options;
  options.seed = 3;
  test::HostSim gpu(options);
  GpuStage stage = std::move(GpuStage::open(tail(2, 1, Place::gpu), weights_, gpu).value());
  const Reservation block = std::move(gpu.reserve(MemorySpace::pinned, 1 << 20, "both").value());
  auto* const floats = reinterpret_cast<float*>(block.data());
  gpu.fail_work(4);
  const Result<void> ran = stage.run(floats, floats + (1 << 17), 0, {});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::device_failure);
}

}  // namespace
}  // namespace znni

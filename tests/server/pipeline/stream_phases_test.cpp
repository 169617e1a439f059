// Streams in several phases: each has the column for itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/streams.hpp"

namespace znni {
namespace {

using test::EngineBench;
using test::JobOutcome;
using test::Random;
using test::RandomVolume;
using testing::ElementsAre;

TEST(StreamPhases, WindowsEqualIndependentPatchesBitByBit) {
  const Network network = test::simple_network(2);
  Random random(5);
  const RandomVolume volume = test::random_volume(1, {45, 31, 30}, ElementType::f32, random);
  const EngineBench patches = test::open_bench(network, {test::choice_of(network, PoolMode::fragments, 1)});
  const std::vector<float> wanted = test::output_values(test::run_job(*patches.engine, volume.view()));
  for (const int axis : {0, 1, 2}) {
    for (const std::int64_t step : {0, 3}) {
      GeometryChoice one = test::phases_of(network, 8, step, axis);
      GeometryChoice two = one;  // 16 windows
      two.modes[1] = {{1, 2, 2}, false};
      for (const int across : {1, 2}) {
        two.pass_input[across] = legal_extents(network, two.modes, across, 400)[static_cast<std::size_t>(step)];
      }
      GeometryChoice held = one;  // each phase has two passes
      held.modes[1] = {{2, 1, 1}, true};
      GeometryChoice slabs = one;
      slabs.stem_slab = 1;
      for (const GeometryChoice& choice : {one, two, held, slabs}) {
        SCOPED_TRACE(test::text_of(choice));
        const EngineBench made = test::open_bench(network, {choice});
        EXPECT_EQ(test::output_values(test::run_job(*made.engine, volume.view())), wanted);
        EXPECT_EQ(test::output_values(test::run_job(*made.engine, volume.view())), wanted);
      }
    }
  }
}

TEST(StreamPhases, AColumnDeliversAfterTheLast) {
  const Network network = test::simple_network(1);
  const EngineBench made = test::open_bench(network, {test::phases_of(network, 8, 0)});
  const EngineBench at_once = test::open_bench(network, {test::stream_of(network, 8, 0)});
  EXPECT_LT(made.engine->reserved_bytes(), at_once.engine->reserved_bytes());
  Random random(2);
  const RandomVolume volume = test::random_volume(1, {18, 9, 9}, ElementType::f32, random);
  const JobOutcome whole = test::run_job(*made.engine, volume.view());
  EXPECT_EQ(whole.statistics->patches, 4 * 3);
  EXPECT_THAT(whole.calls, ElementsAre("slab 0+11", "done 1/12 0", "done 2/12 0", "done 3/12 0", "done 4/12 0",
                                       "done 5/12 0", "done 6/12 0", "done 7/12 0", "done 8/12 0", "done 9/12 0",
                                       "done 10/12 0", "done 11/12 0", "deliver 0+11", "done 12/12 11"));
  const JobEstimate estimate = *made.engine->estimate(volume.shape);
  EXPECT_EQ(estimate.patches, 12);
  EXPECT_EQ(estimate.input_planes, 18);
  EXPECT_DOUBLE_EQ(estimate.predicted_seconds, 12 * made.plan.ladder[0].seconds);
  const JobOutcome bands =
      test::run_holding(made, volume, test::held_for(9, made, volume.shape));  // bands of 9 fill 2 steps
  EXPECT_EQ(bands.statistics->patches, 4 * 2 + (1 + 3 * 2));                   // the last phase goes on
  EXPECT_THAT(bands.calls, testing::IsSupersetOf({"slab 0+9", "slab 9+2", "deliver 9+2"}));
  EXPECT_EQ(test::output_values(bands), test::output_values(whole));
  EXPECT_EQ(test::output_values(whole), test::output_values(test::run_job(*at_once.engine, volume.view())));
}

}  // namespace
}  // namespace znni

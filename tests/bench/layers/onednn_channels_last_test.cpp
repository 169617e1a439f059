#include "tests/bench/layers/onednn_channels_last.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/layers/layer_bench.hpp"
#include "tests/support/cpu.hpp"

namespace znni::bench {
namespace {

using testing::HasSubstr;

TEST(OnednnChannelsLast, IsRightWhateverTheNumberOfChannels) {
  const std::unique_ptr<Device> device = test::open_cpu(2);
  const Primitive* const rows[] = {&onednn_channels_last};
  for (const std::int64_t f : {16, 17, 80}) {
    const ConvProblem problem{{2, f, {6, 7, 18}}, 32, {3, 1, 3}, Vec3::cube(1), Vec3::cube(1), {}};
    const auto times = run_layer(problem, rows, {device.get(), 1, {}, {}});
    // It refuses if the library has only reference code for the machine or for these channels.
    if (!times) {
      EXPECT_THAT(times.error().message, HasSubstr("no primitive ran"));
      continue;
    }
    EXPECT_LT(times->front().error, 1e-4);
    EXPECT_EQ(times->front().in.layout, Layout::channels_last);
    EXPECT_EQ(times->front().out.layout, Layout::channels_last);
  }
}

TEST(OnednnChannelsLast, OtherLayersAreRefused) {
  const std::unique_ptr<Device> device = test::open_cpu(1);
  const auto offered = onednn_channels_last.describe(ReorderProblem{{1, 2, Vec3::cube(3)}, {}, {}}, device->spec());
  ASSERT_FALSE(offered);
  EXPECT_THAT(offered.error().message, HasSubstr("bench.conv.onednn_channels_last"));
}

}  // namespace
}  // namespace znni::bench

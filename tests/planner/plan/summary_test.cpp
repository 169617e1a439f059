#include "planner/plan/summary.hpp"

#include <algorithm>

#include "tests/planner/planned.hpp"

namespace znni {
namespace {

TEST(PlannerSummary, NamesNodesPrimitivesPatchesAndMemory) {
  const test::Planned planned;
  const std::string text = summary(planned.plan);
  for (const char* word :
       {"chain on drawn device, strategy cpu, precision fp32", "voxels/s", "border cost", "conv1", "pool1", "conv2",
        "relu2", "conv3", "drawn.conv", "drawn.rest", "weights", "transient", "model"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word << " is not in\n" << text;
  }
  for (const Rung& rung : planned.plan.ladder) {
    EXPECT_NE(text.find(to_string(rung.geometry.pass_input)), std::string::npos);
  }
}

TEST(PlannerSummary, OfAPlanWithoutPatches) { EXPECT_EQ(summary(Plan{}).find("nodes of"), std::string::npos); }

TEST(PlannerSummary, SaysWhatWasPinned) {
  Plan plan;
  EXPECT_EQ(summary(plan).find("pinned"), std::string::npos);
  plan.key.pins = "--S 2";
  EXPECT_NE(summary(plan).find("\npinned     --S 2\n"), std::string::npos);
}

TEST(PlannerSummary, SaysOfWhichVolumeTheRateIs) {
  Plan plan;
  plan.predicted.voxels_per_second = 90;
  EXPECT_NE(summary(plan).find("predicted  90 voxels/s in an endless volume, "), std::string::npos) << summary(plan);
  plan.key.of_unknown_volume = true;
  EXPECT_EQ(predicted_rate_text(plan), "90 voxels/s in the volume it was made for, which its file does not name");
  plan.key.of_unknown_volume = false;
  plan.key.volume = Vec3{40, 50, 60};
  plan.predicted.endless_voxels_per_second = 1200;
  EXPECT_EQ(predicted_rate_text(plan), "90 voxels/s in a volume of 40x50x60, 1,200 voxels/s in an endless one");
  plan.ladder.resize(1);
  plan.ladder[0].geometry.closed = {0, 1, 1};
  plan.ladder[0].geometry.axis = 1;
  EXPECT_EQ(predicted_rate_text(plan), "90 voxels/s in a volume of 40x50x60, 1,200 voxels/s in one endless along y");
  plan.ladder[0].geometry.closed = Vec3::cube(1);
  EXPECT_EQ(predicted_rate_text(plan), "90 voxels/s in a volume of 40x50x60");
}

TEST(PlannerSummary, MemoryAddsUp) {
  Plan plan;
  plan.key.memory_limit = 4096;
  plan.memory = {1024, 512, 2048};
  EXPECT_EQ(memory_text(plan), "limit 4.00 KiB: 1.00 KiB weights + 512 B persistent + 2.00 KiB transient = 3.50 KiB");
}

TEST(PlannerSummary, Words) {
  EXPECT_EQ(modes_text({}), "none");
  EXPECT_EQ(modes_text({PoolMode::fragments, PoolMode::plain}), "mpf plain");
  EXPECT_EQ(modes_text({PoolingMode({2, 1, 1}, true), PoolingMode({2, 2, 1}, false)}), "mpf:2x1x1 mpf:2x2x1:recompute");
  EXPECT_EQ(layout_text({ElementType::f32, Layout::blocked16}), "blocked16");
  EXPECT_EQ(layout_text({ElementType::f16, Layout::planar}), "f16:planar");
}

}  // namespace
}  // namespace znni

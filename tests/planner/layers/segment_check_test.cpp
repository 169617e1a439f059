#include "planner/layers/segment_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::HasSubstr;

// Returns a segment of one step, divided or not.
SegmentDesign on(Place place, bool divided = false) {
  SegmentDesign segment;
  segment.place = place;
  segment.steps.resize(1);
  if (divided) segment.steps[0].division = {{1, 0, 0, 0}};
  return segment;
}

TEST(SegmentCheck, PlacesRiseAndNotAllIsOnTheCpu) {
  EXPECT_TRUE(check_segments({on(Place::gpu)}));
  EXPECT_TRUE(check_segments({on(Place::gpu_host_ram)}));
  EXPECT_TRUE(check_segments({on(Place::cpu), on(Place::gpu)}));
  EXPECT_TRUE(check_segments({on(Place::cpu), on(Place::gpu_host_ram, true), on(Place::gpu)}));
  EXPECT_THAT(check_segments({on(Place::cpu)}).error().message, HasSubstr("segments on cpu; a pipeline runs"));
  EXPECT_THAT(check_segments({on(Place::gpu), on(Place::cpu)}).error().message, HasSubstr("segments on gpu, cpu;"));
  EXPECT_FALSE(check_segments({on(Place::gpu), on(Place::gpu)}));
}

TEST(SegmentCheck, BesideAHeadTheCpuComputesNothingElse) {
  EXPECT_TRUE(uses_cpu(on(Place::cpu)) && uses_cpu(on(Place::gpu_host_ram)));
  EXPECT_FALSE(uses_cpu(on(Place::gpu)) || uses_cpu(on(Place::gpu_host_ram, true)));
  const SegmentDesign middle = on(Place::gpu_host_ram);
  EXPECT_TRUE(check_segments({middle, on(Place::gpu)}));
  EXPECT_THAT(check_segments({on(Place::cpu), middle}).error().message, HasSubstr("divided convolutions only"));
}

}  // namespace
}  // namespace znni

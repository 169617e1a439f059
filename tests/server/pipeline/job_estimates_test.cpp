#include "server/pipeline/job_estimates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <iterator>

#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

// A network of one pooling, of field of view 8, in rungs of patches of 9, 11, ... voxels per axis.
class JobEstimatesTest : public testing::Test {
 protected:
  // Adds a rung of patches that are computed in `seconds`, S of them together.
  void add_rung(std::int64_t step, Seconds seconds, std::int64_t S = 1, Place place = Place::cpu) {
    Rung& rung = rungs_.emplace_back();
    rung.geometry = test::choice_of(network_, PoolMode::fragments, step, S);
    rung.seconds = seconds;
    rung.segments.push_back({0, 2, place, {}, {}});
  }
  [[nodiscard]] JobEstimates estimates(int sockets = 1) const {
    std::vector<RungFacts> facts;
    for (const Rung& rung : rungs_) {
      const Geometry geometry = make_geometry(network_, rung.geometry).value();
      facts.push_back({&rung, on_cpu(rung), geometry, geometry, std::int64_t{1} << 30});
      facts.back().round.choice.S *= sockets;
    }
    NetworkShape network = network_shape(network_);
    network.is_bound = is_bound_;
    return {std::move(network), std::move(facts), sockets};
  }
  [[nodiscard]] static Work work(Vec3 n, std::int64_t max_held = saturated) {
    return {{1, n, ElementType::f32, VolumeOrder::channel_major}, ElementType::f32, max_held};
  }
  [[nodiscard]] std::vector<std::size_t> all() const {
    std::vector<std::size_t> now(rungs_.size());
    for (std::size_t i = 0; i < now.size(); ++i) now[i] = i;
    return now;
  }

  const Network network_ = test::simple_network(1);
  bool is_bound_ = false;
  std::deque<Rung> rungs_;
};

TEST_F(JobEstimatesTest, FactsAreThoseOfTheNetwork) {
  const NetworkShape facts = network_shape(network_);
  EXPECT_EQ(facts.fov, Vec3::cube(8));
  EXPECT_EQ(facts.output({9, 10, 11}), (Vec3{2, 3, 4}));
  EXPECT_TRUE(facts.is_dense);
  EXPECT_FALSE(facts.is_bound);
  EXPECT_EQ(facts.f_in, 1);
  EXPECT_EQ(facts.f_out, 2);
  EXPECT_TRUE(facts.check_volume(Vec3::cube(9)));
}

TEST_F(JobEstimatesTest, OnARungPatchesAreCountedAndTheirTimesAddedUp) {
  add_rung(0, 0.5);
  const JobEstimate found = estimates().on(0, work({9, 11, 13}));
  EXPECT_EQ(found.output, (Shape5{1, 2, {2, 4, 6}}));
  EXPECT_EQ(found.patch, Vec3::cube(9));
  EXPECT_EQ(found.patches, 1 * 2 * 3);
  EXPECT_EQ(found.batch, 1);
  EXPECT_EQ(found.input_planes, 9);
  EXPECT_EQ(found.slab_planes, 2);
  EXPECT_EQ(found.slabs, 1);
  EXPECT_EQ(found.list_bytes, 6 * list_bytes_per_patch);
  EXPECT_DOUBLE_EQ(found.predicted_seconds, 6 * 0.5);
  EXPECT_DOUBLE_EQ(estimates(2).on(0, work({9, 11, 13})).predicted_seconds, 3 * 0.5) << "side by side";
}

TEST_F(JobEstimatesTest, AJobHoldsPlanesOfBothSidesAndTheList) {
  add_rung(0, 0.5);
  const Work what = work({13, 11, 13});
  const JobEstimates all = estimates();
  const JobEstimate found = all.on(0, what);
  const std::int64_t in = 11 * 13 * 4;
  const std::int64_t out = 2 * 4 * 6 * 4;
  EXPECT_EQ(all.held_bytes(found, what), found.list_bytes + found.input_planes * in + found.slab_planes * out);
}

TEST_F(JobEstimatesTest, TheFasterOfTwoIsBestUnlessItHoldsTooMuch) {
  add_rung(2, 1);
  add_rung(0, 1);
  const JobEstimates both = estimates();
  const Vec3 n{33, 9, 9};
  const JobEstimate fast = both.best(work(n), all()).value();
  EXPECT_EQ(fast.rung, 0U);
  const std::int64_t held = both.held_bytes(fast, work(n));
  EXPECT_EQ(both.best(work(n, held), all())->rung, 0U);
  EXPECT_EQ(both.best(work(n, held - 1), all())->rung, 1U) << "which holds less";
  const std::vector<std::size_t> second = {1};
  EXPECT_EQ(both.best(work(n), second)->rung, 1U) << "while the other does not run";
}

TEST_F(JobEstimatesTest, RungsWithoutPagesTakeTheTimeToGetThem) {
  add_rung(0, 0.5);
  add_rung(0, 0.75);
  JobEstimates both = estimates();
  EXPECT_EQ(both.first_touched(), 0U);
  EXPECT_EQ(both.best(work(Vec3::cube(9)), all())->rung, 0U);
  both.touched_from(1);
  EXPECT_EQ(both.first_touched(), 1U);
  EXPECT_EQ(both.best(work(Vec3::cube(9)), all())->rung, 1U);
  EXPECT_DOUBLE_EQ(both.on(0, work(Vec3::cube(9))).predicted_seconds, 0.5 + 1) << "of a GiB";
}

TEST_F(JobEstimatesTest, InputThatDoesNotFitIsRefusedWithBothNumbers) {
  add_rung(0, 0.5);
  Work what = work({9, 7, 9});
  EXPECT_THAT(estimates().best(what, all()).error().message, HasSubstr("input extent is 9x7x9; it must be at least"));
  what = work(Vec3::cube(9));
  what.input.f = 3;
  EXPECT_THAT(estimates().best(what, all()).error().message, HasSubstr("input has 3 channels; the network takes 1"));
}

TEST_F(JobEstimatesTest, SmallJobsShareABatch) {
  add_rung(0, 0.5, 4);
  EXPECT_EQ(estimates().guest_entries(0, 3), 3);
  EXPECT_EQ(estimates().guest_entries(0, 4), 0) << "a batch of its own";
  EXPECT_EQ(estimates().on(0, work({9, 11, 9})).entries, 2);
  rungs_.front().segments.front().place = Place::gpu;
  EXPECT_EQ(estimates().guest_entries(0, 3), 0) << "on a GPU none";
}

TEST_F(JobEstimatesTest, AJobOnAGpuHasRoomForTheRungThatTakesOver) {
  add_rung(0, 0.1, 1, Place::gpu);
  add_rung(2, 2);
  add_rung(1, 4);
  const JobEstimates some = estimates();
  const Work what = work({33, 15, 15});
  EXPECT_EQ(some.fallback_of(0, what), 1U);
  EXPECT_EQ(some.fallback_of(1, what), std::nullopt) << "it is on the CPU";
  const JobEstimate best = some.best(what, all()).value();
  EXPECT_EQ(best.rung, 0U);
  const JobEstimate fallback = some.on(1, what);
  EXPECT_GT(fallback.slab_planes, some.on(0, what).slab_planes);
  EXPECT_EQ(best.slab_planes, fallback.slab_planes);
  EXPECT_EQ(best.input_planes, std::max(some.on(0, what).input_planes, fallback.input_planes));
  EXPECT_DOUBLE_EQ(best.predicted_seconds, some.on(0, what).predicted_seconds) << "without the fallback's";
}

TEST_F(JobEstimatesTest, WindowsAreCountedWithoutAListOfThem) {
  add_rung(1, 0.5);
  is_bound_ = true;
  JobEstimates bound = estimates(2);
  bound.blend_windows({WindowWeight::constant, 0.5});
  EXPECT_EQ(bound.blend_of(Vec3::cube(11)), std::nullopt) << "computed as it is";
  const Vec3 n{11, 15, 19};
  EXPECT_EQ(bound.blend_of(n), WindowWeight::constant);
  const PatchGrid grid = bound.window_grid(n);
  const JobEstimate found = bound.best(work(n), all()).value();
  EXPECT_EQ(found.patches, std::ssize(grid.patches));
  EXPECT_EQ(found.patches, 1 * 3 * 5);
  EXPECT_EQ(found.slab_planes, 4);
  EXPECT_DOUBLE_EQ(found.predicted_seconds, 0.5 * static_cast<double>(div_up(found.patches, 2)));
  EXPECT_THAT(bound.best(work({10, 11, 11}), all()).error().message,
              HasSubstr("at least the network's window, 11x11x11"));
}

}  // namespace
}  // namespace znni

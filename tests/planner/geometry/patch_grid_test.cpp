#include "planner/geometry/patch_grid.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "tests/support/random.hpp"

namespace znni {
namespace {

using test::Random;

Vec3 along_x(std::int64_t n) { return {1, 1, n}; }

TEST(PlannerPatchGrid, ExactTiling) {
  // 10 dense voxels in patches of 5.
  const PatchGrid grid = make_patch_grid(along_x(12), along_x(7), along_x(3));
  ASSERT_EQ(grid.patches.size(), 2U);
  EXPECT_EQ(grid.patches[0], (GridPatch{{0, 0, 0}, {0, 0, 0}, {1, 1, 5}}));
  EXPECT_EQ(grid.patches[1], (GridPatch{{0, 0, 5}, {0, 0, 0}, {1, 1, 5}}));
}

TEST(PlannerPatchGrid, LastPatchIsMovedInward) {
  // 12 dense voxels in patches of 5: the third owns 10 and 11 and reads from 7 on.
  const PatchGrid grid = make_patch_grid(along_x(14), along_x(7), along_x(3));
  ASSERT_EQ(grid.patches.size(), 3U);
  EXPECT_EQ(grid.patches[2], (GridPatch{{0, 0, 7}, {0, 0, 3}, {1, 1, 5}}));
}

TEST(PlannerPatchGrid, VolumeSmallerThanThePatch) {
  const PatchGrid grid = make_patch_grid(along_x(5), along_x(7), along_x(3));
  ASSERT_EQ(grid.patches.size(), 1U);
  EXPECT_EQ(grid.patches[0], (GridPatch{{0, 0, 0}, {0, 0, 0}, {1, 1, 3}}));
}

TEST(PlannerPatchGrid, PatchesBeginInPeriod) {
  // 22 dense voxels in patches of 10 and a period of 4: each owns 8, the last one the rest.
  const PatchGrid grid = make_patch_grid(along_x(24), along_x(12), along_x(3), along_x(4));
  ASSERT_EQ(grid.patches.size(), 3U);
  EXPECT_EQ(grid.patches[1], (GridPatch{{0, 0, 8}, {0, 0, 0}, {1, 1, 8}}));
  EXPECT_EQ(grid.patches[2], (GridPatch{{0, 0, 12}, {0, 0, 4}, {1, 1, 10}}));
  // One patch is enough for what it writes.
  EXPECT_EQ(make_patch_grid(along_x(12), along_x(12), along_x(3), along_x(4)).patches.size(), 1U);
}

TEST(PlannerPatchGrid, RowsInOrderOfZThenYThenX) {
  const PatchGrid grid = make_patch_grid({4, 4, 4}, {2, 2, 2}, {1, 1, 1});
  ASSERT_EQ(grid.patches.size(), 8U);
  EXPECT_EQ(grid.patches[1].start, (Vec3{0, 0, 2}));
  EXPECT_EQ(grid.patches[2].start, (Vec3{0, 2, 0}));
  EXPECT_EQ(grid.patches[4].start, (Vec3{2, 0, 0}));
}

TEST(PlannerPatchGrid, CountOfHugeVolumesSaturates) {
  const Vec3 huge = Vec3::cube(std::int64_t{1} << 40);
  EXPECT_EQ(patch_count(huge, Vec3::cube(1), Vec3::cube(1)), saturated);
  EXPECT_EQ(patch_count(Vec3::cube(1000), Vec3::cube(109), Vec3::cube(10)), 1000);
}

TEST(PlannerPatchGridDeathTest, ExtentsBelowTheFieldOfViewAreBugs) {
  EXPECT_DEATH((void)patch_count(Vec3::cube(4), Vec3::cube(9), Vec3::cube(5)), "volume is smaller");
  EXPECT_DEATH((void)patch_count(Vec3::cube(9), Vec3::cube(4), Vec3::cube(5)), "patch is smaller");
}

// Returns a stream of conv k x k x k, of field of view k: steps of `planes`, a cross-section of `edge` outputs.
Geometry stream_of(std::int64_t k, std::int64_t planes, std::int64_t edge, int axis = 0) {
  Network network;
  network.nodes = {{"conv", Convolution{1, Vec3::cube(k), Vec3::cube(1), {}}, {0}}};
  return *make_geometry(network, {{planes, edge + k - 1, edge + k - 1}, 1, {}, 0, true, axis});
}

TEST(PlannerPatchGrid, AColumnBeginsBeforeItsOutputAndEndsBehindIt) {
  // 7 dense planes behind 5 that only prepare them, in steps of 4.
  const PatchGrid grid = make_patch_grid({12, 7, 7}, stream_of(6, 4, 2), Vec3::cube(6), saturated);
  ASSERT_EQ(grid.patches.size(), 3U);
  EXPECT_EQ(grid.patches[0], (GridPatch{{-5, 0, 0}, {4, 0, 0}, {4, 2, 2}, false}));
  EXPECT_EQ(grid.patches[1], (GridPatch{{-1, 0, 0}, {1, 0, 0}, {4, 2, 2}, true}));
  EXPECT_EQ(grid.patches[2], (GridPatch{{3, 0, 0}, {0, 0, 0}, {4, 2, 2}, true}));
  EXPECT_EQ(grid.rows, (std::vector<GridRow>{{2, 0, 3}, {3, 3, 4}}));
}

// 5 x 3 x 7 dense voxels in columns of 2 x 2 along x: three rows of two columns of three steps.
TEST(PlannerPatchGrid, ColumnsAlongXCompleteRowAfterRowOfZ) {
  const Geometry step = stream_of(6, 4, 2, 2);
  const Vec3 volume = {10, 8, 12};
  const PatchGrid grid = make_patch_grid(volume, step, Vec3::cube(6), 1);
  ASSERT_EQ(grid.patches.size(), 18U);
  EXPECT_EQ(grid.rows, (std::vector<GridRow>{{6, 0, 2}, {12, 2, 2}, {18, 4, 1}}));
  EXPECT_EQ(grid.patches[0], (GridPatch{{-5, 0, 0}, {4, 0, 0}, {4, 2, 2}, false}));
  EXPECT_EQ(grid.patches[4], (GridPatch{{-1, 1, 0}, {1, 1, 0}, {4, 2, 2}, true}));
  EXPECT_EQ(grid.patches[14], (GridPatch{{3, 0, 3}, {0, 0, 1}, {4, 2, 2}, true}));
  EXPECT_EQ(patch_count(volume, step, Vec3::cube(6), 1), 18);
  EXPECT_EQ(row_planes(volume, step, Vec3::cube(6), 1), 2);
  EXPECT_EQ(input_planes(volume, step, Vec3::cube(6), 1), 7);
  EXPECT_EQ(row_of(grid, 5), grid.rows[0]);
  EXPECT_EQ(row_of(grid, 6), grid.rows[1]);
}

TEST(PlannerPatchGrid, ColumnsAlongYRunFirstAlongX) {
  const Geometry step = stream_of(6, 4, 2, 1);
  const PatchGrid grid = make_patch_grid({10, 9, 8}, step, Vec3::cube(6), saturated);  // 5 x 4 x 3 dense voxels
  ASSERT_EQ(grid.patches.size(), 18U);
  EXPECT_EQ(grid.rows, (std::vector<GridRow>{{6, 0, 2}, {12, 2, 2}, {18, 4, 1}}));
  EXPECT_EQ(grid.patches[3].start, (Vec3{-5, 0, 1}));
  EXPECT_EQ(grid.patches[6].start, (Vec3{-5, 2, 0}));
}

TEST(PlannerPatchGrid, ColumnsSideBySideBeginAnewForEveryBandButOne) {
  const Geometry step = stream_of(6, 4, 2);
  const Vec3 volume = {30, 7, 9};  // 25 dense planes, two columns
  EXPECT_EQ(make_patch_grid(volume, step, Vec3::cube(6), saturated).rows, (std::vector<GridRow>{{16, 0, 25}}));
  const PatchGrid grid = make_patch_grid(volume, step, Vec3::cube(6), 13);  // 11 fill 4 steps
  EXPECT_EQ(grid.rows, (std::vector<GridRow>{{8, 0, 11}, {15, 11, 11}, {18, 22, 3}}));
  ASSERT_EQ(grid.patches.size(), 18U);
  EXPECT_EQ(grid.patches[7], (GridPatch{{7, 0, 2}, {0, 0, 0}, {4, 2, 2}, true}));
  EXPECT_EQ(grid.patches[8], (GridPatch{{11, 0, 2}, {0, 0, 0}, {4, 2, 2}, true})) << "goes on";
  EXPECT_EQ(grid.patches[10], (GridPatch{{19, 0, 2}, {0, 0, 0}, {3, 2, 2}, true}));
  EXPECT_EQ(grid.patches[11], (GridPatch{{6, 0, 0}, {4, 0, 0}, {4, 2, 2}, false}));
  EXPECT_EQ(grid.patches[15], (GridPatch{{22, 0, 0}, {0, 0, 0}, {3, 2, 2}, true}));
  const PatchGrid apart = make_patch_grid(volume, step, Vec3::cube(6), 13, 2);  // a socket has either column
  EXPECT_EQ(apart.rows, (std::vector<GridRow>{{8, 0, 11}, {16, 11, 11}, {20, 22, 3}}));
  EXPECT_EQ(patch_count(volume, step, Vec3::cube(6), 13, 2), 20);
  const PatchGrid unfilled = make_patch_grid(volume, step, Vec3::cube(6), 2);  // and its planes end within a step
  EXPECT_EQ(unfilled.rows[1], (GridRow{8, 2, 2}));
  EXPECT_EQ(row_planes(volume, step, Vec3::cube(6), 13), 11);
  EXPECT_EQ(row_planes(volume, step, Vec3::cube(6), 2), 2);  // less than a step can fill
  EXPECT_EQ(row_planes({30, 7, 7}, step, Vec3::cube(6), 13), 4);
  EXPECT_EQ(patch_count(Vec3::cube(std::int64_t{1} << 40), step, Vec3::cube(6)), saturated);
}

// Returns stream_of(6, 4, 2) in two phases.
Geometry stream_in_phases(int axis = 0) {
  Geometry step = stream_of(6, 4, 2, axis);
  step.phases = 2;
  return step;
}

TEST(PlannerPatchGrid, AColumnRunsOnceForEachPhase) {
  const Geometry step = stream_in_phases();
  const Vec3 fov = Vec3::cube(6);
  const Vec3 volume = {12, 7, 7};  // 7 dense planes of one column
  const PatchGrid grid = make_patch_grid(volume, step, fov, saturated);
  ASSERT_EQ(grid.patches.size(), 6U);
  EXPECT_EQ(grid.patches[2], (GridPatch{{3, 0, 0}, {0, 0, 0}, {4, 2, 2}, true, 0}));
  EXPECT_EQ(grid.patches[3], (GridPatch{{-5, 0, 0}, {4, 0, 0}, {4, 2, 2}, false, 1}));
  EXPECT_EQ(grid.patches[5], (GridPatch{{3, 0, 0}, {0, 0, 0}, {4, 2, 2}, true, 1}));
  EXPECT_EQ(grid.rows, (std::vector<GridRow>{{6, 0, 7}}));  // nothing is complete before the second phase
  EXPECT_EQ(patch_count(volume, step, fov), 6);
  EXPECT_EQ(input_planes(volume, step, fov, saturated), 12);
  EXPECT_EQ(input_planes({60, 7, 7}, step, fov, 3, 2), 8);  // two steps give 3 planes
  EXPECT_EQ(input_planes({60, 7, 7}, step, fov, 3), 9);     // the phase that goes on has a plane of the next band
  EXPECT_EQ(input_planes({60, 7, 7}, stream_of(6, 4, 2), fov, 3), 4);
  EXPECT_EQ(row_planes(volume, step, fov, saturated), 7);
  const PatchGrid bands = make_patch_grid(volume, step, fov, 4);  // of 3 planes: 3, 3 and 1
  EXPECT_EQ(bands.rows, (std::vector<GridRow>{{4, 0, 3}, {7, 3, 3}, {10, 6, 1}}));
  EXPECT_EQ(bands.patches[4], (GridPatch{{3, 0, 0}, {0, 0, 0}, {3, 2, 2}, true, 1})) << "to and fro";
  EXPECT_EQ(bands.patches[5].phase, 0);
  EXPECT_EQ(bands.patches[7].phase, 0);
  EXPECT_EQ(patch_count(volume, step, fov, 4), 10);
}

TEST(PlannerPatchGrid, PhasesOfColumnsAlongXStandInTheirRow) {
  const Geometry step = stream_in_phases(2);
  const PatchGrid grid = make_patch_grid({10, 8, 12}, step, Vec3::cube(6), 1);
  EXPECT_EQ(grid.rows, (std::vector<GridRow>{{12, 0, 2}, {24, 2, 2}, {36, 4, 1}}));
  EXPECT_EQ(grid.patches[3].phase, 1);
  EXPECT_EQ(grid.patches[6].phase, 0);
  EXPECT_EQ(grid.patches[6].start, (Vec3{-5, 1, 0}));
  EXPECT_EQ(std::ssize(grid.patches), patch_count({10, 8, 12}, step, Vec3::cube(6), 1));
  EXPECT_EQ(input_planes({10, 8, 12}, step, Vec3::cube(6), 1), 7);
}

TEST(PlannerPatchGrid, BatchesOrColumnsOfARowAreDealtOutToSockets) {
  const Vec3 fov = Vec3::cube(6);
  Geometry patches = stream_of(6, 4, 2);
  patches.choice.streamed = false;
  patches.choice.S = 2;
  patches.patch_input = Vec3::cube(7);  // 2 dense voxels per axis
  const auto batches = [&](const Geometry& geometry, Vec3 volume, int sockets) {
    return batches_in_turn(volume, geometry, fov, 13, sockets);
  };
  EXPECT_EQ(batches(patches, {15, 7, 7}, 1), 3);  // 5 patches
  EXPECT_EQ(batches(patches, {15, 7, 7}, 2), 2);
  EXPECT_EQ(batches(patches, {15, 7, 7}, 4), 1);
  const Geometry step = stream_of(6, 4, 2);
  EXPECT_EQ(batches(step, {30, 7, 9}, 1), 18);  // two columns, of which one goes on to the next band
  EXPECT_EQ(batches(step, {30, 7, 9}, 2), 10);
  EXPECT_EQ(batches(step, {30, 7, 9}, 3), 10);
  EXPECT_EQ(batches(step, {30, 7, 7}, 2), 8);                             // one column: nothing to deal out
  EXPECT_EQ(batches(stream_of(6, 4, 2, 2), {10, 12, 12}, 3), 3 * 2 * 3);  // 3 rows of 4 columns of 3 steps
  EXPECT_EQ(batches(stream_in_phases(), {30, 7, 7}, 1), 18);  // bands of 4, 4 and 2 steps, then of 3 and 1 more
  EXPECT_EQ(streams_in_turn({15, 7, 7}, patches, fov, 13, 1), 0);
  EXPECT_EQ(streams_in_turn({30, 7, 9}, step, fov, 13, 1), 3 * 2 - 2);
  EXPECT_EQ(streams_in_turn({30, 7, 9}, step, fov, 13, 2), 3);
  EXPECT_EQ(streams_in_turn({10, 12, 12}, stream_of(6, 4, 2, 2), fov, 13, 3), 3 * 2);
  EXPECT_EQ(streams_in_turn({30, 7, 7}, stream_in_phases(), fov, 13, 1), 3 * 2 - 2);
  EXPECT_EQ(batches(stream_in_phases(), {30, 7, 7}, 2), 10);
}

// Expects that the patches of this phase own every dense voxel once.
void expect_owned_once(const PatchGrid& grid, Vec3 dense, int phase = 0) {
  std::vector<int> owned(static_cast<std::size_t>(voxels(dense)), 0);
  for (const GridPatch& each : grid.patches) {
    if (each.phase != phase) continue;
    const Vec3 first = each.start + each.own_first;
    const Vec3 extent = each.own_last - each.own_first;
    for (std::int64_t i = 0; i < voxels(extent); ++i) {
      const Vec3 at = first + Vec3{i / (extent.y * extent.x), i / extent.x % extent.y, i % extent.x};
      ASSERT_TRUE(covers(dense - Vec3::cube(1), at) && covers(at, {})) << to_string(at);
      ++owned[static_cast<std::size_t>((at.z * dense.y + at.y) * dense.x + at.x)];
    }
  }
  for (const int count : owned) ASSERT_EQ(count, 1);
}

class RandomGrids : public testing::TestWithParam<int> {};

TEST_P(RandomGrids, EveryDenseVoxelIsOwnedOnce) {
  Random random(test::base_seed() * 1000 + static_cast<std::uint64_t>(GetParam()));
  const Vec3 fov = random.vec3(1, 5);
  const Vec3 patch = fov + random.vec3(0, 7);
  const Vec3 volume = fov + random.vec3(0, 14);
  SCOPED_TRACE("volume " + to_string(volume) + ", patch " + to_string(patch) + ", fov " + to_string(fov) +
               ", ZNNI_TEST_SEED=" + std::to_string(test::base_seed()));
  const Vec3 dense = volume - fov + Vec3::cube(1);
  const Vec3 patch_output = patch - fov + Vec3::cube(1);
  const PatchGrid grid = make_patch_grid(volume, patch, fov);
  EXPECT_EQ(std::ssize(grid.patches), patch_count(volume, patch, fov));
  for (const GridPatch& each : grid.patches) {
    for (int axis = 0; axis < 3; ++axis) {
      ASSERT_LT(each.own_first[axis], each.own_last[axis]);
      ASSERT_GE(each.own_first[axis], 0);
      ASSERT_LE(each.own_last[axis], patch_output[axis]);
      ASSERT_GE(each.start[axis], 0);
      const bool inside = each.start[axis] + patch[axis] <= volume[axis];
      ASSERT_TRUE(inside || (volume[axis] < patch[axis] && each.start[axis] == 0));
    }
  }
  expect_owned_once(grid, dense);
}

TEST_P(RandomGrids, StepsOfColumnsOwnEveryDenseVoxelOnce) {
  Random random(test::base_seed() * 3000 + static_cast<std::uint64_t>(GetParam()));
  const std::int64_t k = random.integer(1, 7);
  Geometry step = stream_of(k, random.integer(1, 6), random.integer(1, 5));
  step.phases = random.integer(1, 3);
  const Vec3 dense = Vec3::cube(1) + random.vec3(0, 14);
  const Vec3 volume = dense + Vec3::cube(k - 1);
  const std::int64_t most = random.chance(0.5) ? saturated : random.integer(1, 20);
  const auto sockets = static_cast<int>(random.integer(1, 2));
  const PatchGrid grid = make_patch_grid(volume, step, Vec3::cube(k), most, sockets);
  EXPECT_EQ(static_cast<std::int64_t>(grid.patches.size()), patch_count(volume, step, Vec3::cube(k), most, sockets));
  const auto begins =
      std::count_if(grid.patches.begin(), grid.patches.end(), [](const GridPatch& each) { return !each.continues; });
  if (sockets == 1) {
    EXPECT_EQ(streams_in_turn(volume, step, Vec3::cube(k), most, 1), begins);
    EXPECT_EQ(batches_in_turn(volume, step, Vec3::cube(k), most, 1), std::ssize(grid.patches));
  }
  EXPECT_EQ(std::ssize(grid.patches), patch_count(volume, step, Vec3::cube(k), most, sockets));
  for (std::size_t i = 0; i < grid.patches.size(); ++i) {
    const GridPatch& each = grid.patches[i];
    if (!each.continues) continue;
    const GridPatch& before = grid.patches[i - 1];
    EXPECT_EQ(each.start, before.start + Vec3({step.patch_output.z, 0, 0}));
    EXPECT_EQ(each.phase, before.phase);
  }
  std::int64_t planes = 0;
  for (const GridRow& row : grid.rows) {
    EXPECT_EQ(row.first_plane, std::exchange(planes, planes + row.planes));
    EXPECT_LE(row.planes, row_planes(volume, step, Vec3::cube(k), most));
  }
  EXPECT_EQ(planes, dense.z);
  EXPECT_EQ(grid.rows.back().end, static_cast<std::int64_t>(grid.patches.size()));
  for (int phase = 0; phase < step.phases; ++phase) expect_owned_once(grid, dense, phase);
}

// A row of patches in z completes all planes it owns.
TEST_P(RandomGrids, BatchesBelongToNoMoreRowsThanSaid) {
  Random random(test::base_seed() + static_cast<std::uint64_t>(GetParam()));
  SCOPED_TRACE("case " + std::to_string(GetParam()) + ", ZNNI_TEST_SEED=" + std::to_string(test::base_seed()));
  Geometry patches = stream_of(3, 4, 2);
  patches.choice.streamed = false;
  patches.choice.S = random.integer(1, 9);
  patches.patch_input = Vec3::cube(3) + random.vec3(0, 3);
  const Vec3 volume = Vec3::cube(3) + random.vec3(0, 9);
  const PatchGrid grid = make_patch_grid(volume, patches, Vec3::cube(3), saturated);
  std::int64_t most = 0;
  const std::int64_t count = std::ssize(grid.patches);
  for (std::int64_t first = 0; first < count; first += patches.choice.S) {
    const std::int64_t last = std::min(first + patches.choice.S, count) - 1;
    most = std::max(most, &row_of(grid, last) - &row_of(grid, first) + 1);
  }
  const std::int64_t said = rows_of_batch(volume, patches, Vec3::cube(3));
  EXPECT_LE(most, said);
  EXPECT_LE(said, std::ssize(grid.rows));
  if (std::ssize(grid.rows) > patches.choice.S * patches.choice.S) {
    EXPECT_EQ(most, said) << "some batch needs it";
  }
}

TEST_P(RandomGrids, RowsCompletePlanesInOrder) {
  Random random(test::base_seed() * 2000 + static_cast<std::uint64_t>(GetParam()));
  const Vec3 fov = random.vec3(1, 3);
  const PatchGrid grid = make_patch_grid(fov + random.vec3(0, 14), fov + random.vec3(0, 5), fov);
  const std::int64_t per_row = grid.rows.front().end;
  EXPECT_EQ(std::ssize(grid.rows) * per_row, std::ssize(grid.patches));
  std::int64_t done = 0;
  for (std::size_t i = 0; i < grid.patches.size(); ++i) {
    const GridPatch& each = grid.patches[i];
    EXPECT_EQ(each.start.z + each.own_first.z, done);
    if ((static_cast<std::int64_t>(i) + 1) % per_row != 0) continue;
    const GridRow& row = grid.rows[i / static_cast<std::size_t>(per_row)];
    done = each.start.z + each.own_last.z;
    EXPECT_EQ(row, (GridRow{static_cast<std::int64_t>(i) + 1, each.start.z + each.own_first.z, row.planes}));
    EXPECT_EQ(row.first_plane + row.planes, done);
  }
}

INSTANTIATE_TEST_SUITE_P(PlannerPatchGrid, RandomGrids, testing::Range(0, test::case_count(100)));

}  // namespace
}  // namespace znni

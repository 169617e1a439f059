#include "primitives/cpu/pool/stack_flow.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/random.hpp"

namespace znni::cpu {
namespace {

std::vector<StackLevel> padded(int depth) {
  StackProblem stack{{1, 1, {20, 21, 22}}, {}, Vec3::cube(1)};
  stack.stages.assign(static_cast<std::size_t>(depth),
                      {StackOperation::pool, PoolKind::max, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1)});
  return levels_of(stack);
}

TEST(StackFlow, APartReadsWhatItNeedsAndNoMore) {
  const PartFlow flow = flow_of(padded(3), {{10, 12}, {0, 22}}, 16, 24);
  const auto is = [](StackRange range, std::int64_t begin, std::int64_t end) {
    return range.begin == begin && range.end == end;
  };
  EXPECT_TRUE(is(flow.levels[0].z_in, 7, 15));
  EXPECT_TRUE(is(flow.levels[0].z_out, 8, 14));
  EXPECT_TRUE(is(flow.levels[2].z_out, 10, 12));
  EXPECT_TRUE(is(flow.levels[0].x_in, 0, 22));
  EXPECT_TRUE(is(flow.z, 7, 15));
  EXPECT_EQ(flow.levels[2].lag_z, 2);
  EXPECT_EQ(flow.levels[0].pad, 16);
  EXPECT_EQ(flow.levels[0].row_floats, 24 * 16);
}

TEST(StackFlow, RowsComeInUntilTheLastGoesOut) {
  EXPECT_EQ(rows_of(padded(3)), 21 + 3);
  const StackProblem open{{1, 1, {9, 9, 9}}, {{StackOperation::pool, PoolKind::max, {1, 4, 1}}}};
  EXPECT_EQ(rows_of(levels_of(open)), 9);
}

TEST(StackFlow, KeepsRowsOfEveryPlaneOnlyBetweenBlocks) {
  const PartFlow whole = flow_of(padded(2), {{0, 20}, {0, 22}}, 8, 23);
  const PartFlow blocks = flow_of(padded(2), {{0, 20}, {0, 22}}, 8, 4);
  EXPECT_FALSE(whole.in_blocks);
  EXPECT_TRUE(blocks.in_blocks);
  // A row's voxels begin a line behind the place that its padding ends in.
  const auto rows_floats = [](const PartFlow& flow) {
    return flow.levels[1].row + flow.levels[1].pad - 16 - flow.levels[0].rows;
  };
  EXPECT_EQ(rows_floats(whole), 2 * whole.levels[0].pitch);
  EXPECT_EQ(rows_floats(blocks), 20 * 2 * blocks.levels[0].pitch);
}

TEST(StackFlow, LevelsAreApartWhereAllRowsAreShortAndOneBlock) {
  const StackPart part{{0, 20}, {0, 22}};
  const PartFlow apart = flow_of(padded(3), part, 8, rows_of(padded(3)));
  EXPECT_TRUE(apart.is_apart);
  EXPECT_EQ(apart.y, rows_of(padded(3)) + 3);
  EXPECT_EQ(apart.block, apart.y);
  EXPECT_EQ(apart.levels[0].lag_y, 1);
  EXPECT_EQ(apart.levels[2].lag_y, 2 + 3);
  for (const PartFlow& other : {flow_of(padded(3), part, 8, 5), flow_of(padded(3), part, 16, rows_of(padded(3)))}) {
    EXPECT_FALSE(other.is_apart);
    EXPECT_EQ(other.y, rows_of(padded(3)));
    EXPECT_EQ(other.levels[2].lag_y, 2);
  }
}

// The voxels of a row that comes in begin a cache line.
TEST(StackFlow, VoxelsOfRowsAreAligned) {
  for (const std::int64_t width : {1, 8, 16}) {
    const PartFlow flow = flow_of(padded(3), {{0, 20}, {5, 17}}, width, 24);
    for (const LevelFlow& level : flow.levels) EXPECT_EQ((level.row + level.pad) % 16, 0);
  }
}

// Where things lie, from the first to the last.
std::vector<StackRange> places_of(const PartFlow& flow) {
  std::vector<StackRange> places;
  for (const LevelFlow& level : flow.levels) {
    const Vec3 window = level.level.pool.window;
    const std::int64_t planes = flow.in_blocks ? level.z_out.length() : 1;
    places.push_back({level.row, level.row + level.row_floats + 16});
    places.push_back({level.planes, level.planes + (window.z - 1) * flow.block * level.pitch});
    places.push_back({level.rows, level.rows + planes * (window.y - 1) * level.pitch});
  }
  for (const std::int64_t row : {flow.lowest, flow.zeros, flow.unused, flow.last_row}) places.push_back({row, row + 1});
  std::sort(places.begin(), places.end(),
            [](StackRange a, StackRange b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  return places;
}

TEST(StackFlow, NothingOverlaps) {
  for (int i = 0; i < test::case_count(50); ++i) {
    test::Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const std::vector<StackLevel> levels = levels_of(test::random_stack(random));
    const Vec3 n = levels.back().out;
    const std::int64_t z = random.integer(1, n.z);
    const std::int64_t block = random.integer(1, rows_of(levels));
    const PartFlow flow = flow_of(levels, {{z - 1, z}, {0, n.x}}, 8, block);
    const std::vector<StackRange> places = places_of(flow);
    for (std::size_t at = 1; at < places.size(); ++at) EXPECT_LE(places[at - 1].end, places[at].begin);
    EXPECT_LE(places.back().end, flow.floats);
  }
}

}  // namespace
}  // namespace znni::cpu

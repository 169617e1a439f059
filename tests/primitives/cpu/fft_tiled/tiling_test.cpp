#include "primitives/cpu/fft_tiled/tiling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "primitives/core/fragments.hpp"
#include "tests/support/random.hpp"

namespace znni::cpu::fft_tiled {
namespace {

Tiling random_tiling(test::Random& random) {
  Tiling t;
  ConvProblem conv;
  const std::vector<std::int64_t>& extents = tile_extents();
  if (random.chance(0.5)) conv.dilation = random.vec3(1, 4);
  for (int axis = 0; axis < 3; ++axis) {
    t.T[axis] = extents[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(extents.size()) - 1))];
    conv.k[axis] = random.integer(1, std::min<std::int64_t>(t.T[axis], 9));
    conv.in.n[axis] = conv.dilation[axis] * (conv.k[axis] - 1) + 1 + random.integer(0, 70);
  }
  if (random.chance(0.2)) t.T.z = conv.k.z = 1;
  conv.in.S = random.integer(1, 4);
  conv.in.f = random.integer(1, 50);
  conv.f_out = random.integer(1, 50);
  t.phases = phases_of(conv);
  t.problem = phase_problem(conv, t.phases);
  t.lanes = random.chance(0.5) ? 16 : 8;
  t.has_border = random.chance(0.3);
  t.stacks_per_batch = random.integer(1, t.stacks());
  return t;
}

class RandomTilings : public testing::Test {
 protected:
  template <class Check>
  static void each(const Check& check) {
    for (int index = 0; index < test::case_count(200); ++index) {
      const std::uint64_t seed = test::base_seed() * 1000 + static_cast<std::uint64_t>(index);
      test::Random random(seed);
      const Tiling t = random_tiling(random);
      SCOPED_TRACE("seed " + std::to_string(seed) + ": " + to_string(LayerProblem(t.problem)) + ", T " +
                   to_string(t.T) + ", stacks " + std::to_string(t.stacks_per_batch));
      check(t);
    }
  }
};

TEST(TileExtents, AreEvenAndRise) {
  std::int64_t before = 2;
  for (const std::int64_t extent : tile_extents()) {
    EXPECT_EQ(extent % 2, 0);
    EXPECT_GT(extent, before);
    before = extent;
  }
}

TEST_F(RandomTilings, CoverTheOutputOnce) {
  each([](const Tiling& t) {
    const Vec3 n = t.n_out();
    std::vector<int> covered(static_cast<std::size_t>(t.problem.in.S * n.y * n.x));
    for (std::int64_t index = 0; index < t.stacks(); ++index) {
      const Stack at = stack_at(t, index);
      const std::int64_t channel = at.s * voxels(t.phases.count) + fragment_index(at.phase, t.phases.count);
      for (std::int64_t y = at.y; y < std::min(n.y, at.y + t.m().y); ++y) {
        for (std::int64_t x = at.x; x < std::min(n.x, at.x + t.m().x); ++x) {
          ++covered[static_cast<std::size_t>((channel * n.y + y) * n.x + x)];
        }
      }
    }
    EXPECT_EQ(std::count(covered.begin(), covered.end(), 1), static_cast<std::ptrdiff_t>(covered.size()));
    EXPECT_GE(t.tiles().z * t.m().z, n.z);
    EXPECT_LT((t.tiles().z - 1) * t.m().z, n.z);
  });
}

// Every plane of the input that an output plane reads lies in the column, and no tile reads beyond it.
TEST_F(RandomTilings, HavePlanesForAllTiles) {
  each([](const Tiling& t) {
    EXPECT_GE(t.planes(), t.has_border ? t.n_out().z : t.problem.in.n.z);
    EXPECT_EQ((t.tiles().z - 1) * t.m().z + t.T.z, t.planes());
  });
}

TEST_F(RandomTilings, StackAtIsABijection) {
  each([](const Tiling& t) {
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, Vec3>> places;
    for (std::int64_t index = 0; index < t.stacks(); ++index) {
      const Stack at = stack_at(t, index);
      EXPECT_TRUE(at.s >= 0 && at.s < t.problem.in.S / voxels(t.phases.count)) << index;
      EXPECT_TRUE(covers(at.phase, {}) && covers(t.phases.count - Vec3::cube(1), at.phase)) << index;
      EXPECT_TRUE(at.y % t.m().y == 0 && at.y >= 0 && at.y < t.n_out().y) << index;
      EXPECT_TRUE(at.x % t.m().x == 0 && at.x >= 0 && at.x < t.n_out().x) << index;
      places.emplace(at.s, at.y, at.x, at.phase);
    }
    EXPECT_EQ(static_cast<std::int64_t>(places.size()), t.stacks());
  });
}

TEST_F(RandomTilings, BatchesShareOutAllStacks) {
  each([](const Tiling& t) {
    std::int64_t stacks = 0;
    for (std::int64_t batch = 0; batch < t.batches(); ++batch) {
      EXPECT_GE(t.stacks_of(batch), 1);
      EXPECT_LE(t.stacks_of(batch), t.stacks_per_batch);
      stacks += t.stacks_of(batch);
    }
    EXPECT_EQ(stacks, t.stacks());
    EXPECT_EQ(t.tiles_per_batch(), t.stacks_per_batch * t.tiles().z);
  });
}

// The columns of the kx follow each other without gaps, and with their conjugates they are the full spectrum.
TEST_F(RandomTilings, ColumnsAreTheHalfThatARealPlaneNeeds) {
  each([](const Tiling& t) {
    std::vector<int> of_column(static_cast<std::size_t>(t.columns()));
    std::vector<int> of_frequency(static_cast<std::size_t>(t.T.y * t.T.x));
    for (std::int64_t kx = 0; kx <= t.T.x / 2; ++kx) {
      const bool real = kx == 0 || kx == t.T.x / 2;
      for (std::int64_t ky = 0; ky < (real ? t.T.y / 2 + 1 : t.T.y); ++ky) {
        const std::int64_t column = t.first_column(kx) + ky;
        ASSERT_LT(column, t.columns());
        ++of_column[static_cast<std::size_t>(column)];
        ++of_frequency[static_cast<std::size_t>(ky * t.T.x + kx)];
        if (column_weight(t, column) == 1) continue;
        ++of_frequency[static_cast<std::size_t>((t.T.y - ky) % t.T.y * t.T.x + (t.T.x - kx) % t.T.x)];
      }
    }
    EXPECT_EQ(std::count(of_column.begin(), of_column.end(), 1), t.columns());
    EXPECT_EQ(std::count(of_frequency.begin(), of_frequency.end(), 1), t.T.y * t.T.x);
  });
}

TEST_F(RandomTilings, WeightsSumUpToThePlane) {
  each([](const Tiling& t) {
    std::int64_t sum = 0;
    for (std::int64_t column = 0; column < t.columns(); ++column) sum += column_weight(t, column);
    EXPECT_EQ(sum, t.T.y * t.T.x);
  });
}

TEST_F(RandomTilings, StepsLeaveRoomForWhatTheySpan) {
  each([](const Tiling& t) {
    EXPECT_GE(t.block_step(), 2 * t.lanes);
    EXPECT_GE(t.stack_step(), t.in_blocks() * t.block_step());
    EXPECT_GE(t.stack_step(), t.out_blocks() * t.block_step());
    EXPECT_GE(t.plane_step(), t.stacks_per_batch * t.stack_step());
    EXPECT_GE(t.column_step(), t.planes() * t.plane_step());
    EXPECT_EQ(t.block_step() % 16, 0) << "blocks start at whole cache lines";
    EXPECT_EQ(t.column_step() % t.block_step(), 0);
    EXPECT_GE(t.in_blocks() * t.lanes, t.problem.in.f);
    EXPECT_LT((t.out_blocks() - 1) * t.lanes, t.problem.f_out);
  });
}

}  // namespace
}  // namespace znni::cpu::fft_tiled

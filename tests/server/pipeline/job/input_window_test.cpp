#include "server/pipeline/job/input_window.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/random.hpp"

namespace znni {
namespace {

using test::Random;

// Only remembers what was wanted.
class Wishes final : public PlaneSource {
 public:
  explicit Wishes(Vec3 n) { shape_.n = n; }
  [[nodiscard]] const VolumeShape& shape() const override { return shape_; }
  void want(const PlaneRange& planes) override { wanted.push_back(planes); }
  [[nodiscard]] bool here() const override { return false; }
  [[nodiscard]] Result<void> wait(const std::stop_token& /*stop*/) override { return {}; }
  [[nodiscard]] const std::byte* plane(std::int64_t /*channel*/, std::int64_t /*z*/) const override { return nullptr; }

  std::vector<PlaneRange> wanted;

 private:
  VolumeShape shape_;
};

// Returns conv k x k x k in patches of `edge` outputs, or in steps of `planes` new ones.
Geometry geometry_of(std::int64_t k, std::int64_t edge, std::int64_t planes, std::int64_t S, int axis = 0) {
  Network network;
  network.nodes = {{"conv", Convolution{1, Vec3::cube(k), Vec3::cube(1), {}}, {0}}};
  const Vec3 patch = Vec3::cube(edge + k - 1);
  if (planes == 0) return *make_geometry(network, {patch, S, {}});
  return *make_geometry(network, {{planes, patch.y, patch.x}, 1, {}, 0, true, axis});
}

// Returns the planes that the head of a pipeline wants: the next batch while one is computed and the one before is
// stitched, with what other rungs need for all three.
std::vector<PlaneRange> wanted_ahead(const PatchGrid& grid, const Geometry& geometry, Vec3 volume) {
  Wishes source(volume);
  InputWindow window(source, grid, geometry, true);
  const auto patches = static_cast<std::int64_t>(grid.patches.size());
  const std::int64_t S = geometry.choice.S;
  std::int64_t undelivered = 0;
  for (std::int64_t first = 0; first < patches; first += S) {
    window.move_to(undelivered, std::min(first + S, patches));
    for (const GridRow& row : grid.rows) {
      if (row.end <= first - S) undelivered = std::max(undelivered, row.end);  // when the next one is read
    }
  }
  return source.wanted;
}

std::vector<PlaneRange> wanted_by(const PatchGrid& grid, const Geometry& geometry, Vec3 volume) {
  Wishes source(volume);
  InputWindow window(source, grid, geometry);
  const auto patches = static_cast<std::int64_t>(grid.patches.size());
  const std::int64_t S = geometry.choice.S;
  for (std::int64_t first = 0; first < patches; first += S) window.move_to(first, std::min(first + S, patches));
  return source.wanted;
}

using Ranges = std::vector<PlaneRange>;

TEST(InputWindow, ARowOfPatchesHoldsItsPlanes) {
  const Geometry geometry = geometry_of(3, 4, 0, 1);
  const Vec3 volume = {11, 6, 10};  // 9 dense planes in rows of 4, the last one moved inward
  const PatchGrid grid = make_patch_grid(volume, geometry, Vec3::cube(3), saturated);
  EXPECT_EQ(wanted_by(grid, geometry, volume), (Ranges{{0, 6}, {0, 6}, {4, 10}, {4, 10}, {5, 11}, {5, 11}}));
  EXPECT_EQ(input_planes(volume, geometry, Vec3::cube(3), saturated), 6);
}

TEST(InputWindow, OneColumnReadsNewPlanesOnly) {
  const Geometry geometry = geometry_of(6, 2, 4, 1);
  const PatchGrid grid = make_patch_grid({12, 7, 7}, geometry, Vec3::cube(6), saturated);
  EXPECT_EQ(wanted_by(grid, geometry, {12, 7, 7}), (Ranges{{0, 4}, {4, 8}, {8, 12}}));
  EXPECT_EQ(input_planes({12, 7, 7}, geometry, Vec3::cube(6), saturated), 4);
}

TEST(InputWindow, SeveralColumnsReadABandAgain) {
  const Geometry geometry = geometry_of(6, 2, 4, 1);
  const Vec3 volume = {30, 7, 9};
  const PatchGrid grid = make_patch_grid(volume, geometry, Vec3::cube(6), 13);  // bands of 11 planes: 4 steps
  const Ranges found = wanted_by(grid, geometry, volume);
  EXPECT_EQ(found[3], (PlaneRange{0, 16}));
  EXPECT_EQ(found[4], (PlaneRange{0, 16}));
  EXPECT_EQ(found[6], (PlaneRange{8, 16}));
  EXPECT_EQ(found[7], (PlaneRange{11, 16}));
  EXPECT_EQ(found[10], (PlaneRange{11, 28})) << "the last column goes on, and ends within a step";
  EXPECT_EQ(found.back(), (PlaneRange{26, 30}));
  EXPECT_EQ(input_planes(volume, geometry, Vec3::cube(6), 13), 17);
}

// Whatever runs: what is read is wanted, wishes never go back, and no more is wanted than input_planes() says.
TEST(InputWindow, WishesCoverWhatIsReadAndStayWithinWhatIsSaid) {
  for (int i = 0; i < test::case_count(100); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    const std::int64_t k = random.integer(1, 5);
    const std::int64_t planes = random.chance(0.5) ? random.integer(1, 9) : 0;
    const auto axis = static_cast<int>(planes > 0 ? random.integer(0, 2) : 0);
    const std::int64_t S = planes > 0 ? 1 : random.integer(1, 4);
    const Geometry geometry = geometry_of(k, random.integer(1, 6), planes, S, axis);
    const Vec3 volume = Vec3::cube(k) + random.vec3(0, 20);
    const std::int64_t max_planes = random.chance(0.5) ? saturated : random.integer(1, 20);
    const PatchGrid grid = make_patch_grid(volume, geometry, Vec3::cube(k), max_planes);
    const Ranges found = wanted_by(grid, geometry, volume);
    const std::int64_t most = input_planes(volume, geometry, Vec3::cube(k), max_planes);
    for (std::size_t patch = 0; patch < grid.patches.size(); ++patch) {
      const PlaneRange& wanted = found[patch / static_cast<std::size_t>(geometry.choice.S)];
      const std::int64_t start = grid.patches[patch].start[axis];
      EXPECT_LE(wanted.first, std::clamp<std::int64_t>(start + geometry.read_begin[axis], 0, volume.z));
      EXPECT_GE(wanted.last, std::clamp<std::int64_t>(start + geometry.patch_input[axis], 0, volume.z));
      EXPECT_LE(wanted.last - wanted.first, most);
    }
    for (std::size_t n = 1; n < found.size(); ++n) {
      EXPECT_TRUE(found[n].first >= found[n - 1].first && found[n].last >= found[n - 1].last);
    }
    const std::int64_t ahead = input_planes_ahead(volume, geometry, Vec3::cube(k), max_planes);
    for (const PlaneRange& wanted : wanted_ahead(grid, geometry, volume)) {
      EXPECT_LE(wanted.last - wanted.first, ahead);
    }
  }
}

// Steps of 4 planes, the field of view 6: what is not delivered needs 5 planes before the new ones.
TEST(InputWindow, AheadOfAStreamTheNextTwoStepsAndWhatOthersWouldReadAgain) {
  const Geometry geometry = geometry_of(6, 2, 4, 1);
  const Vec3 volume = {24, 7, 7};
  const PatchGrid grid = make_patch_grid(volume, geometry, Vec3::cube(6), saturated);
  EXPECT_EQ(wanted_ahead(grid, geometry, volume), (Ranges{{0, 4}, {0, 8}, {0, 12}, {0, 16}, {3, 20}, {7, 24}}));
  EXPECT_EQ(input_planes_ahead(volume, geometry, Vec3::cube(6), saturated), 17);
}

}  // namespace
}  // namespace znni

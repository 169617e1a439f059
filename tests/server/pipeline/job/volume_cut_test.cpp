#include "server/pipeline/job/volume_cut.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "server/pipeline/engine.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/support/random.hpp"

namespace znni {
namespace {

using test::EngineBench;
using test::JobOutcome;
using test::Random;
using test::RandomVolume;

constexpr Vec3 fov{5, 5, 5};

// Estimates bands of a volume that holds `most` voxels of its cross-section: each reads fov - 1 planes more.
EstimateOfPart in_bands(std::int64_t most, Seconds per_plane = 1) {
  return [=](Vec3 input) -> PartEstimate {
    const Vec3 output = input - fov + Vec3::cube(1);
    const std::int64_t band = std::clamp<std::int64_t>(most / (output.y * output.x), 1, output.z);
    const auto area = static_cast<double>(div_up(output.y, 10) * div_up(output.x, 10));
    const auto planes = static_cast<double>(output.z + div_up(output.z, band) * (fov.z - 1));
    return {per_plane * area * planes, most >= output.y * output.x};
  };
}

TEST(VolumeCut, OfAVolumeThatWaitsForNothingThereIsOnePart) {
  const Vec3 output{100, 30, 50};
  const std::vector<Vec3> patches = {{4, 10, 10}};
  const VolumeCut cut = best_cut(output, fov, patches, in_bands(100 * 30 * 50));
  EXPECT_EQ(cut.part, output);
  EXPECT_EQ(cut.parts, 1);
  EXPECT_EQ(cut.seconds, cut.whole_seconds);
}

TEST(VolumeCut, OneThatIsTooWideIsCutIntoColumns) {
  const Vec3 output{100, 35, 50};
  const std::vector<Vec3> patches = {{4, 10, 10}};
  const VolumeCut cut = best_cut(output, fov, patches, in_bands(100 * 10 * 10));
  EXPECT_EQ(cut.part, (Vec3{100, 10, 10}));
  EXPECT_EQ(cut.parts, 4 * 5);
  EXPECT_NEAR(cut.seconds, 20 * 104, 1);
  EXPECT_GT(cut.whole_seconds, 5 * cut.seconds / 4);
}

// Less of the input is then sent twice.
TEST(VolumeCut, PartsAreAsLargeAsTheyMayBe) {
  const Vec3 output{100, 40, 40};
  const std::vector<Vec3> patches = {{4, 10, 10}};
  EXPECT_EQ(best_cut(output, fov, patches, in_bands(100 * 20 * 20)).part, (Vec3{100, 20, 20}));
  EXPECT_EQ(best_cut(output, fov, patches, in_bands(100 * 10 * 20)).parts, 8) << "either way";
}

TEST(VolumeCut, WhatDoesNotFitIsCutWhateverItTakes) {
  const Vec3 output{10, 40, 40};
  const std::vector<Vec3> patches = {{4, 10, 10}};
  const auto slower_but_fits = [](Vec3 input) -> PartEstimate { return {input.x < 44 ? 100.0 : 1.0, input.x < 44}; };
  EXPECT_EQ(best_cut(output, fov, patches, slower_but_fits).part, (Vec3{10, 40, 20}));
  const auto nothing_fits = [](Vec3 input) -> PartEstimate { return {static_cast<double>(input.x), false}; };
  EXPECT_EQ(best_cut(output, fov, patches, nothing_fits).parts, 1);
  EXPECT_FALSE(best_cut(output, fov, patches, nothing_fits).fits);
}

TEST(VolumeCut, WhatTakesNoTimeIsNotWorthTheCalls) {
  const Vec3 output{100, 40, 40};
  const std::vector<Vec3> patches = {{4, 10, 10}};
  EXPECT_EQ(best_cut(output, fov, patches, in_bands(100 * 20 * 20, 1e-6)).parts, 1);
}

// Each width is weighed once, by up to four kinds of parts, those at the ends too; of very many patches only some are.
TEST(VolumeCut, FewAreLookedAt) {
  const Vec3 output{10, std::int64_t{1} << 30, std::int64_t{1} << 30};
  for (const bool fits : {false, true}) {
    std::int64_t looks = 0;
    const auto counted = [&](Vec3 input) -> PartEstimate {
      ++looks;
      return {static_cast<double>(input.x), fits && input.x < 99};
    };
    const VolumeCut cut = best_cut(output, fov, std::vector<Vec3>(5, {4, 10, 10}), counted);
    EXPECT_EQ(cut.fits, fits);
    EXPECT_LE(looks, 12 * 12 * 4 + 1);
  }
}

struct AllParts {
  Seconds seconds = 0;
  std::int64_t parts = 0;
  bool fits = true;
};
AllParts all_parts(Vec3 output, Vec3 part, const EstimateOfPart& estimate) {
  AllParts all;
  for (std::int64_t y = 0; y < output.y; y += part.y) {
    for (std::int64_t x = 0; x < output.x; x += part.x) {
      const PartEstimate one = estimate(min(part, output - Vec3{0, y, x}) + fov - Vec3::cube(1));
      all.seconds += one.seconds;
      all.fits = all.fits && one.fits;
      ++all.parts;
    }
  }
  return all;
}

// Returns the least time over parts of every number of patches along y and along x; saturated if none fit.
Seconds soonest_of_all(Vec3 output, const std::vector<Vec3>& patches, const EstimateOfPart& estimate) {
  Seconds soonest = static_cast<Seconds>(saturated);
  for (const Vec3 patch : patches) {
    for (std::int64_t y = patch.y; y < output.y + patch.y; y += patch.y) {
      for (std::int64_t x = patch.x; x < output.x + patch.x; x += patch.x) {
        const AllParts all = all_parts(output, {output.z, y, x}, estimate);
        if (all.fits) soonest = std::min(soonest, all.seconds);
      }
    }
  }
  return soonest;
}

// The parts take what the cut says, their last ones too, and no other number of patches is much better than halves.
TEST(VolumeCut, NoOtherIsMuchSooner) {
  for (int i = 0; i < test::case_count(200); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    const Vec3 output = random.vec3(1, 60);
    const std::vector<Vec3> patches = {random.vec3(2, 20), random.vec3(2, 60)};
    const EstimateOfPart estimate = in_bands(random.integer(1, voxels(output)), 10);
    const VolumeCut cut = best_cut(output, fov, patches, estimate);
    const AllParts found = all_parts(output, cut.part, estimate);
    EXPECT_EQ(found.parts, cut.parts);
    EXPECT_EQ(found.fits, cut.fits);
    EXPECT_NEAR(cut.seconds, found.seconds, 0.03 * static_cast<double>(found.parts));
    const Seconds soonest = soonest_of_all(output, patches, estimate);
    EXPECT_EQ(cut.fits, soonest < static_cast<Seconds>(saturated));
    if (cut.fits) {
      EXPECT_LE(cut.seconds, 1.8 * soonest);
    }
  }
}

// Opens a net of field of view 8, in steps of 4 planes of the smallest cross-section. A step takes a second.
EngineBench thin_bench(bool in_phases) {
  const Network network = test::simple_network(1);
  GeometryChoice choice = test::choice_of(network, PoolMode::fragments, 0);
  if (in_phases) choice.modes.front() = {{1, 2, 2}, false};
  for (const int across : {1, 2}) choice.pass_input[across] = legal_extents(network, choice.modes, across, 99).front();
  choice.pass_input.z = 4;
  choice.streamed = true;
  EngineBench made = test::open_bench(network, {choice});
  made.engine.reset();
  made.plan.ladder.front().seconds = 1;
  made.engine = *Engine::open(made.network, made.weights, made.plan, made.catalogue, *made.device);
  return made;
}

// Returns the input of a part of the output.
RandomVolume part_of(const RandomVolume& volume, Vec3 start, Vec3 n) {
  RandomVolume part{{volume.shape.f, n, volume.shape.type, VolumeOrder::channel_major}, {}};
  for (std::int64_t i = 0; i < voxels(n); ++i) {
    const Vec3 at = start + fragment_at(i, n);
    const std::byte* from = volume.bytes.data() + test::voxel_index(volume.shape, 0, at) * 4;
    part.bytes.insert(part.bytes.end(), from, from + 4);
  }
  return part;
}

// The result of parts that are one job each: the output put together, [f][z][y][x], and the number of steps.
struct InParts {
  std::vector<float> output;
  std::int64_t patches = 0;
};
InParts run_parts(const EngineBench& made, const RandomVolume& volume, Vec3 part, std::int64_t max_held) {
  const Shape5 output = made.engine->estimate(volume.shape)->output;
  InParts all{std::vector<float>(static_cast<std::size_t>(output.f * voxels(output.n))), 0};
  const Vec3 more = made.engine->field_of_view() - Vec3::cube(1);
  for (Vec3 start; start.y < output.n.y; start = {0, start.y + part.y, 0}) {
    for (; start.x < output.n.x; start.x += part.x) {
      const Vec3 n = min(part, output.n - start);
      const RandomVolume input = part_of(volume, start, n + more);
      const JobOutcome outcome =
          test::run_job(*made.engine, input.view(), {}, ElementType::f32, VolumeOrder::channel_major, max_held);
      EXPECT_TRUE(outcome.statistics);
      all.patches += outcome.statistics->patches;
      const std::vector<float> values = test::output_values(outcome);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto index = static_cast<std::int64_t>(i);
        const Vec3 at = start + fragment_at(index % voxels(n), n);
        const std::int64_t channel = index / voxels(n);
        all.output[static_cast<std::size_t>(((channel * output.n.z + at.z) * output.n.y + at.y) * output.n.x + at.x)] =
            values[i];
      }
    }
  }
  return all;
}

// If the job of a stream may hold little, the whole begins again every few planes; in parts a column runs on. The
// voxels are the same to the last bit, because parts begin where columns do.
TEST(VolumeCut, PartsOfAWideVolumeRunFewerStepsAndGiveTheSame) {
  for (const bool in_phases : {false, true}) {
    const EngineBench made = thin_bench(in_phases);
    Random random(3);
    const RandomVolume volume = test::random_volume(1, {40, 13, 15}, ElementType::f32, random);
    const std::int64_t max_held = 16000;
    const VolumeCut cut = *made.engine->cut(volume.shape, ElementType::f32, max_held);
    ASSERT_GT(cut.parts, 1);
    const JobOutcome whole =
        test::run_job(*made.engine, volume.view(), {}, ElementType::f32, VolumeOrder::channel_major, max_held);
    const InParts parts = run_parts(made, volume, cut.part, max_held);
    EXPECT_LT(3 * parts.patches, 2 * whole.statistics->patches);
    EXPECT_EQ(parts.output, test::output_values(whole));
    const JobEstimate at_once = *made.engine->estimate(volume.shape);
    if (!in_phases) {
      EXPECT_EQ(parts.patches, at_once.patches) << "as if nothing had to wait";
    }
    EXPECT_EQ(made.engine->cut(volume.shape)->parts, 1) << "where all may be held";
  }
}

TEST(VolumeCut, ColumnsAlongYAndXAreNotCutAlongTheirAxis) {
  const Network network = test::simple_network(1);
  for (const int axis : {1, 2}) {
    GeometryChoice choice = test::choice_of(network, PoolMode::fragments, 0);
    choice.pass_input.z = 4;
    choice.streamed = true;
    choice.axis = axis;
    const EngineBench made = test::open_bench(network, {choice});
    const VolumeShape volume{1, {9, 60, 60}};
    const VolumeCut cut = *made.engine->cut(volume, ElementType::f32, 50000);
    EXPECT_GT(cut.parts, 1) << "it does not fit";
    EXPECT_EQ(cut.part[axis], 53);
    EXPECT_LT(cut.part[3 - axis], 53);
  }
}

TEST(VolumeCut, WhatNoJobWouldTakeIsRefused) {
  const EngineBench made = thin_bench(false);
  EXPECT_EQ(made.engine->cut({1, {8, 7, 8}}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(made.engine->cut({2, {9, 9, 9}}).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace znni

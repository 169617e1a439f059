#include "primitives/cpu/grad/tile_transforms.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/random.hpp"

namespace znni::cpu::fft_tiled {
namespace {

constexpr std::int64_t lanes = 8;

// Two channels each way; windows of 6 voxels and tiles of 5 by 4 by 3, the last ones cut.
Tiling small_tiling(std::int64_t stacks) {
  const ConvProblem conv{{1, 2, {9, 11, 10}}, 2, {2, 3, 4}, Vec3::cube(1), Vec3::cube(1), {}};
  return {conv, lanes, Vec3::cube(6), stacks};
}

// Runs all tasks of all batches, and returns the first value of the spectrum of each plane of each stack's channel 1:
// the sum of its voxels.
template <class Count, class Task>
std::vector<double> sums_of_planes(const Tiling& t, std::int64_t planes, const Count& count, const Task& task) {
  std::vector<double> sums;
  for (std::int64_t batch = 0; batch < t.batches(); ++batch) {
    std::vector<float> spectra(static_cast<std::size_t>(t.columns() * t.column_step() + 16));
    std::vector<float> scratch(
        static_cast<std::size_t>(forward_scratch(t) + forward_scratch(tiling_of_output(t)) + 16));
    const auto aligned = [](std::vector<float>& block) {
      return block.data() + (16 - reinterpret_cast<std::uintptr_t>(block.data()) / sizeof(float) % 16) % 16;
    };
    for (std::int64_t i = 0; i < count(batch); ++i) task(batch, i, aligned(spectra), aligned(scratch));
    for (std::int64_t stack = 0; stack < t.stacks_of(batch); ++stack) {
      for (std::int64_t z = 0; z < planes; ++z) {
        sums.push_back(static_cast<double>(aligned(spectra)[z * t.plane_step() + stack * t.stack_step() + 1]));
      }
    }
  }
  return sums;
}

// Returns the same by definition: the sum of the voxels of channel 1 in planes of boxes of these extents.
std::vector<double> exact_sums(const Tiling& t, const TensorView& view, Vec3 border, std::int64_t planes, Vec3 box) {
  std::vector<double> sums;
  for (std::int64_t index = 0; index < t.stacks(); ++index) {
    const Stack stack = stack_at(t, index);
    for (std::int64_t z = 0; z < planes; ++z) {
      double sum = 0;
      for (std::int64_t v = 0; v < box.y * box.x; ++v) {
        const Vec3 at = Vec3{z, stack.y + v / box.x, stack.x + v % box.x} - border;
        const bool is_inside = covers(at, {}) && covers(view.shape.n, at + Vec3::cube(1));
        if (is_inside) sum += static_cast<double>(view.at(0, 1, at));
      }
      sums.push_back(sum);
    }
  }
  return sums;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& exact) {
  ASSERT_EQ(found.size(), exact.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], exact[i], 1e-4) << i;
}

TEST(TileTransforms, WindowsOverlapAndMayHaveZerosAround) {
  for (const std::int64_t stacks : {9, 2}) {
    const Tiling t = small_tiling(stacks);
    const TileTransforms transforms(t, *tile_kernels(4));
    for (const Vec3 border : {Vec3{}, Vec3{1, 2, 3}}) {
      Shape5 shape = t.problem.in;
      shape.n = shape.n - border - border;
      std::vector<float> values = test::Random(1).normals(elements(shape));
      const TensorView in = dense_view(values.data(), shape);
      const auto count = [&](std::int64_t batch) { return transforms.window_tasks(batch); };
      const auto task = [&](std::int64_t batch, std::int64_t i, float* spectra, float* scratch) {
        transforms.transform_window(in, border, batch, i, spectra, scratch);
      };
      expect_near(sums_of_planes(t, t.planes(), count, task), exact_sums(t, in, border, t.planes(), t.T));
    }
  }
}

TEST(TileTransforms, TilesLieSideBySide) {
  for (const std::int64_t stacks : {9, 2}) {
    const Tiling t = small_tiling(stacks);
    const TileTransforms transforms(t, *tile_kernels(4));
    const Shape5 shape{1, t.problem.f_out, t.n_out()};
    std::vector<float> values = test::Random(2).normals(elements(shape));
    const TensorView out = dense_view(values.data(), shape);
    const auto count = [&](std::int64_t batch) { return transforms.tile_tasks(batch); };
    const auto task = [&](std::int64_t batch, std::int64_t i, float* spectra, float* scratch) {
      transforms.transform_tile(out, batch, i, spectra, scratch);
    };
    const std::int64_t planes = t.tiles().z * t.m().z;
    expect_near(sums_of_planes(t, planes, count, task), exact_sums(t, out, {}, planes, t.m()));
  }
}

}  // namespace
}  // namespace znni::cpu::fft_tiled

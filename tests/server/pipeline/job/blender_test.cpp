#include "server/pipeline/job/blender.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/random.hpp"

namespace znni {
namespace {

std::size_t index_at(Vec3 n, std::int64_t channel, Vec3 v) {
  return static_cast<std::size_t>(((channel * n.z + v.z) * n.y + v.y) * n.x + v.x);
}

Vec3 voxel_numbered(Vec3 n, std::int64_t number) { return {number / (n.y * n.x), number / n.x % n.y, number % n.x}; }

// Windows of random voxels over an output, their weighted mean by definition, and by a Blender.
class Blended {
 public:
  Blended(Shape5 output, Vec3 window, const WindowBlend& blend, test::Random& random)
      : output_(output), window_(window), grid_(make_window_grid(output.n, window, blend.overlap)) {
    const WindowWeights weights = window_weights(blend.weight, window);
    std::vector<double> sums(static_cast<std::size_t>(elements(output)));
    std::vector<double> all(sums.size());
    for (const GridPatch& patch : grid_.patches) {
      windows_.push_back(random.normals(output.f * voxels(window)));
      for (std::int64_t i = 0; i < output.f * voxels(window); ++i) {
        const Vec3 v = voxel_numbered(window, i % voxels(window));
        const Vec3 to = patch.start + v;
        if (!covers(to, {}) || !covers(output.n, to + Vec3::cube(1))) continue;
        const double weight = weights.of(v);
        const std::size_t index = index_at(output.n, i / voxels(window), to);
        sums[index] += weight * static_cast<double>(windows_.back()[static_cast<std::size_t>(i)]);
        all[index] += weight;
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) exact_.push_back(sums[i] / all[i]);
  }

  [[nodiscard]] std::vector<float> blend(WindowWeight weight, VolumeOrder order) {
    Executor executor(2);
    Blender blender(output_, window_, weight);
    std::vector<float> found(static_cast<std::size_t>(elements(output_)));
    std::size_t next = 0;
    for (const GridRow& row : grid_.rows) {
      for (; next < static_cast<std::size_t>(row.end); ++next) {
        const TensorView view = dense_view(windows_[next].data(), {1, output_.f, window_});
        blender.add(view, grid_.patches[next].start, executor);
      }
      write(row, order, blender, executor, found);
    }
    return found;
  }

  [[nodiscard]] const std::vector<double>& exact() const { return exact_; }

 private:
  void write(const GridRow& row, VolumeOrder order, Blender& blender, Executor& executor, std::vector<float>& found) {
    const Vec3 n{row.planes, output_.n.y, output_.n.x};
    std::vector<float> planes(static_cast<std::size_t>(output_.f * voxels(n)));
    const VolumeShape shape{output_.f, n, ElementType::f32, order};
    blender.write({row.first_plane, reinterpret_cast<std::byte*>(planes.data()), shape}, executor);
    for (std::int64_t channel = 0; channel < output_.f; ++channel) {
      for (std::int64_t i = 0; i < voxels(n); ++i) {
        const Vec3 v = voxel_numbered(n, i);
        const std::int64_t from = channel * channel_stride(shape) + v.z * plane_stride(shape) + v.y * n.x + v.x;
        found[index_at(output_.n, channel, v + Vec3{row.first_plane, 0, 0})] = planes[static_cast<std::size_t>(from)];
      }
    }
  }

  Shape5 output_;
  Vec3 window_;
  PatchGrid grid_;
  std::vector<std::vector<float>> windows_;
  std::vector<double> exact_;
};

TEST(Blender, WritesTheWeightedMean) {
  for (int i = 0; i < test::case_count(30); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    test::Random random(seed);
    const WindowWeight weight = random.chance(0.5) ? WindowWeight::gaussian : WindowWeight::constant;
    const WindowBlend blend{weight, 0.1 * static_cast<double>(random.integer(0, 9))};
    Blended blended({1, random.integer(1, 3), random.vec3(1, 14)}, random.vec3(1, 9), blend, random);
    const VolumeOrder order = random.chance(0.5) ? VolumeOrder::channel_major : VolumeOrder::plane_major;
    const std::vector<float> found = blended.blend(weight, order);
    for (std::size_t v = 0; v < found.size(); ++v) ASSERT_NEAR(found[v], blended.exact()[v], 5e-5) << v;
  }
}

TEST(Blender, BytesAreThoseOfAWindowsPlanesAndWeights) {
  EXPECT_EQ(Blender::bytes({1, 3, {100, 20, 10}}, {8, 4, 4}), 4 * (8 + 4 + 4 + 4 * 8 * 20 * 10));
  EXPECT_EQ(Blender::bytes({1, 3, {5, 20, 10}}, {8, 4, 4}), 4 * (8 + 4 + 4 + 4 * 5 * 20 * 10));
}

}  // namespace
}  // namespace znni

// The outside of a volume, set to a value in every layout.
#include "server/pipeline/schedule/outside.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "planner/network/padding.hpp"
#include "planner/network/stacks.hpp"
#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/device/cpu_device.hpp"
#include "tests/support/random.hpp"

namespace znni {
namespace {

using test::Random;

// Returns the place as far inside of [begin, end) as `at` lies outside.
Vec3 reflected(Vec3 at, Vec3 begin, Vec3 end) {
  for (int axis = 0; axis < 3; ++axis) {
    if (at[axis] < begin[axis]) at[axis] = 2 * begin[axis] - at[axis];
    if (at[axis] >= end[axis]) at[axis] = 2 * (end[axis] - 1) - at[axis];
  }
  return at;
}

class Outside : public testing::TestWithParam<Layout> {
 protected:
  Outside() : device_(cpu::backend().open(cpu::describe_cpu(2), std::int64_t{1} << 20, 0, 0).value()) {}

  // Expects ones where voxels keep their values, in a tensor that was all ones.
  void expect_filled_outside(const Shape5& shape, const std::vector<Vec3>& starts, const Border& border, Vec3 whole) {
    const Format format{ElementType::f32, GetParam()};
    const Strides strides = dense_strides(shape, format);
    std::vector<float> memory(static_cast<std::size_t>(strides.S * shape.S), 1.0F);
    const TensorView view = dense_view(memory.data(), shape, format);
    fill_outside(view, starts, border, whole, -2.0F, device_->executor());
    for (std::int64_t s = 0; s < shape.S; ++s) {
      for (std::int64_t i = 0; i < voxels(shape.n); ++i) {
        const Vec3 v{i / (shape.n.y * shape.n.x), i / shape.n.x % shape.n.y, i % shape.n.x};
        const Vec3 at = starts[static_cast<std::size_t>(s)] + v;
        const bool inside = covers(at, border.begin) && covers(whole - border.end - Vec3::cube(1), at);
        for (std::int64_t j = 0; j < shape.f; ++j) {
          ASSERT_EQ(view.at(s, j, v), inside ? 1.0F : -2.0F) << to_string(at) << " of channel " << j << " of " << s;
        }
      }
    }
  }

  // Expects each voxel as at the nearest place inside, or, if it `reflects`, as far inside, of a tensor that was made
  // of the places themselves. The first `kept` planes stay if they are copies of planes that are not there.
  void expect_copied(const Shape5& shape, const std::vector<Vec3>& starts, const Border& border, Vec3 whole,
                     bool reflects, std::int64_t kept = 0) {
    const Format format{ElementType::f32, GetParam()};
    const Strides strides = dense_strides(shape, format);
    std::vector<float> memory(static_cast<std::size_t>(strides.S * shape.S));
    const TensorView view = dense_view(memory.data(), shape, format);
    const auto place = [&](std::int64_t j, Vec3 at) {
      return static_cast<float>((at.z * 64 + at.y) * 64 + at.x + 1) + static_cast<float>(j) / 32.0F;
    };
    const auto for_each = [&](const auto& body) {
      for (std::int64_t i = 0; i < elements(shape); ++i) {
        const std::int64_t v = i % voxels(shape.n);
        const std::int64_t channel = i / voxels(shape.n);
        body(channel / shape.f, channel % shape.f,
             Vec3{v / (shape.n.y * shape.n.x), v / shape.n.x % shape.n.y, v % shape.n.x});
      }
    };
    for_each([&](std::int64_t s, std::int64_t j, Vec3 v) {
      view.at(s, j, v) = place(j, starts[static_cast<std::size_t>(s)] + v);
    });
    (reflects ? fill_reflected : fill_edges)(view, starts, border, whole, kept, device_->executor());
    for_each([&](std::int64_t s, std::int64_t j, Vec3 v) {
      const Vec3 start = starts[static_cast<std::size_t>(s)];
      const Vec3 first = max(border.begin, start);
      const Vec3 last = min(whole - border.end, start + shape.n) - Vec3::cube(1);
      const Vec3 at = start + v;
      const Vec3 from = reflects ? reflected(at, border.begin, whole - border.end) : max(first, min(last, at));
      const bool stays = reflects && v.z < kept && (from.z < first.z || from.z > last.z);
      const bool is_there = covers(from, first) && covers(last, from);
      const float expected = stays ? place(j, at) : is_there ? place(j, from) : 0.0F;
      ASSERT_EQ(view.at(s, j, v), expected) << to_string(start + v) << " of channel " << j << " of " << s;
    });
  }

  std::unique_ptr<Device> device_;
};

// Steps of a stream behind the volume: what earlier steps repeated is not lost.
TEST_P(Outside, OfAStreamTheLastPlaneGoesOnBehindTheVolume) {
  const Shape5 shape{1, 17, {4, 2, 3}};
  const Format format{ElementType::f32, GetParam()};
  std::vector<float> memory(static_cast<std::size_t>(dense_strides(shape, format).S), 7.0F);
  const TensorView view = dense_view(memory.data(), shape, format);
  for (std::int64_t channel = 0; channel < shape.f; ++channel) {
    for (std::int64_t z = 0; z < 2; ++z) view.at(0, channel, {z, 1, 2}) = static_cast<float>(100 * z + channel);
  }
  const std::vector<Vec3> behind = {{9, 0, 0}};
  fill_edges(view, behind, {{}, {5, 0, 0}}, {14, 2, 3}, 2, device_->executor());
  for (std::int64_t channel = 0; channel < shape.f; ++channel) {
    EXPECT_EQ(view.at(0, channel, {0, 1, 2}), static_cast<float>(channel));
    for (std::int64_t z = 1; z < 4; ++z) {
      EXPECT_EQ(view.at(0, channel, {z, 1, 2}), static_cast<float>(100 + channel)) << z;
      EXPECT_EQ(view.at(0, channel, {z, 0, 0}), 7.0F) << z;
    }
  }
  const std::vector<Vec3> before = {{0, 0, 0}};
  fill_edges(view, before, {{4, 0, 0}, {}}, {14, 2, 3}, 2, device_->executor());
  EXPECT_EQ(view.at(0, 3, {3, 1, 2}), 0.0F) << "in front of the volume nothing was kept";
}

TEST_P(Outside, IsFilledAndNothingElse) {
  Random random(test::base_seed());
  for (int i = 0; i < test::case_count(40); ++i) {
    const Shape5 shape{random.integer(1, 3), random.integer(1, 20), random.vec3(1, 7)};
    const Border border{random.vec3(0, 3), random.vec3(0, 3)};
    std::vector<Vec3> starts;
    for (std::int64_t s = 0; s < shape.S; ++s) starts.push_back(random.vec3(-3, 9));
    expect_filled_outside(shape, starts, border, border.begin + border.end + random.vec3(1, 9));
  }
}

TEST_P(Outside, TakesTheNearestVoxelInside) {
  Random random(test::base_seed());
  for (int i = 0; i < test::case_count(40); ++i) {
    const Shape5 shape{random.integer(1, 3), random.integer(1, 20), random.vec3(1, 7)};
    const Border border{random.vec3(0, 3), random.vec3(0, 3)};
    std::vector<Vec3> starts;
    for (std::int64_t s = 0; s < shape.S; ++s) starts.push_back(random.vec3(0, 9));
    expect_copied(shape, starts, border, border.begin + border.end + random.vec3(1, 9), false);
  }
}

TEST_P(Outside, TakesTheVoxelAsFarInside) {
  Random random(test::base_seed());
  for (int i = 0; i < test::case_count(40); ++i) {
    const Shape5 shape{random.integer(1, 3), random.integer(1, 20), random.vec3(1, 7)};
    const Border border{random.vec3(0, 3), random.vec3(0, 3)};
    std::vector<Vec3> starts;
    for (std::int64_t s = 0; s < shape.S; ++s) starts.push_back(random.vec3(-2, 9));
    expect_copied(shape, starts, border, border.begin + border.end + random.vec3(1, 9), true, random.integer(0, 3));
  }
}

TEST_P(Outside, WhereNoVoxelIsInsideAllAreZero) {
  expect_copied({2, 3, {2, 3, 4}}, {{0, 0, 0}, {0, 0, 60}}, {{5, 1, 1}, {1, 1, 1}}, Vec3::cube(9), false);
}

TEST_P(Outside, AllOfAPatchBeyondTheVolumeIsFilled) {
  expect_filled_outside({2, 3, {2, 3, 4}}, {{-9, 0, 0}, {0, 0, 90}}, {{1, 1, 1}, {1, 1, 1}}, Vec3::cube(9));
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, Outside, testing::Values(Layout::planar, Layout::blocked16, Layout::blocked8, Layout::channels_last),
    [](const auto& given) {
      return std::string(std::array{"planar", "blocked16", "blocked8", "channels_last"}[given.index]);
    });

// Returns a convolution with a stride of 2 whose output is a voxel of padding at every side.
Network strided_and_padded(OutsideKind kind) {
  Network network;
  network.nodes.push_back({"conv", Convolution{1, Vec3::cube(3), Vec3::cube(1), {}, Vec3::cube(2)}, {0}});
  network.nodes[0].outside = {Vec3::cube(1), Vec3::cube(1)};
  network.nodes[0].outside_kind = kind;
  return network;
}

// Patches begin at even voxels; of a stream the value lags a plane behind.
TEST(ValueOutside, IsCountedInVoxelsOfTheValue) {
  Random random(test::base_seed());
  Executor executor(1);
  for (int i = 0; i < test::case_count(40); ++i) {
    Geometry geometry;
    geometry.choice.streamed = random.integer(0, 1) == 1;
    const Vec3 n = random.vec3(3, 9);
    const Vec3 first = random.vec3(0, 6);
    const std::int64_t earlier = random.integer(0, 2);
    const ValueOutside outside(strided_and_padded(OutsideKind::lowest), geometry, 0);
    ASSERT_FALSE(outside.is_empty());
    ASSERT_FALSE(outside.is_copied());
    const Shape5 shape{1, 1, random.vec3(1, 7)};
    std::vector<float> memory(static_cast<std::size_t>(elements(shape)), 1.0F);
    const TensorView view = dense_view(memory.data(), shape);
    const Vec3 lag{geometry.choice.streamed ? 1 : 0, 0, 0};
    const PatchPositions at{{first * Vec3::cube(2) + lag}, n * Vec3::cube(2) + Vec3::cube(1)};
    outside.fill(view, earlier, {}, executor);
    ASSERT_EQ(std::count(memory.begin(), memory.end(), 1.0F), std::ssize(memory)) << "the patch lies nowhere";
    outside.fill(view, earlier, at, executor);
    for (std::int64_t v = 0; v < voxels(shape.n); ++v) {
      const Vec3 voxel{v / (shape.n.y * shape.n.x), v / shape.n.x % shape.n.y, v % shape.n.x};
      const Vec3 of_value = first - Vec3{earlier, 0, 0} + voxel;
      const bool inside = covers(of_value, Vec3::cube(1)) && covers(n - Vec3::cube(2), of_value);
      ASSERT_EQ(view.at(0, 0, voxel), inside ? 1.0F : -std::numeric_limits<float>::infinity()) << to_string(of_value);
    }
  }
}

TEST(ValueOutside, RepeatsTheNearestVoxelWhereItsKindSaysSo) {
  Executor executor(1);
  const ValueOutside outside(strided_and_padded(OutsideKind::edge), {}, 0);
  EXPECT_TRUE(outside.is_copied());
  EXPECT_TRUE(ValueOutside().is_empty());
  std::vector<float> memory = {9, 5, 6, 9};
  const TensorView view = dense_view(memory.data(), {1, 1, {1, 1, 4}});
  outside.fill(view, 0, {{{2, 2, 0}}, {9, 9, 9}}, executor);
  EXPECT_EQ(memory, (std::vector<float>{5, 5, 6, 6}));
}

TEST(ValueOutside, ReflectsTheVoxelsInsideWhereItsKindSaysSo) {
  Executor executor(1);
  const ValueOutside outside(strided_and_padded(OutsideKind::reflect), {}, 0);
  EXPECT_TRUE(outside.is_copied());
  std::vector<float> memory = {9, 5, 6, 9};
  const TensorView view = dense_view(memory.data(), {1, 1, {1, 1, 4}});
  outside.fill(view, 0, {{{2, 2, 0}}, {9, 9, 9}}, executor);
  EXPECT_EQ(memory, (std::vector<float>{6, 5, 6, 5}));
}

// Keeps what it is told.
class ToldLayer final : public PreparedLayer {
 public:
  Result<void> run(std::span<const TensorView>, const TensorView&, Arena&) override { return {}; }
  void place(std::span<const Vec3> in, Vec3 extent) override {
    starts.assign(in.begin(), in.end());
    whole = extent;
    ++times;
  }

  std::vector<Vec3> starts;
  Vec3 whole;
  int times = 0;
};

// Returns a valid network: a convolution that pads by 1, then a stack that pads by 2 and by 1.
Network stacked_behind_convolution() {
  const Pooling pool{PoolKind::max, {4, 4, 4}, Vec3::cube(1)};
  LoadedNetwork loaded;
  loaded.network.nodes = {{"conv", Convolution{1, Vec3::cube(3), Vec3::cube(1), {}}, {0}},
                          {"pool", pool, {1}},
                          {"relu", Activate{{ActivationKind::relu, 0}}, {2}}};
  const std::vector<Border> pads = {{Vec3::cube(1), Vec3::cube(1)}, {Vec3::cube(2), Vec3::cube(1)}, {}};
  loaded = without_padding(loaded, pads).value();
  stack_poolings(loaded);
  return loaded.network;
}

TEST(StackPlace, TellsWhereAStackReadsTheVolume) {
  const Network network = stacked_behind_convolution();
  ASSERT_EQ(network.nodes.size(), 2U);
  ASSERT_EQ(network.frame, (Border{Vec3::cube(3), Vec3::cube(2)}));
  GeometryChoice choice;
  choice.pass_input = {9, 25, 10};
  choice.S = 2;
  choice.closed = {0, 1, 0};
  const Geometry geometry = make_geometry(network, choice).value();
  // The volume has 20 voxels per axis. Along y both patches begin with its first voxel, after zeros for the
  // convolution.
  const PatchPositions at{{{0, 2, 6}, {8, 2, 0}}, Vec3::cube(25)};
  ToldLayer layer;
  StackPlace(network, geometry, 1).tell(at, layer);
  EXPECT_EQ(layer.starts, (std::vector<Vec3>{{-2, 0, 4}, {6, 0, -2}}));
  EXPECT_EQ(layer.whole, Vec3::cube(20));
}

TEST(StackPlace, CountsPlanesOfEarlierSteps) {
  const Network network = stacked_behind_convolution();
  GeometryChoice choice;
  choice.pass_input = {2, 10, 10};
  choice.streamed = true;
  const Geometry geometry = make_geometry(network, choice).value();
  ASSERT_EQ(geometry.histories.kept[1], 3);
  // New planes 7 and 8 of the framed volume give planes 5 and 6 of what the convolution writes, 2 of which are beyond.
  const PatchPositions at{{{7, 1, 0}}, {40, 25, 25}};
  ToldLayer layer;
  StackPlace(network, geometry, 1).tell(at, layer);
  EXPECT_EQ(layer.starts, (std::vector<Vec3>{{0, -1, -2}}));
  EXPECT_EQ(layer.whole, (Vec3{35, 20, 20}));
}

TEST(StackPlace, OthersAreToldNothing) {
  const Network network = stacked_behind_convolution();
  GeometryChoice choice;
  choice.pass_input = Vec3::cube(9);
  const Geometry geometry = make_geometry(network, choice).value();
  ToldLayer layer;
  StackPlace().tell({{{0, 0, 0}}, Vec3::cube(25)}, layer);
  StackPlace(network, geometry, 0).tell({{{0, 0, 0}}, Vec3::cube(25)}, layer);
  EXPECT_EQ(layer.times, 0);
  StackPlace(network, geometry, 1).tell({}, layer);  // patches that lie nowhere
  EXPECT_EQ(layer.times, 1);
  EXPECT_TRUE(layer.starts.empty());
}

}  // namespace
}  // namespace znni

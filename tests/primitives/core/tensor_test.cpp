#include "primitives/core/tensor.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

namespace znni {
namespace {

constexpr Format planar_format{ElementType::f32, Layout::planar};
constexpr Format blocked8{ElementType::f32, Layout::blocked8};
constexpr Format blocked16{ElementType::f32, Layout::blocked16};
constexpr Format channels_last{ElementType::f32, Layout::channels_last};

TEST(Tensor, BytesCountWholeBlocks) {
  const Shape5 shape{2, 17, {3, 4, 5}};
  EXPECT_EQ(tensor_bytes(shape, planar_format), 2 * 17 * 60 * 4);
  EXPECT_EQ(tensor_bytes(shape, channels_last), 2 * 17 * 60 * 4);
  EXPECT_EQ(tensor_bytes(shape, blocked8), 2 * 24 * 60 * 4);
  EXPECT_EQ(tensor_bytes(shape, blocked16), 2 * 32 * 60 * 4);
  EXPECT_EQ(tensor_bytes(shape, {ElementType::u8, Layout::planar}), 2 * 17 * 60);
  EXPECT_EQ(tensor_bytes(shape, {ElementType::bf16, Layout::planar}), 2 * 17 * 60 * 2);
  EXPECT_EQ(tensor_bytes(shape, {ElementType::f16, Layout::planar}), 2 * 17 * 60 * 2);
}

TEST(Tensor, BytesSaturate) { EXPECT_EQ(tensor_bytes({1 << 20, 1 << 20, Vec3::cube(1 << 20)}, blocked16), saturated); }

TEST(Tensor, DenseStrides) {
  const Shape5 shape{2, 17, {3, 4, 5}};
  EXPECT_EQ(dense_strides(shape, planar_format), (Strides{17 * 60, 60, 20, 5, 1}));
  EXPECT_EQ(dense_strides(shape, blocked16), (Strides{2 * 960, 960, 320, 80, 16}));
  EXPECT_EQ(dense_strides(shape, channels_last), (Strides{1020, 1, 340, 85, 17}));
}

// Every element of a dense tensor has its own place within the tensor's bytes.
TEST(Tensor, DenseViewsPlaceEveryElementOnce) {
  const Shape5 shape{2, 19, {2, 3, 4}};
  for (const Format format : {planar_format, blocked8, blocked16, channels_last}) {
    std::vector<float> memory(static_cast<std::size_t>(tensor_bytes(shape, format) / 4));
    const TensorView view = dense_view(memory.data(), shape, format);
    EXPECT_TRUE(view.is_dense());
    std::set<const float*> places;
    for (std::int64_t s = 0; s < shape.S; ++s) {
      for (std::int64_t j = 0; j < shape.f; ++j) {
        for (std::int64_t v = 0; v < voxels(shape.n); ++v) {
          places.insert(&view.at(s, j, {v / 12, v / 4 % 3, v % 4}));
        }
      }
    }
    EXPECT_EQ(static_cast<std::int64_t>(places.size()), elements(shape)) << to_string(format);
    EXPECT_GE(*places.begin(), memory.data()) << to_string(format);
    EXPECT_LT(*places.rbegin(), memory.data() + memory.size()) << to_string(format);
  }
}

TEST(Tensor, ChannelsOfABlockAreNeighbours) {
  std::vector<float> memory(64);
  const TensorView view = dense_view(memory.data(), {1, 10, {1, 1, 4}}, blocked8);
  EXPECT_EQ(view.channel(0, 3), memory.data() + 3);
  EXPECT_EQ(view.channel(0, 9), memory.data() + 32 + 1);
  EXPECT_EQ(&view.at(0, 9, {0, 0, 2}), memory.data() + 32 + 16 + 1);
}

TEST(Tensor, AWindowIsNotDense) {
  std::vector<float> memory(64);
  TensorView view = dense_view(memory.data(), {1, 1, {4, 4, 4}});
  view.shape.n = {3, 3, 3};
  EXPECT_FALSE(view.is_dense());
}

TEST(Tensor, Text) {
  EXPECT_EQ(to_string(planar_format), "f32:planar");
  EXPECT_EQ(to_string(blocked16), "f32:blocked16");
  EXPECT_EQ(to_string(Format{ElementType::u8, Layout::channels_last}), "u8:channels_last");
  EXPECT_EQ(to_string(Format{ElementType::bf16, Layout::channels_last}), "bf16:channels_last");
}

}  // namespace
}  // namespace znni

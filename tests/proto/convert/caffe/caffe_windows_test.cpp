#include "proto/convert/caffe/caffe_windows.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "proto/convert/base/text_format.hpp"

namespace znni {
namespace {

template <class Parameters>
Result<CaffeWindows> parsed(const std::string& text, int rank) {
  Parameters parameters;
  EXPECT_TRUE(parse_text(text, parameters));
  return windows_of(parameters, rank);
}

std::string refusal_of(const std::string& text, int rank) {
  const Result<CaffeWindows> windows = parsed<caffe::ConvolutionParameter>(text, rank);
  return windows ? "" : windows.error().message;
}

TEST(CaffeWindows, OneValueOrOneForEachAxis) {
  const Result<CaffeWindows> one = parsed<caffe::ConvolutionParameter>("kernel_size: 3 pad: 1", 3);
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->kernel, (CaffeExtents{3, 3, 3}));
  EXPECT_EQ(one->pad, (CaffeExtents{1, 1, 1}));
  EXPECT_EQ(one->stride, (CaffeExtents{1, 1, 1}));
  EXPECT_EQ(one->dilation, (CaffeExtents{1, 1, 1}));
  const Result<CaffeWindows> each =
      parsed<caffe::PoolingParameter>("kernel_size: 1 kernel_size: 2 kernel_size: 3 stride: [1, 2, 4] dilation: 2", 3);
  ASSERT_TRUE(each) << each.error().message;
  EXPECT_EQ(each->kernel, (CaffeExtents{1, 2, 3}));
  EXPECT_EQ(each->stride, (CaffeExtents{1, 2, 4}));
  EXPECT_EQ(each->pad, (CaffeExtents{0, 0, 0}));
  EXPECT_EQ(each->dilation, (CaffeExtents{2, 2, 2}));
}

TEST(CaffeWindows, HeightAndWidth) {
  const Result<CaffeWindows> windows =
      parsed<caffe::PoolingParameter>("kernel_h: 3 kernel_w: 5 stride_w: 2 pad_h: 1", 2);
  ASSERT_TRUE(windows) << windows.error().message;
  EXPECT_EQ(windows->kernel, (CaffeExtents{3, 5}));
  EXPECT_EQ(windows->stride, (CaffeExtents{1, 2}));
  EXPECT_EQ(windows->pad, (CaffeExtents{1, 0}));
}

TEST(CaffeWindows, Wrong) {
  EXPECT_EQ(refusal_of("", 3), "has 0 values of kernel_size; 1 or 3 are right");
  EXPECT_EQ(refusal_of("kernel_size: 1 kernel_size: 2", 3), "has 2 values of kernel_size; 1 or 3 are right");
  EXPECT_EQ(refusal_of("kernel_size: 0", 3), "kernel_size is 0");
  EXPECT_EQ(refusal_of("kernel_size: 1 stride: 0", 3), "stride is 0");
  EXPECT_EQ(refusal_of("kernel_h: 1 kernel_w: 1", 3),
            "kernel_size_h and kernel_size_w are of two spatial axes, and "
            "stand alone");
  EXPECT_EQ(refusal_of("kernel_h: 1", 2), "kernel_size is 0");
}

TEST(CaffeWindows, ExtentsOfBlobs) {
  EXPECT_EQ(extents_text({3, 8, 1}), "3x8x1");
  EXPECT_EQ(extents_text({}), "none");
  EXPECT_TRUE(check_extents({1, 2147483647}));
  EXPECT_EQ(check_extents({1, 0}).error().message, "its extents are 1x0; each from 1 to 2147483647 is right");
  EXPECT_FALSE(check_extents({2147483648}));
}

// Counts windows as Caffe's definition does: all that begin at a multiple of the stride, and end within the pads; with
// `ceil` one more, if voxels are left.
TEST(CaffeWindows, Extents) {
  for (std::int64_t n = 1; n < 12; ++n) {
    for (std::int64_t kernel = 1; kernel < 4; ++kernel) {
      for (std::int64_t stride = 1; stride < 4; ++stride) {
        const CaffeWindows windows = {{kernel}, {stride}, {1}, {2}};
        const std::int64_t span = 2 * kernel - 1;
        std::int64_t count = 0;
        std::int64_t covered = 0;
        for (std::int64_t begin = 0; begin + span <= n + 2; begin += stride) {
          ++count;
          covered = begin + span;
        }
        const bool rest = count > 0 && covered < n + 2;
        EXPECT_EQ(extents_after(windows, {n}), count == 0 ? CaffeExtents() : CaffeExtents{count});
        if (count == 0) continue;
        EXPECT_EQ(has_rest(windows, {n}), rest);
        EXPECT_EQ(extents_after(windows, {n}, true), CaffeExtents{count + (rest ? 1 : 0)});
      }
    }
  }
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(extents_after({{1}, {3}, {0}, {1}}, {most}, true), CaffeExtents{most / 3 + 1});
  const CaffeWindows windows = {{3}, {2}, {1}, {1}};
  EXPECT_EQ(extents_before(windows, {5}), CaffeExtents{9});
  EXPECT_EQ(extents_before({{1}, {1}, {1}, {1}}, {2}), CaffeExtents()) << "nothing is left";
  EXPECT_TRUE(has_rest(windows, {})) << "not known";
  EXPECT_FALSE(has_rest({{3}, {1}, {0}, {1}}, {}));
}

}  // namespace
}  // namespace znni

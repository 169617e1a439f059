#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/fft_tiling.hpp"
#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive conv_fft;
extern const Primitive conv_fft32;

namespace {

ConvProblem eighty(std::int64_t n, std::int64_t k) {
  return {{1, 80, Vec3::cube(n)}, 80, Vec3::cube(k), Vec3::cube(1), Vec3::cube(1), {ActivationKind::relu, 0.0F}, false};
}

TEST(CudaConvFft32, OffersChunksKeptSpectraAndPrecisions) {
  const std::vector<Estimate> estimates = sound_estimates(conv_fft32, eighty(300, 5));
  EXPECT_EQ(estimates.size(), 12U);
  EXPECT_EQ(sound_estimates(conv_fft32, eighty(20, 5)).size(), 6U) << "one chunk holds all";
  for (const Estimate& estimate : estimates) {
    EXPECT_EQ(estimate.in, planar_f32);
    EXPECT_EQ(estimate.spread, Vec3::cube(32 - 5));
  }
}

TEST(CudaConvFft32, TakesLessMemoryAndTimeThanCuFftOnTheSameTiles) {
  const FftTiling tiling = *make_tiling_of_32(eighty(300, 5), std::int64_t{256} << 20);
  const ConvProblem conv = eighty(300, 5);
  EXPECT_LT(peak(fft32_buffers(conv, tiling, true), MemorySpace::device),
            peak(fft_buffers(conv, tiling, true), MemorySpace::device));
  EXPECT_LT(fft32_traffic(conv, tiling, true), 0.7 * fft_traffic(conv, tiling, true));
}

// They are as exact as float32; products rounded to TF32 are not.
TEST(CudaConvFft32, SplitNumbersAreOfFloat32AndFaster) {
  const auto fastest = [](std::string_view setting_of_products) {
    double least = 1e30;
    for (const Estimate& estimate : sound_estimates(conv_fft32, eighty(300, 5))) {
      if (setting(estimate.variant, setting_of_products, 0) != 1) continue;
      least = std::min(least, estimate.time);
      EXPECT_EQ(precision_of(estimate.variant, estimate.in, estimate.out),
                setting_of_products == "tf32" ? Precision::tf32 : Precision::fp32);
    }
    return least;
  };
  double least = 1e30;
  for (const Estimate& estimate : sound_estimates(conv_fft32, eighty(300, 5))) {
    if (setting(estimate.variant, "tf32", 0) + setting(estimate.variant, "tf32x3", 0) == 0) {
      least = std::min(least, estimate.time);
    }
  }
  EXPECT_LT(fastest("tf32x3"), least);
  EXPECT_LT(fastest("tf32"), fastest("tf32x3"));
}

TEST(CudaConvFft32, ShortAxesTakeWholeTiles) {
  const FftTiling tiling =
      *make_tiling_of_32({{2, 3, {1, 20, 100}}, 4, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {}, false}, 1 << 30);
  EXPECT_EQ(tiling.grid.tile.z, 32);
  EXPECT_EQ(tiling.grid.tiles.z, 1);
  EXPECT_EQ(tiling.grid.tiles.y, 1);
  EXPECT_EQ(tiling.grid.tiles.x, 4);
}

TEST(CudaConvFft32, RefusesInWords) {
  expect_refusal(conv_fft32, AcrossChannelsProblem{{1, 3, {2, 2, 2}}}, "computes convolutions");
  expect_refusal(conv_fft32, eighty(300, 30), "less than a third");
  expect_refusal(conv_fft32, eighty(30, 3), "runs on GPUs", a_cpu());
  ConvProblem strided = eighty(30, 3);
  strided.stride.y = 2;
  expect_refusal(conv_fft32, strided, "convolutions without stride or groups, not: conv");
  expect_refusal(conv_fft32, ConvProblem{{1, 1 << 20, {8, 8, 8}}, 1 << 20, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {}, false},
                 "pairs of channels");
}

}  // namespace
}  // namespace znni::cuda

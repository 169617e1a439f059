#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/fft_tiling.hpp"
#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive conv_fft;

namespace {

ConvProblem eighty(std::int64_t n, std::int64_t k) {
  return {{1, 80, Vec3::cube(n)}, 80, Vec3::cube(k), Vec3::cube(1), Vec3::cube(1), {ActivationKind::relu, 0.0F}, false};
}

TEST(CudaConvFft, OffersTilesChunksKeptSpectraAndPrecisions) {
  const std::vector<Estimate> estimates = sound_estimates(conv_fft, eighty(300, 5));
  EXPECT_GT(estimates.size(), 20U);
  bool kept = false;
  bool tf32 = false;
  bool split = false;
  for (const Estimate& estimate : estimates) {
    EXPECT_EQ(estimate.in, planar_f32);
    kept = kept || setting(estimate.variant, "keep", 0) == 1;
    tf32 = tf32 || setting(estimate.variant, "tf32", 0) == 1;
    split = split || setting(estimate.variant, "tf32x3", 0) == 1;
    EXPECT_EQ(estimate.spread, Vec3::cube(setting(estimate.variant, "tile", 0) - 5));
    EXPECT_TRUE(
        make_tiling(eighty(300, 5), setting(estimate.variant, "tile", 0), setting(estimate.variant, "chunk", 0) << 20));
  }
  EXPECT_TRUE(kept && tf32 && split);
}

TEST(CudaConvFft, SmallChannelsAreOfferedOnce) {
  std::vector<Estimate> estimates = sound_estimates(conv_fft, eighty(20, 5));
  EXPECT_EQ(estimates.size(), 6U) << "one tile and one chunk hold all: kept or not, three kinds of products";
}

TEST(CudaConvFft, LargerKernelsAreWorthMoreThanTheirDirectOperations) {
  const auto best = [](const std::vector<Estimate>& estimates) {
    double least = estimates.front().time;
    for (const Estimate& estimate : estimates) least = std::min(least, estimate.time);
    return least;
  };
  const double nine = best(sound_estimates(conv_fft, eighty(200, 9)));
  const double three = best(sound_estimates(conv_fft, eighty(200, 3)));
  EXPECT_LT(nine, 4.0 * three) << "27 times the operations of the direct form";
}

TEST(CudaConvFft, RefusesInWords) {
  expect_refusal(conv_fft, AcrossChannelsProblem{{1, 3, {2, 2, 2}}}, "computes convolutions");
  expect_refusal(conv_fft, eighty(300, 100), "less than a third");
  expect_refusal(conv_fft, eighty(30, 3), "runs on GPUs", a_cpu());
  ConvProblem strided = eighty(30, 3);
  strided.stride.y = 2;
  expect_refusal(conv_fft, strided, "convolutions without stride or groups, not: conv");
}

}  // namespace
}  // namespace znni::cuda

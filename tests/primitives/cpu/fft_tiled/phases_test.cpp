#include "primitives/cpu/fft_tiled/phases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "primitives/core/fragments.hpp"
#include "tests/support/random.hpp"

namespace znni::cpu::fft_tiled {
namespace {

ConvProblem dilated_conv(Vec3 n, Vec3 k, Vec3 dilation) {
  ConvProblem conv;
  conv.in = {2, 3, n};
  conv.k = k;
  conv.dilation = dilation;
  return conv;
}

TEST(Phases, OfAnUndilatedConvolutionIsOne) {
  const ConvProblem conv = dilated_conv({7, 8, 9}, {3, 3, 3}, {1, 1, 1});
  EXPECT_EQ(voxels(phases_of(conv).count), 1);
  EXPECT_EQ(phase_problem(conv, phases_of(conv)), conv);
}

TEST(Phases, AreAsManyAsTheDilationAllows) {
  const Phases phases = phases_of(dilated_conv({20, 20, 20}, {3, 2, 3}, {2, 4, 8}));
  EXPECT_EQ(phases.dilation, (Vec3{2, 4, 8}));
  EXPECT_EQ(phases.count, (Vec3{2, 4, 4})) << "4 voxels of the output along x have 4 phases";
}

TEST(Phases, NeedNoneAlongAxesOfOneTap) {
  const ConvProblem conv = dilated_conv({20, 20, 20}, {1, 3, 1}, {8, 2, 8});
  EXPECT_EQ(phases_of(conv).dilation, (Vec3{1, 2, 1}));
  EXPECT_EQ(phases_of(conv).count, (Vec3{1, 2, 1}));
  EXPECT_EQ(phase_problem(conv, phases_of(conv)).in, (Shape5{4, 3, {20, 10, 20}}));
}

TEST(Phases, TheFirstIsTheLargest) {
  const ConvProblem conv = dilated_conv({21, 22, 23}, {3, 3, 3}, {2, 3, 4});
  const ConvProblem phase = phase_problem(conv, phases_of(conv));
  EXPECT_EQ(phase.in, (Shape5{2 * 24, 3, {11, 8, 6}}));
  EXPECT_EQ(phase.dilation, Vec3::cube(1));
}

// Every voxel of input and output is in one phase, and a phase's output is that of an undilated convolution.
TEST(Phases, ShareOutAllVoxels) {
  for (int index = 0; index < test::case_count(100); ++index) {
    const std::uint64_t seed = test::base_seed() * 1000 + static_cast<std::uint64_t>(index);
    test::Random random(seed);
    ConvProblem conv = dilated_conv({}, random.vec3(1, 4), random.vec3(1, 8));
    conv.in.n = dilated(conv.k, conv.dilation) + random.vec3(0, 9);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + to_string(LayerProblem(conv)));
    const Phases phases = phases_of(conv);
    std::vector<float> seen(static_cast<std::size_t>(voxels(output_shape(conv).n)));
    const TensorView in = dense_view(nullptr, {1, 1, conv.in.n}, {});
    const TensorView out = dense_view(seen.data(), {1, 1, output_shape(conv).n}, {});
    for (std::int64_t i = 0; i < voxels(phases.count); ++i) {
      const Vec3 phase = fragment_at(i, phases.count);
      const Vec3 read = phase_view(in, phases.dilation, phase).shape.n;
      const TensorView written = phase_view(out, phases.dilation, phase);
      EXPECT_EQ(written.shape.n, read - conv.k + Vec3::cube(1));
      EXPECT_TRUE(covers(phase_problem(conv, phases).in.n, read));
      for (std::int64_t v = 0; v < voxels(written.shape.n); ++v) {
        const Vec3 at = fragment_at(v, written.shape.n);
        ++written.at(0, 0, at);
        EXPECT_EQ(&written.at(0, 0, at), &out.at(0, 0, phase + at * phases.dilation));
      }
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1.0F), static_cast<std::ptrdiff_t>(seen.size()));
  }
}

TEST(Phases, MayBeSinglePlanes) {
  const ConvProblem conv = dilated_conv({5, 20, 21}, {1, 3, 3}, {1, 2, 1});
  const Phases phases = planes_of(conv);
  EXPECT_EQ(phases.count, (Vec3{5, 2, 1}));
  EXPECT_EQ(phase_problem(conv, phases).in, (Shape5{2 * 5 * 2, 3, {1, 10, 21}}));
  EXPECT_EQ(phase_view(dense_view(nullptr, conv.in, {}), phases.dilation, {4, 1, 0}).shape.n, (Vec3{1, 10, 21}));
}

TEST(Phases, MayHaveNoVoxels) {
  const TensorView three = dense_view(nullptr, {1, 1, {3, 3, 3}}, {});
  EXPECT_EQ(phase_view(three, {4, 4, 2}, {3, 2, 1}).shape.n, (Vec3{0, 1, 1}));
}

}  // namespace
}  // namespace znni::cpu::fft_tiled

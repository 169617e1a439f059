// Upsamplings on the host, element by element as the kernel computes them, against the oracle.
#include "primitives/gpu/elementwise/upsample_view.hpp"

#include <gtest/gtest.h>

#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/pool_view.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/oracle/tolerance.hpp"
#include "tests/primitives/gpu/host_tensors.hpp"
#include "tests/support/harness.hpp"

namespace znni::cuda {
namespace {

template <int width>
void run_upsample(const UpsampleProblem& problem, const TensorView& in, const TensorView& out) {
  const UpsampleArg arg = upsample_arg(problem, in, out, width);
  const auto* const from = reinterpret_cast<const Lanes<float, width>*>(in.data);
  auto* const to = reinterpret_cast<Lanes<float, width>*>(out.data);
  for (Index index = 0; index < row_count(arg.rows); ++index) {
    const UpsampleRow row = upsample_row(arg, index);
    for (int element = 0; element < row_elements(arg.rows); ++element) upsample_element(arg, row, element, from, to);
  }
}

// Returns the width of the vectors.
int check_upsample(const UpsampleProblem& problem, Format format, bool window, std::uint64_t seed) {
  SCOPED_TRACE(to_string(LayerProblem(problem)) + " " + to_string(format) + (window ? ", windows" : ", dense"));
  test::Random random(seed);
  HostTensor in(problem.in, format, window, seed);
  HostTensor out(output_shape(problem), format, window, seed + 1);
  in.store(random.normals(elements(problem.in)));
  const int width = pool_width(in.view(), out.view());
  if (width == 4) {
    run_upsample<4>(problem, in.view(), out.view());
  } else {
    run_upsample<1>(problem, in.view(), out.view());
  }
  const std::vector<oracle::Values> exact = {oracle::widened(in.load())};
  test::expect_close(out.load(), oracle::oracle_run(problem, exact, {}), oracle::tolerance(problem, exact, {}),
                     to_string(format));
  return width;
}

TEST(UpsampleView, EveryKindEqualsTheOracle) {
  for (int i = 0; i < test::case_count(40); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    for (const UpsampleProblem& problem :
         {test::random_upsample(random), test::random_linear_upsample(random), test::random_aligned_upsample(random)}) {
      for (const Format format : {planar_f32, last_f32}) {
        check_upsample(problem, format, random.chance(0.5), seed);
      }
    }
  }
}

TEST(UpsampleView, ChannelsLastAreMovedInVectors) {
  for (const UpsampleKind kind : {UpsampleKind::nearest, UpsampleKind::shuffle, UpsampleKind::linear}) {
    EXPECT_EQ(check_upsample({{2, 32, {3, 4, 5}}, {1, 2, 2}, kind}, last_f32, false, 1), 4);
  }
}

// One voxel has no neighbour: all that is made of it are copies.
TEST(UpsampleView, AlignedCornersOfOneVoxelAreCopies) {
  const UpsamplePlace last = upsample_place<Index>(Upsampling::aligned, 1, 3, 2);
  EXPECT_EQ(last.near, 0);
  EXPECT_EQ(last.far, 0);
  EXPECT_EQ(last.share, 0.0F);
}

TEST(UpsampleView, AlignedCornersEndWhereTheInputDoes) {
  const UpsamplePlace last = upsample_place<Index>(Upsampling::aligned, 5, 3, 14);
  EXPECT_EQ(last.near, 4);
  EXPECT_EQ(last.far, 4);
  EXPECT_EQ(last.share, 0.0F);
}

}  // namespace
}  // namespace znni::cuda

// The kernel of a first layer that is pooled on the host, block by block and thread by thread, against the oracle.
#include "primitives/gpu/first_pool_view.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/first_view.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/oracle/tolerance.hpp"
#include "tests/primitives/gpu/host_math.hpp"
#include "tests/primitives/gpu/host_tensors.hpp"
#include "tests/support/harness.hpp"
#include "tests/support/random.hpp"

namespace znni::cuda {
namespace {

struct Parameters {
  std::vector<float> weights;
  std::vector<float> bias;
  [[nodiscard]] const Lanes<float, 4>* vectors() const {
    return reinterpret_cast<const Lanes<float, 4>*>(weights.data());
  }
};

// Runs as first_pool_kernel.cu does: all threads up to a barrier, then all up to the next.
template <class T, int window_z>
void run_blocks(const FirstPoolArg& arg, const TensorView& in, const Parameters& own, const TensorView& out) {
  std::vector<float> shared(first_pool_floats, std::nanf(""));
  for (Index index = 0; index < first_pool_blocks(arg); ++index) {
    const FirstPoolBlock block = first_pool_block(arg, index);
    std::vector<FirstPoolThread<window_z>> threads;
    for (int i = 0; i < first_pool_threads; ++i) threads.push_back(first_pool_thread<window_z>(arg, block, i));
    for (Index plane = 0; plane < block.planes; ++plane) {
      for (int i = 0; i < first_pool_threads; ++i) {
        first_pool_convolve<HostMath>(arg, block, i, plane, in.data, own.vectors(), own.bias.data(), shared.data());
      }
      for (int i = 0; i < first_pool_threads; ++i) {
        first_pool_reduce(arg, block, i, plane, shared.data(), threads[static_cast<std::size_t>(i)],
                          reinterpret_cast<T*>(out.data));
      }
    }
  }
}

template <class T>
void run_as(const FirstPoolArg& arg, const TensorView& in, const Parameters& own, const TensorView& out) {
  if (arg.window.z == 1) run_blocks<T, 1>(arg, in, own, out);
  if (arg.window.z == 2) run_blocks<T, 2>(arg, in, own, out);
  if (arg.window.z == 3) run_blocks<T, 3>(arg, in, own, out);
}

// Checks a convolution and its pooling. `planes`: those of a block; 0: as the launch has them.
void check_both(const ConvPoolProblem& both, Format format, bool window, std::uint64_t seed, Index planes = 0) {
  SCOPED_TRACE(to_string(LayerProblem(both)) + " to " + to_string(format) + (window ? ", windows" : ", dense"));
  ASSERT_TRUE(check(both)) << check(both).error().message;
  test::Random random(seed);
  const test::Weights weights = test::random_weights(both, random);
  const std::vector<std::vector<float>> values = test::random_inputs(both, random);
  HostTensor in(both.conv.in, planar_f32, window, seed);
  HostTensor out(output_shape(both), format, window, seed + 1);
  in.store(values[0]);
  out.store(std::vector<float>(static_cast<std::size_t>(elements(output_shape(both))), 1e9F));
  Parameters own{first_weights(both.conv, weights.kernels), weights.bias};
  own.bias.resize(static_cast<std::size_t>(first_padded(both.conv.f_out)));
  FirstPoolArg arg = first_pool_arg(both, in.view(), out.view());
  if (planes > 0) arg.planes = planes;
  if (format.type == ElementType::f32) run_as<float>(arg, in.view(), own, out.view());
  if (format.type == ElementType::bf16) run_as<Bfloat>(arg, in.view(), own, out.view());
  const std::vector<oracle::Values> exact = {oracle::widened(values[0])};
  const oracle::Values expected = oracle::oracle_run(both, exact, weights.view());
  double tolerance = oracle::tolerance(both, exact, weights.view());
  if (format.type == ElementType::bf16) {
    for (const double value : expected) tolerance = std::max(tolerance, std::abs(value) * 0x1p-8);
  }
  test::expect_close(out.load(), expected, tolerance, "first layer, pooled");
}

bool is_taken(const ConvPoolProblem& both) {
  return both.pool.kind == PoolKind::max && covers(Vec3::cube(first_pool_window), both.pool.window);
}

TEST(FirstPoolView, RandomConvolutionsWithPoolingsEqualTheOracle) {
  constexpr std::array formats = {planar_f32, last_f32, last_bf16};
  for (int i = 0; i < test::case_count(24); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    ConvPoolProblem both = test::random_conv_pool(random, i % 2 == 0 ? 1 : 3);
    while (!is_taken(both)) both = test::random_conv_pool(random, i % 2 == 0 ? 1 : 3);
    check_both(both, formats[static_cast<std::size_t>(i % 3)], random.chance(0.5), seed,
               random.chance(0.5) ? random.integer(1, 5) : 0);
  }
}

ConvPoolProblem fragments_of(Vec3 n, Vec3 k, Vec3 p, std::int64_t f_out) {
  ConvPoolProblem both;
  both.conv = {{1, 1, n + k - Vec3::cube(1)}, f_out, k, Vec3::cube(1), Vec3::cube(1),
               {ActivationKind::relu, 0.0F},  false};
  both.pool = {.in = {1, f_out, n}, .window = p, .stride = p, .mode = PoolMode::fragments};
  return both;
}

TEST(FirstPoolView, TilesMeetWithoutGapsAlongEveryAxis) {
  check_both(fragments_of({5, 33, 65}, {2, 2, 2}, {2, 2, 2}, 17), planar_f32, false, 1);
  check_both(fragments_of({3, 15, 31}, {1, 3, 1}, {1, 2, 2}, 16), planar_f32, true, 2);
  check_both(fragments_of({8, 17, 32}, {3, 1, 2}, {3, 3, 3}, 3), last_f32, false, 3, 2);
  check_both(fragments_of({7, 32, 34}, {1, 1, 4}, {2, 1, 1}, 33), last_bf16, true, 4, 1);
}

TEST(FirstPoolView, FragmentsOfEarlierPoolingsStandInTheirOrder) {
  ConvPoolProblem both = fragments_of({5, 5, 5}, {2, 2, 2}, {2, 2, 2}, 4);
  both.pool.fragments = {1, 3, 2};
  both.pool.in.S = both.conv.in.S = 12;
  check_both(both, planar_f32, false, 5);
}

TEST(FirstPoolView, GroupsOfFragmentsAndPlainPoolingsEqualTheOracle) {
  ConvPoolProblem both = fragments_of({6, 7, 9}, {2, 3, 1}, {2, 2, 2}, 5);
  both.pool.groups = {2, 2, 1};
  check_both(both, planar_f32, false, 6);
  both.pool.groups = Vec3::cube(1);
  both.pool.mode = PoolMode::plain;
  both.pool.stride = {2, 3, 1};
  check_both(both, last_f32, false, 7, 2);
}

TEST(FirstPoolView, NansAreKept) {
  const ConvPoolProblem both = fragments_of({2, 1, 2}, {1, 1, 1}, {2, 1, 2}, 1);
  HostTensor in(both.conv.in, planar_f32);
  HostTensor out(output_shape(both), planar_f32);
  in.store(std::vector<float>{1.0F, std::nanf(""), 2.0F, 3.0F});
  ConvPoolProblem identity = both;
  identity.conv.activation = {};
  const FirstPoolArg arg = first_pool_arg(identity, in.view(), out.view());
  Parameters own{first_weights(identity.conv, std::vector<float>{1.0F}), std::vector<float>(16)};
  run_as<float>(arg, in.view(), own, out.view());
  EXPECT_TRUE(std::isnan(out.load()[0]));
}

TEST(FirstPoolView, BlocksFillAGpuAndIndicesPassThirtyTwoBits) {
  const ConvPoolProblem both = fragments_of({601, 601, 601}, {5, 5, 5}, {2, 2, 2}, 80);
  const FirstPoolArg arg = first_pool_arg(both, dense_view(nullptr, both.conv.in, planar_f32),
                                          dense_view(nullptr, output_shape(both), planar_f32));
  EXPECT_EQ(arg.planes, 600) << "a tile of every column and group is enough";
  const FirstPoolBlock last = first_pool_block(arg, first_pool_blocks(arg) - 1);
  EXPECT_EQ(last.group, 4);
  EXPECT_EQ(last.planes, 601);
  const auto corner = first_pool_thread<2>(arg, first_pool_block(arg, last.group), 0);
  EXPECT_EQ(corner.out[0], std::int64_t{64} * 300 * 300 * 300);
  EXPECT_GT(elements(output_shape(both)), std::int64_t{1} << 33);
  const ConvPoolProblem small = fragments_of({65, 33, 33}, {2, 2, 2}, {2, 2, 2}, 16);
  const FirstPoolArg few = first_pool_arg(small, dense_view(nullptr, small.conv.in, planar_f32),
                                          dense_view(nullptr, output_shape(small), planar_f32));
  EXPECT_EQ(few.planes, 16);
  EXPECT_EQ(first_pool_blocks(few), 4 * 3 * 2);
  EXPECT_EQ(first_pool_voxels(few), 3 * 2 * 512 * (64.0 + 4.0));
}

}  // namespace
}  // namespace znni::cuda

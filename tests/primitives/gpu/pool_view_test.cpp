// The pooling kernel's work, element by element on the host, against the oracle.
#include "primitives/gpu/pool_view.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "primitives/gpu/estimates.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/oracle/tolerance.hpp"
#include "tests/primitives/gpu/host_tensors.hpp"
#include "tests/support/harness.hpp"
#include "tests/support/random.hpp"

namespace znni::cuda {
namespace {

// Runs as pool_kernel.cu does, block after block.
template <class T, int width>
void run_rows(const PoolArg& arg, const TensorView& in, const TensorView& out) {
  for (Index index = 0; index < row_count(arg.rows); ++index) {
    const PoolRow row = pool_row(arg, index);
    for (int element = 0; element < row_elements(arg.rows); ++element) {
      pool_element(arg, row, element, reinterpret_cast<const Lanes<T, width>*>(in.data),
                   reinterpret_cast<Lanes<T, width>*>(out.data));
    }
  }
}

int run(const PoolProblem& pool, const TensorView& in, const TensorView& out) {
  const int width = pool_width(in, out);
  const PoolArg arg = pool_arg(pool, in, out, width);
  if (width == 4) run_rows<float, 4>(arg, in, out);
  if (width == 8) run_rows<Bfloat, 8>(arg, in, out);
  if (width == 1 && in.format.type == ElementType::f32) run_rows<float, 1>(arg, in, out);
  if (width == 1 && in.format.type == ElementType::bf16) run_rows<Bfloat, 1>(arg, in, out);
  return width;
}

// Returns random voxels, of which some are outside where the pooling knows it.
std::vector<float> voxels_of(const PoolProblem& pool, test::Random& random) {
  std::vector<float> values = random.normals(elements(pool.in));
  if (pool.kind != PoolKind::average_inside) return values;
  for (float& value : values) {
    if (random.chance(0.4)) value = -std::numeric_limits<float>::infinity();
  }
  return values;
}

void check_pool(const PoolProblem& pool, Format format, bool window, std::uint64_t seed) {
  SCOPED_TRACE(to_string(LayerProblem(pool)) + " in " + to_string(format) + (window ? ", windows" : ", dense"));
  test::Random random(seed);
  HostTensor in(pool.in, format, window, seed);
  HostTensor out(output_shape(pool), format, window, seed + 1);
  in.store(voxels_of(pool, random));
  const std::vector<float> rounded = in.load();  // as the type holds them
  out.store(std::vector<float>(static_cast<std::size_t>(elements(output_shape(pool))), 1e9F));
  run(pool, in.view(), out.view());
  const std::vector<oracle::Values> exact = {oracle::widened(rounded)};
  const std::vector<oracle::Values> finite = {oracle::Values(1, 5.0)};  // larger than any of these normals
  double tolerance = oracle::tolerance(pool, finite, {});
  if (format.type == ElementType::bf16 && pool.kind != PoolKind::max) tolerance += 4.0 * 0x1p-8;
  test::expect_close(out.load(), oracle::oracle_run(pool, exact, {}), tolerance, "pooling");
}

TEST(PoolView, RandomPoolingsOfAllKindsEqualTheOracle) {
  for (int i = 0; i < test::case_count(60); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    const PoolProblem pool = test::random_pool(random, random.chance(0.7) ? PoolMode::fragments : PoolMode::plain);
    for (const Format format : {planar_f32, last_f32, last_bf16}) {
      check_pool(pool, format, random.chance(0.5), seed);
    }
  }
}

TEST(PoolView, DilatedPoolingsAndMeansOfTheInsideEqualTheOracle) {
  for (int i = 0; i < test::case_count(40); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    PoolProblem pool = test::random_dilated_pool(random, random.chance(0.5) ? PoolMode::fragments : PoolMode::plain);
    if (random.chance(0.5)) pool.kind = PoolKind::average_inside;
    for (const Format format : {planar_f32, last_f32, last_bf16}) {
      check_pool(pool, format, random.chance(0.5), seed);
    }
  }
}

TEST(PoolView, AMeanOfNothingIs0) {
  const PoolProblem pool{
      .in = {1, 1, {1, 1, 4}}, .window = {1, 1, 2}, .stride = {1, 1, 1}, .kind = PoolKind::average_inside};
  HostTensor in(pool.in, planar_f32);
  HostTensor out(output_shape(pool), planar_f32);
  const float outside = -std::numeric_limits<float>::infinity();
  in.store(std::vector<float>{outside, outside, 3, 5});
  run(pool, in.view(), out.view());
  EXPECT_EQ(out.load(), (std::vector<float>{0, 3, 4}));
}

TEST(PoolView, GroupsOfFragmentsEqualTheOracle) {
  PoolProblem pool{.in = {2, 16, {6, 7, 9}}, .mode = PoolMode::fragments, .groups = {2, 2, 1}};
  pool.in.n.x = 9;
  ASSERT_TRUE(check(pool).has_value()) << check(pool).error().message;
  for (const Format format : {planar_f32, last_f32, last_bf16}) check_pool(pool, format, false, 3);
}

TEST(PoolView, ManyChannelsGoInVectorsOfSixteenBytes) {
  const PoolProblem pool{.in = {1, 16, {5, 5, 5}}, .mode = PoolMode::fragments};
  for (const auto& [format, width] : {std::pair{last_f32, 4}, std::pair{last_bf16, 8}, std::pair{planar_f32, 1}}) {
    HostTensor in(pool.in, format);
    HostTensor out(output_shape(pool), format);
    EXPECT_EQ(pool_width(in.view(), out.view()), width);
    TensorView shifted = in.view();
    shifted.data += 1;
    EXPECT_EQ(pool_width(shifted, out.view()), 1) << "not aligned";
    check_pool(pool, format, false, 5);
  }
  HostTensor odd({1, 6, {5, 5, 5}}, last_f32);
  EXPECT_EQ(pool_width(odd.view(), odd.view()), 1) << "6 channels are no whole vectors";
}

TEST(PoolView, IndicesPassThirtyTwoBits) {
  const PoolProblem pool{.in = {8, 80, {301, 301, 301}}, .mode = PoolMode::fragments};
  const TensorView in = dense_view(nullptr, pool.in, planar_f32);
  const TensorView out = dense_view(nullptr, output_shape(pool), planar_f32);
  const PoolArg arg = pool_arg(pool, in, out, 1);
  const PoolRow last = pool_row(arg, row_count(arg.rows) - 1);
  EXPECT_EQ(last.in, elements(pool.in) - 2 * 301 * 301 + 299 * 301) << "two planes and rows before the end";
  EXPECT_GT(last.out, std::int64_t{1} << 33);
  EXPECT_LT(last.out, elements(output_shape(pool)));
}

TEST(PoolView, NansAreKept) {
  const PoolProblem pool{.in = {1, 1, {1, 1, 4}}, .window = {1, 1, 2}, .stride = {1, 1, 2}};
  HostTensor in(pool.in, planar_f32);
  HostTensor out(output_shape(pool), planar_f32);
  in.store(std::vector<float>{1.0F, std::nanf(""), -2.0F, -3.0F});
  run(pool, in.view(), out.view());
  EXPECT_TRUE(std::isnan(out.load()[0]));
  EXPECT_EQ(out.load()[1], -2.0F);
}

}  // namespace
}  // namespace znni::cuda

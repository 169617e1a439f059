// The work of the kernel of stacks, element by element on the host, against the oracle.
#include "primitives/gpu/stack_view.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/views.hpp"
#include "tests/oracle/stacks.hpp"
#include "tests/oracle/tolerance.hpp"
#include "tests/primitives/gpu/host_math.hpp"
#include "tests/primitives/gpu/host_tensors.hpp"
#include "tests/primitives/gpu/stack_places.hpp"
#include "tests/support/harness.hpp"

namespace znni::cuda {
namespace {

// Returns a tile that has gone through all links, as a block takes it in stack_kernel.cu.
template <class T>
std::vector<float> reduce_tile(const StackArg& arg, const StackTile& tile, const T* in) {
  StackRegion region = loaded_region(arg, tile);
  const auto buffer = static_cast<std::size_t>(arg.buffer);
  EXPECT_LE(region_elements(tile, region.n), arg.buffer);
  std::vector<float> from(buffer, std::nanf(""));
  std::vector<float> to(buffer, std::nanf(""));
  for (int i = 0; i < region_elements(tile, region.n); ++i) load_element(arg, tile, region, i, in, from.data());
  for (int index = 0; index < arg.links; ++index) {
    const StackLink& link = arg.link[index];
    for (int axis = 2; axis >= 0; --axis) {
      if (skips(link, axis)) continue;
      for (int i = 0; i < region_elements(tile, reduced(region.n, link, axis)); ++i) {
        reduce_element<HostMath>(arg, tile, link, region, axis, i, from.data(), to.data());
      }
      std::swap(from, to);
    }
    region = written_region(link, region);
  }
  return from;
}

template <class T>
void run_tiles(const StackArg& arg, const T* in, T* out) {
  for (Index index = 0; index < stack_tiles(arg); ++index) {
    const StackTile tile = stack_tile(arg, index);
    const int elements = region_elements(tile, tile.region.n);
    if (arg.buffer == 0) {
      for (int i = 0; i < elements; ++i) direct_stack_element<HostMath>(arg, tile, i, in, out);
      continue;
    }
    const std::vector<float> made = reduce_tile(arg, tile, in);
    for (int i = 0; i < elements; ++i) store_element(arg, tile, i, made[static_cast<std::size_t>(i)], out);
  }
}

template <class T>
void run_chunk(const StackArg& arg, const TensorView& in, const TensorView& out, std::int64_t s) {
  run_tiles(arg, reinterpret_cast<const T*>(in.data) + s * in.strides.S,
            reinterpret_cast<T*>(out.data) + s * out.strides.S);
}

struct StackCase {
  StackProblem stack;
  StackStarts placed;
  Format format;
  bool window = false;
  std::uint64_t seed = 1;
};

// Returns what launches of `depth` links make.
std::vector<float> run(const StackCase& of, int depth, const TensorView& in, const LayerWeights& weights) {
  HostTensor from(of.stack.in, of.format);
  TensorView read = in;
  for (const StackChunk& chunk : stack_chunks(of.stack, depth, of.format.layout)) {
    HostTensor to(chunk.out, of.format, of.window, of.seed + 1);
    to.store(std::vector<float>(static_cast<std::size_t>(elements(chunk.out)), 1e9F));
    for (std::int64_t s = 0; s < of.stack.in.S;) {
      StackArg arg = stack_arg(of.stack, chunk, of.placed, {weights.scale.data(), weights.shift.data()}, s);
      arg.in_steps = steps_of(read.strides);
      arg.out_steps = steps_of(to.view().strides);
      if (of.format.type == ElementType::f32) run_chunk<float>(arg, read, to.view(), s);
      if (of.format.type == ElementType::bf16) run_chunk<Bfloat>(arg, read, to.view(), s);
      s += arg.S;
    }
    from = std::move(to);
    read = from.view();
  }
  return from.load();
}

double distance(const std::vector<float>& found, const oracle::Values& expected) {
  double difference = 0;
  double whole = 1e-30;
  for (std::size_t i = 0; i < found.size(); ++i) {
    difference += (found[i] - expected[i]) * (found[i] - expected[i]);
    whole += expected[i] * expected[i];
  }
  return std::sqrt(difference / whole);
}

// Returns the bound of the relative distance in bf16, which has 8 bits of mantissa: each launch rounds what it writes
// once, by 2^-9 of a value at most, and as much again is left for shifts that make the values smaller, not their
// errors.
double rounding_of(std::size_t launches) { return 0x1p-8 * static_cast<double>(launches); }

// Returns the number of depths that ran.
int check_stack(const StackCase& of) {
  test::Random random(of.seed);
  const test::Weights weights = test::random_weights(of.stack, random);
  HostTensor in(of.stack.in, of.format, of.window, of.seed);
  in.store(random.normals(elements(of.stack.in)));
  const std::vector<oracle::Values> exact = {oracle::widened(in.load())};
  const oracle::Values expected =
      oracle::stacked(of.stack, exact[0], weights.view(), of.placed.starts, of.placed.whole);
  int depths = 0;
  for (const int depth : {1, 2, 3, 8}) {
    const std::size_t launches = stack_chunks(of.stack, depth, of.format.layout).size();
    if (launches == 0) continue;
    SCOPED_TRACE(to_string(LayerProblem(of.stack)) + " in " + to_string(of.format) + ", depth " +
                 std::to_string(depth) + (of.placed.starts.empty() ? "" : ", placed") + ", seed " +
                 std::to_string(of.seed));
    const std::vector<float> found = run(of, depth, in.view(), weights.view());
    if (of.format.type == ElementType::bf16) {
      EXPECT_LE(distance(found, expected), rounding_of(launches));
    } else {
      test::expect_close(found, expected, oracle::tolerance(of.stack, exact, weights.view()), "stack");
    }
    ++depths;
  }
  return depths;
}

TEST(StackView, RandomStacksEqualTheOracle) {
  for (int i = 0; i < test::case_count(12); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    const StackProblem stack = test::random_stack(random);
    const StackStarts placed = random_places(stack, random);
    for (const Format format : {planar_f32, last_f32, last_bf16}) {
      const bool window = random.chance(0.5);
      check_stack({stack, random.chance(0.3) ? StackStarts() : placed, format, window, seed});
    }
  }
}

// More inputs than a launch takes starts of.
TEST(StackView, ManyInputsLieWhereTheyAreSaidTo) {
  StackStage pool{StackOperation::pool, PoolKind::max, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1)};
  const StackProblem stack{{2 * max_stack_starts + 3, 2, {3, 4, 5}}, {pool}};
  test::Random random(7);
  EXPECT_GT(check_stack({stack, random_places(stack, random), planar_f32, true, 7}), 1);
}

TEST(StackView, WindowsThatNoBlockHoldsAreReadFromTheTensor) {
  for (const auto& [format, window] : {std::pair{planar_f32, 22}, std::pair{last_f32, 12}}) {
    StackStage pool{StackOperation::pool, PoolKind::average, Vec3::cube(window), {2, 3, 4}, {4, 1, 0}};
    for (const PoolKind kind : {PoolKind::max, PoolKind::average}) {
      pool.kind = kind;
      const StackProblem stack{{1, 9, Vec3::cube(window + 1)}, {pool, {StackOperation::scale_shift}}, {0, 1, 0}};
      ASSERT_EQ(stack_chunks(stack, 1, format.layout).front().buffer, 0);
      test::Random random(11);
      check_stack({stack, random_places(stack, random), format, false, 11});
    }
    EXPECT_TRUE(stack_chunks({{1, 9, Vec3::cube(64)}, {pool, pool}}, 2, format.layout).empty());
  }
}

// A channel is scaled more often than a link has room for.
TEST(StackView, LongRunsOfScalesAreCutInLinks) {
  StackProblem stack{{1, 3, {2, 3, 4}}, {}};
  stack.stages.assign(2 * max_stack_points + 1, {StackOperation::scale_shift});
  EXPECT_EQ(stack_links(stack), 3);
  EXPECT_GT(check_stack({stack, {}, last_f32, false, 3}), 1);
}

// Estimates have the shapes of launches, but no weights.
TEST(StackView, ArgumentsWithoutWeightsPointNowhere) {
  StackProblem stack{{1, 3, {2, 3, 4}}, {}};
  stack.stages.assign(2, {StackOperation::scale_shift});
  const std::vector<StackChunk> chunks = stack_chunks(stack, 1, Layout::planar);
  const StackArg arg = stack_arg(stack, chunks.front(), {}, {}, 0);
  ASSERT_EQ(arg.link[0].points, 2);
  EXPECT_EQ(arg.link[0].point[1].scale, nullptr);
  EXPECT_EQ(arg.link[0].point[1].shift, nullptr);
}

TEST(StackView, LaunchesTakeAllLinksInOrderWithinABlocksMemory) {
  const StackStage pool{StackOperation::pool, PoolKind::max, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1)};
  StackStage relu{StackOperation::activation};
  relu.activation.kind = ActivationKind::relu;
  StackProblem stack{{1, 32, Vec3::cube(66)}, {}};
  for (int i = 0; i < 10; ++i) stack.stages.insert(stack.stages.end(), {pool, {StackOperation::scale_shift}, relu});
  EXPECT_EQ(stack_links(stack), 10);
  for (const Layout layout : {Layout::planar, Layout::channels_last}) {
    for (const int depth : {1, 2, 3, 4}) {
      const std::vector<StackChunk> chunks = stack_chunks(stack, depth, layout);
      ASSERT_EQ(chunks.size(), static_cast<std::size_t>(ceil_div(10, depth))) << depth;
      EXPECT_EQ(chunks.back().out, output_shape(stack));
      for (std::size_t i = 0; i < chunks.size(); ++i) {
        EXPECT_EQ(chunks[i].first, static_cast<int>(i) * depth);
        EXPECT_LE(shared_bytes(chunks[i]), 64 << 10);
        EXPECT_GT(shared_bytes(chunks[i]), 0);
        EXPECT_EQ(chunks[i].in, i == 0 ? stack.in : chunks[i - 1].out);
      }
    }
  }
}

TEST(StackView, NansAreKept) {
  const StackStage pool{StackOperation::pool, PoolKind::max, {1, 1, 2}};
  const StackCase of{{{1, 1, {1, 1, 4}}, {pool}}, {}, planar_f32};
  HostTensor in(of.stack.in, planar_f32);
  in.store(std::vector<float>{1.0F, std::nanf(""), -2.0F, -3.0F});
  const std::vector<float> found = run(of, 1, in.view(), {});
  EXPECT_TRUE(std::isnan(found[0]) && std::isnan(found[1]));
  EXPECT_EQ(found[2], -2.0F);
}

}  // namespace
}  // namespace znni::cuda

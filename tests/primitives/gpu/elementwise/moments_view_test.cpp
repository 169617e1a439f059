// Normalisations and poolings of all voxels on the host, as their kernels compute them, against the oracle.
#include "primitives/gpu/elementwise/moments_view.hpp"

#include <gtest/gtest.h>

#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/views.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/oracle/tolerance.hpp"
#include "tests/primitives/gpu/host_math.hpp"
#include "tests/primitives/gpu/host_tensors.hpp"
#include "tests/support/harness.hpp"

namespace znni::cuda {
namespace {

// Adds up what the threads of each block have, one thread after the other.
std::vector<Moments> parts_of(const MomentsArg& arg, const float* in) {
  std::vector<Moments> parts(static_cast<std::size_t>(arg.S * arg.channels * arg.parts), no_moments(arg.joining));
  for (Index index = 0; index < moments_blocks(arg); ++index) {
    const MomentsBlock block = moments_block(arg, index);
    for (int thread = 0; thread < moments_threads; ++thread) {
      const int lane = thread % arg.lanes;
      if (block.channel + lane >= arg.channels) continue;
      Moments& part = parts[static_cast<std::size_t>(moments_place(arg, block, lane))];
      part = joined(arg.joining, part, moments_of_thread(arg, block, thread, in));
    }
  }
  return parts;
}

std::vector<ChannelFactors> factors_of(const GroupsArg& arg, const std::vector<Moments>& parts) {
  std::vector<ChannelFactors> factors;
  for (Index group = 0; group < arg.S * arg.groups; ++group) {
    Moments total = no_moments(arg.joining);
    for (int thread = 0; thread < moments_threads; ++thread) {
      total = joined(arg.joining, total, moments_of_group(arg, group, thread, parts.data()));
    }
    const Index of_group = arg.channels / arg.groups;
    for (Index i = 0; i < of_group; ++i) {
      factors.push_back(factors_of<HostMath>(arg, group % arg.groups * of_group + i, total));
    }
  }
  return factors;
}

template <int width>
void apply(const FactorsArg& arg) {
  for (Index index = 0; index < row_count(arg.rows); ++index) {
    for (int element = 0; element < row_elements(arg.rows); ++element) {
      factors_element<HostMath, float, width>(arg, row_at(arg.rows, index), element);
    }
  }
}

void run_moments(const GroupsArg& groups, Activation activation, const TensorView& in, const TensorView& out) {
  const std::vector<Moments> parts = parts_of(moments_arg(in, groups.joining), in.data);
  const std::vector<ChannelFactors> factors = factors_of(groups, parts);
  const FactorsArg arg = factors_arg(groups.scale != nullptr ? &in : nullptr, out, factors.data(), activation);
  if (arg.width == 4) return apply<4>(arg);
  apply<1>(arg);
}

void check_moments(const LayerProblem& problem, Format format, bool window, std::uint64_t seed) {
  SCOPED_TRACE(to_string(problem) + " " + to_string(format) + (window ? ", windows" : ", dense"));
  test::Random random(seed);
  const test::Weights weights = test::random_weights(problem, random);
  const Shape5 shape = input_shape(problem, 0);
  HostTensor in(shape, format, window, seed);
  HostTensor out(shape, format, window, seed + 1);
  in.store(test::random_inputs(problem, random)[0]);
  if (const auto* norm = std::get_if<NormProblem>(&problem)) {
    GroupsArg groups = groups_arg(*norm);
    groups.scale = weights.scale.data();
    groups.shift = weights.shift.data();
    run_moments(groups, norm->activation, in.view(), out.view());
  } else {
    run_moments(groups_arg(std::get<GlobalPoolProblem>(problem)), {}, in.view(), out.view());
  }
  const std::vector<oracle::Values> exact = {oracle::widened(in.load())};
  test::expect_close(out.load(), oracle::oracle_run(problem, exact, weights.view()),
                     oracle::tolerance(problem, exact, weights.view()), to_string(format));
}

TEST(MomentsView, NormalisationsAndPoolingsEqualTheOracle) {
  for (int i = 0; i < test::case_count(40); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    NormProblem norm = test::random_norm(random);
    norm.kind = NormKind::deviation;  // GPUs refuse the others
    const LayerProblem problems[] = {norm, test::random_global_pool(random)};
    for (const LayerProblem& problem : problems) {
      for (const Format format : {planar_f32, last_f32}) check_moments(problem, format, random.chance(0.5), seed);
    }
  }
}

// Channels of more than one part, the last one shorter, and more channels than a block has side by side.
TEST(MomentsView, LargeChannelsAreAddedUpInParts) {
  const Shape5 shape{1, 34, {3, 70, 120}};
  EXPECT_EQ(moments_parts(shape), 4);
  for (const Format format : {planar_f32, last_f32}) {
    check_moments(NormProblem{shape, 2}, format, false, 1);
    check_moments(GlobalPoolProblem{shape, PoolKind::max}, format, false, 2);
  }
}

TEST(MomentsView, ThreadsOfABlockHaveChannelsAndVoxelsOfTheirOwn) {
  for (const std::int64_t f : {1, 3, 32, 100}) {
    for (const Format format : {planar_f32, last_f32}) {
      const MomentsArg arg = moments_arg(dense_view(nullptr, {1, f, {2, 3, 50}}, format), Joining::sums);
      EXPECT_EQ(moments_threads % (arg.lanes * arg.x_lanes), 0);
      EXPECT_GE(moments_tiles(arg) * arg.lanes, f);
    }
  }
}

}  // namespace
}  // namespace znni::cuda

#include "primitives/cpu/pool/stack_stream.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/oracle/stacks.hpp"
#include "tests/support/cpu.hpp"

namespace znni::cpu {
namespace {

constexpr float untouched = 1e30F;

// Streams one part of one channel, with a scratch memory that is full of numbers.
std::vector<float> streamed(const StackProblem& stack, std::vector<float> values, const test::Weights& weights,
                            const StackPart& part, std::int64_t block) {
  const std::vector<StackLevel> levels = levels_of(stack);
  const PartFlow flow = flow_of(levels, part, 1, block);
  std::vector<float> memory(static_cast<std::size_t>(flow.floats), 7.0F);
  const Shape5 shape{1, 1, levels.back().out};
  std::vector<float> out(static_cast<std::size_t>(elements(shape)), untouched);
  const TensorView from = dense_view(values.data(), stack.in);
  const TensorView to = dense_view(out.data(), shape);
  const std::vector<StackBox> own = whole_boxes(levels);
  stream_stack(flow, {from, to, 0, 0, own, weights.scale, weights.shift}, stack_kernels(describe_cpu(1).simd_floats),
               memory.data());
  return out;
}

TEST(StackStream, WritesItsPartAndNothingElse) {
  for (int i = 0; i < test::case_count(40); ++i) {
    test::Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    StackProblem stack = test::random_stack(random);
    stack.in.S = stack.in.f = 1;
    const Vec3 n = output_shape(stack).n;
    const test::Weights weights = test::random_weights(stack, random);
    const std::vector<float> values = random.normals(elements(stack.in));
    const oracle::Values exact = oracle::stacked(stack, oracle::widened(values), weights.view());
    const std::int64_t z = random.integer(0, n.z - 1);
    const std::int64_t x = random.integer(0, n.x - 1);
    const StackPart part{{z, random.integer(z + 1, n.z)}, {x, random.integer(x + 1, n.x)}};
    const std::vector<float> found =
        streamed(stack, values, weights, part, random.integer(1, rows_of(levels_of(stack))));
    for (std::size_t at = 0; at < found.size(); ++at) {
      const auto index = static_cast<std::int64_t>(at);
      const bool is_of_part = part.z.holds(index / n.x / n.y) && part.x.holds(index % n.x);
      const double allowed = 1e-3 * (1.0 + std::abs(exact[at]));
      EXPECT_NEAR(found[at], is_of_part ? exact[at] : untouched, allowed) << to_string(LayerProblem(stack));
    }
  }
}

}  // namespace
}  // namespace znni::cpu

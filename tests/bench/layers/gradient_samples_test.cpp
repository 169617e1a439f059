#include "tests/bench/layers/gradient_samples.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "planner/measure/layer_run.hpp"

namespace znni::bench {
namespace {

const ConvProblem problem{{2, 2, {4, 5, 3}}, 3, {2, 3, 1}, {1, 2, 1}, Vec3::cube(1), {}};

// Calls a function for each place of a shape.
template <class Function>
void each_place(const Shape5& shape, const Function& function) {
  for (std::int64_t i = 0; i < elements(shape); ++i) {
    std::int64_t rest = i;
    const auto digit = [&rest](std::int64_t extent) {
      const std::int64_t found = rest % extent;
      rest /= extent;
      return found;
    };
    Place place;
    for (const int axis : {2, 1, 0}) place.n[axis] = digit(shape.n[axis]);
    place.f = digit(shape.f);
    place.s = digit(shape.S);
    function(place);
  }
}

// A gradient is what the sum of output * (gradient of the output) changes by. The output is linear in the input and in
// the kernels, so that the sum over all elements of element * gradient is the same for both, without the bias.
TEST(BenchGradientSamples, EachGradientIsThatOfTheLayer) {
  LayerParameters parameters = random_parameters(problem);
  parameters.bias.clear();
  const LayerWeights weights = parameters.view();
  const Shape5 out = output_shape(LayerProblem(problem));
  double of_output = 0;
  each_place(out, [&](const Place& at) { of_output += input_value(out, at) * exact_output(problem, weights, at); });
  double of_input = 0;
  const GradientProblem input{problem, GradientOf::input, 0};
  each_place(problem.in,
             [&](const Place& at) { of_input += input_value(problem.in, at) * exact_gradient(input, weights, at); });
  EXPECT_NEAR(of_input, of_output, 1e-9);
  double of_kernels = 0;
  std::size_t element = 0;
  const GradientProblem kernels{problem, GradientOf::weights, 0};
  each_place(gradient_shape(kernels), [&](const Place& at) {
    of_kernels += parameters.kernels[element++] * exact_gradient(kernels, weights, at);
  });
  EXPECT_EQ(element, parameters.kernels.size());
  EXPECT_NEAR(of_kernels, of_output, 1e-9);
}

TEST(BenchGradientSamples, AReorderWritesWhatItReads) {
  const ReorderProblem reorder{problem.in, {}, {ElementType::f32, Layout::blocked8}};
  EXPECT_EQ(exact_result(LayerProblem(reorder), {}, {1, 1, {2, 3, 1}}), input_value(problem.in, {1, 1, {2, 3, 1}}));
  EXPECT_EQ(result_shape(LayerProblem(reorder)), problem.in);
  EXPECT_EQ(result_shape(GradientProblem{problem, GradientOf::weights, 0}), (Shape5{3, 2, {2, 3, 1}}));
}

}  // namespace
}  // namespace znni::bench

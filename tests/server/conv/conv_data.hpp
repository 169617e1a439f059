// A random convolution with its tensors, and what the oracle makes of them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/oracle/gradient_tolerance.hpp"
#include "tests/oracle/gradients.hpp"
#include "tests/oracle/tolerance.hpp"
#include "tests/support/harness.hpp"
#include "tests/support/random.hpp"

namespace znni::test {

// Returns one without dilation, activation and residual.
[[nodiscard]] inline ConvProblem random_valid_conv(Random& random) {
  ConvProblem conv = random_conv(random, 2e6);
  conv.in.n = conv.in.n - dilated(conv.k, conv.dilation) + conv.k;
  conv.dilation = Vec3::cube(1);
  conv.activation = {};
  conv.residual = false;
  return conv;
}

// Tensors behind one float more, so that they are not aligned.
struct ConvData {
  ConvProblem problem;
  Weights weights;
  std::vector<float> input;
  std::vector<float> output_gradient;

  ConvData(const ConvProblem& conv, Random& random)
      : problem(conv), weights(random_weights(conv, random)), input(random.normals(1 + elements(conv.in))) {
    if (weights.bias.empty()) weights.bias = random.normals(conv.f_out);
    weights.kernels.insert(weights.kernels.begin(), 0.0F);
    output_gradient = random.normals(1 + elements(output_shape(LayerProblem(conv))));
  }

  [[nodiscard]] const float* kernels() const { return weights.kernels.data() + 1; }
  [[nodiscard]] LayerWeights view() const {
    LayerWeights own;
    own.kernels = std::span(weights.kernels).subspan(1);
    own.bias = weights.bias;
    return own;
  }
};

// What a run of each work writes, with one float before it.
struct ConvWritten {
  std::vector<float> output, input_gradient, weight_gradient, bias_gradient;

  explicit ConvWritten(const ConvData& data)
      : output(data.output_gradient.size()),
        input_gradient(data.input.size()),
        weight_gradient(data.weights.kernels.size()),
        bias_gradient(data.weights.bias.size()) {}
};

// Expects all of it to be within the oracle's tolerances, and the floats before untouched.
inline void expect_exact(const ConvWritten& written, const ConvData& data, const std::string& name) {
  const auto without_first = [](const std::vector<float>& values) { return std::span(values).subspan(1); };
  const std::vector<oracle::Values> inputs = {oracle::widened(without_first(data.input))};
  const oracle::Values gradient = oracle::widened(without_first(data.output_gradient));
  const LayerProblem problem = data.problem;
  const LayerWeights weights = data.view();
  expect_close(without_first(written.output), oracle::oracle_run(problem, inputs, weights),
               oracle::tolerance(problem, inputs, weights), name + ", output");
  const oracle::Gradients exact = oracle::gradients(problem, inputs, weights, gradient);
  const oracle::GradientTolerance tolerance = oracle::gradient_tolerance(problem, inputs, weights, gradient);
  expect_close(without_first(written.input_gradient), exact.inputs[0], tolerance.inputs, name + ", input");
  expect_close(without_first(written.weight_gradient), exact.kernels, tolerance.kernels, name + ", weights");
  expect_close(written.bias_gradient, exact.bias, tolerance.bias, name + ", bias");
  for (const auto* values : {&written.output, &written.input_gradient, &written.weight_gradient}) {
    EXPECT_EQ(values->front(), 0.0F) << name;
  }
}

// A block of memory of a known size, with floats around it that must stay what they are.
class Workspace {
 public:
  explicit Workspace(std::int64_t bytes) : bytes_(bytes), floats_(static_cast<std::size_t>(bytes / 4 + 32)) {
    std::fill(floats_.begin(), floats_.end(), 7.0F);
  }

  [[nodiscard]] std::byte* data() {
    void* start = floats_.data();
    std::size_t space = floats_.size() * sizeof(float);
    return static_cast<std::byte*>(std::align(64, static_cast<std::size_t>(bytes_), start, space));
  }
  [[nodiscard]] std::span<std::byte> span() { return {data(), static_cast<std::size_t>(bytes_)}; }
  // Returns whether nothing around it was written.
  [[nodiscard]] bool is_kept_around() {
    const auto* first = reinterpret_cast<const float*>(data());
    const float* const end = floats_.data() + floats_.size();
    return std::all_of(static_cast<const float*>(floats_.data()), first, [](float value) { return value == 7.0F; }) &&
           std::all_of(first + (bytes_ + 3) / 4, end, [](float value) { return value == 7.0F; });
  }

 private:
  std::int64_t bytes_;
  std::vector<float> floats_;
};

}  // namespace znni::test

// Convolutions with strides and groups on the host, element by element as the kernel computes them, against the oracle.
#include "primitives/gpu/direct_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "primitives/gpu/estimates.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/oracle/tolerance.hpp"
#include "tests/primitives/gpu/host_math.hpp"
#include "tests/primitives/gpu/host_tensors.hpp"
#include "tests/support/harness.hpp"

namespace znni::cuda {
namespace {

template <int channels>
void run_direct(const DirectArg& arg, const DirectData<float>& data) {
  for (Index index = 0; index < row_count(arg.rows); ++index) {
    for (int element = 0; element < row_elements(arg.rows); ++element) {
      direct_element<HostMath, float, channels>(arg, row_at(arg.rows, index), element, data);
    }
  }
}

void check_direct(const ConvProblem& conv, Format format, bool window, std::uint64_t seed) {
  SCOPED_TRACE(to_string(LayerProblem(conv)) + " " + to_string(format) + (window ? ", windows" : ", dense"));
  test::Random random(seed);
  const test::Weights weights = test::random_weights(conv, random);
  const std::vector<std::vector<float>> values = test::random_inputs(conv, random);
  std::vector<HostTensor> tensors;
  std::vector<TensorView> inputs;
  std::vector<oracle::Values> exact;
  for (std::size_t i = 0; i < values.size(); ++i) {
    tensors.emplace_back(input_shape(conv, static_cast<int>(i)), format, window, seed + i);
    tensors.back().store(values[i]);
    inputs.push_back(tensors.back().view());
    exact.push_back(oracle::widened(values[i]));
  }
  HostTensor out(output_shape(conv), format, window, seed + 9);
  const std::vector<float> kernels = direct_weights(conv, weights.kernels);
  const std::vector<float> bias = direct_bias(conv, weights.bias);
  const DirectArg arg = direct_arg(conv, inputs, out.view());
  const DirectData<float> data{inputs[0].data, conv.residual ? inputs[1].data : nullptr, kernels.data(), bias.data(),
                               out.view().data};
  if (direct_channels(conv) == 4) {
    run_direct<4>(arg, data);
  } else {
    run_direct<1>(arg, data);
  }
  test::expect_close(out.load(), oracle::oracle_run(conv, exact, weights.view()),
                     oracle::tolerance(conv, exact, weights.view()), to_string(format));
}

TEST(DirectView, StridesAndGroupsEqualTheOracle) {
  for (int i = 0; i < test::case_count(30); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    for (const ConvProblem& conv : {test::random_strided_conv(random, 1e6), test::random_grouped_conv(random, 1e6)}) {
      for (const Format format : {planar_f32, last_f32}) check_direct(conv, format, random.chance(0.5), seed);
    }
  }
}

TEST(DirectView, GroupsArePaddedToBlocksOneByOne) {
  ConvProblem conv{.in = {1, 4, {3, 3, 3}}, .f_out = 10, .k = {1, 1, 1}, .activation = {}};
  conv.groups = 2;
  EXPECT_EQ(direct_channels(conv), 4);
  EXPECT_EQ(direct_padded(conv), 16) << "two groups of five channels";
  const std::vector<float> bias = direct_bias(conv, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(bias, (std::vector<float>{0, 1, 2, 3, 4, 0, 0, 0, 5, 6, 7, 8, 9, 0, 0, 0}));
  const std::vector<float> none = direct_bias(conv, {});
  EXPECT_TRUE(std::all_of(none.begin(), none.end(), [](float value) { return value == 0.0F; }));
  conv.groups = 4;
  conv.f_out = 8;
  EXPECT_EQ(direct_channels(conv), 1);
  EXPECT_EQ(direct_padded(conv), 8);
}

}  // namespace
}  // namespace znni::cuda

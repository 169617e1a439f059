#include "primitives/cpu/fft/row_epilogue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace znni::cpu {
namespace {

const std::array<Activation, 9> activations = {{{ActivationKind::none, 0},
                                                {ActivationKind::relu, 0},
                                                {ActivationKind::leaky_relu, 0.1F},
                                                {ActivationKind::elu, 0.7F},
                                                {ActivationKind::sigmoid, 0},
                                                {ActivationKind::tanh, 0},
                                                {ActivationKind::capped_relu, 1.5F},
                                                {ActivationKind::softplus, 0},
                                                {ActivationKind::gelu, 0}}};

TEST(StoreRow, ScalesAddsTheBiasAndActivatesAtAnyStep) {
  std::vector<float> in;
  for (int i = 0; i < 37; ++i) in.push_back(0.3F * static_cast<float>(i - 18));
  for (const Activation activation : activations) {
    for (const std::int64_t step : {1, 3}) {
      SCOPED_TRACE(std::string(to_string(activation.kind)) + ", step " + std::to_string(step));
      std::vector<float> row = in;
      std::vector<float> out(in.size() * 3 + 1, 99.0F);
      store_row(row, {0.5F, -0.25F, activation}, {}, out.data(), step);
      for (std::size_t i = 0; i < in.size(); ++i) {
        EXPECT_FLOAT_EQ(out[i * static_cast<std::size_t>(step)], apply(activation, 0.5F * in[i] - 0.25F));
      }
      EXPECT_EQ(out[(in.size() - 1) * static_cast<std::size_t>(step) + 1], 99.0F);
    }
  }
}

TEST(StoreRow, AddsAnotherRowBeforeItActivates) {
  const std::vector<float> in = {-3, -1, 0, 1, 5};
  const std::vector<float> others = {1, 7, -2, 7, 0, 7, 4, 7, -20};
  for (const std::int64_t step : {1, 2}) {
    std::vector<float> row = in;
    std::vector<float> out(in.size());
    store_row(row, {2.0F, 1.0F, {ActivationKind::relu, 0}}, {others.data(), step}, out.data(), 1);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const float sum = 2.0F * in[i] + 1.0F + others[i * static_cast<std::size_t>(step)];
      EXPECT_EQ(out[i], std::max(sum, 0.0F)) << "step " << step << ", element " << i;
    }
  }
}

TEST(StoreRow, OfNothingWritesNothing) {
  float untouched = 5.0F;
  store_row({}, {}, {}, &untouched, 1);
  EXPECT_EQ(untouched, 5.0F);
}

TEST(BiasOf, IsZeroWithoutOne) {
  const std::array<float, 2> bias = {1.5F, -2.0F};
  EXPECT_EQ(bias_of({{}, bias, {}, {}}, 1), -2.0F);
  EXPECT_EQ(bias_of({}, 1), 0.0F);
}

}  // namespace
}  // namespace znni::cpu

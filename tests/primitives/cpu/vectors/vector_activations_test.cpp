#include "primitives/cpu/vectors/vector_activations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "primitives/cpu/vectors/split_vectors.hpp"
#include "tests/support/random.hpp"

namespace znni::cpu {
namespace {

constexpr double min_normal = 0x1p-126;
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Returns the error of `found` in units in the last place of floats as large as `exact`.
double units_off(float found, double exact) {
  if (found == static_cast<float>(exact)) return 0;
  return std::abs(found - exact) / std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23);
}

double exact_sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

// Returns every 4999th of all floats: tiny, large, negative, infinite and NaN.
std::vector<float> floats_of_all_kinds() {
  constexpr std::uint64_t step = 4999;
  std::vector<float> values = {0.0F,   -0.0F,   infinity,     -infinity,    nan,
                               1e-45F, -1e-45F, -87.3365402F, -87.3365479F, -20.0F};
  for (std::uint64_t bits = test::base_seed() % step; bits < std::uint64_t{1} << 32; bits += step) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  return values;
}

template <class Isa>
class VectorActivations : public testing::Test {
 protected:
  using V = typename Isa::V;

  // Checks that function(x) is within `units` of exact(x) for every float x, or only for x <= 0 unless `above_zero`.
  // With `may_vanish`, results below normal size need not be exact.
  template <class Function, class Exact>
  static void check(const Function& function, const Exact& exact, double units, bool above_zero, bool may_vanish) {
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(test::base_seed()));
    std::vector<float> arguments = floats_of_all_kinds();
    if (!above_zero) std::erase_if(arguments, [](float x) { return x > 0; });
    std::vector<float> results = arguments;
    each_vector<Isa>(results.data(), static_cast<std::int64_t>(results.size()), function);
    double worst = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const double wanted = exact(static_cast<double>(arguments[i]));
      if (std::isnan(arguments[i])) {
        ASSERT_TRUE(std::isnan(results[i]));
      } else if (may_vanish && std::abs(wanted) < min_normal) {
        ASSERT_LE(std::abs(results[i]), 1.001 * min_normal) << arguments[i];
      } else {
        worst = std::max(worst, units_off(results[i], wanted));
        ASSERT_LE(units_off(results[i], wanted), units) << arguments[i] << ": " << results[i];
      }
    }
    EXPECT_GT(worst, 0.5) << "other values were looked at than were computed";
  }
};

// An activation that multiplies x by a factor, and the units that it may be off: of the result, for the argument x.
struct Gated {
  ActivationKind kind;
  double (*exact)(double x);
  double (*units)(double x);
};

double exact_mish(double x) { return x * std::tanh(std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)))); }
double exact_gelu(double x) { return x * std::erfc(-x / std::numbers::sqrt2) / 2; }
double exact_gelu_tanh(double x) {
  return x * exact_sigmoid(2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x));
}

constexpr std::array<Gated, 4> gated_kinds = {{
    {ActivationKind::silu, [](double x) { return x * exact_sigmoid(x); }, [](double) { return 4.0; }},
    {ActivationKind::mish, exact_mish, [](double) { return 6.0; }},
    {ActivationKind::gelu, exact_gelu, [](double x) { return 9 * (1 + x * x / 2); }},
    {ActivationKind::gelu_tanh, exact_gelu_tanh, [](double x) { return 4 * (1 + std::abs(x * x * x)); }},
}};

using Kinds = testing::Types<PlainVectors<4>, PlainVectors<8>, SplitVectors<PlainVectors<4>>>;
TYPED_TEST_SUITE(VectorActivations, Kinds);

TYPED_TEST(VectorActivations, AreAsExactAsTheyAreSaidToBe) {
  this->check([](typename TypeParam::V x) { return sigmoid<TypeParam>(x); }, exact_sigmoid, 3, true, true);
  this->check([](typename TypeParam::V x) { return hyperbolic_tangent<TypeParam>(x); },
              [](double x) { return std::tanh(x); }, 3, true, false);
  this->check([](typename TypeParam::V x) { return exponential<TypeParam>(x); }, [](double x) { return std::exp(x); },
              1, false, true);
  this->check([](typename TypeParam::V x) { return exponential_less_one<TypeParam>(x); },
              [](double x) { return std::expm1(x); }, 1, false, false);
  this->check([](typename TypeParam::V x) { return elu<TypeParam>(x, 1.0F); },
              [](double x) { return x < 0 ? std::expm1(x) : x; }, 1, true, false);
}

TYPED_TEST(VectorActivations, SumsAndClipsAreAsExactAsTheyAreSaidToBe) {
  this->check([](typename TypeParam::V x) { return softplus<TypeParam>(x); },
              [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }, 3, true, true);
  this->check([](typename TypeParam::V x) { return hard_swish<TypeParam>(x); },
              [](double x) { return x < -3 ? 0.0 : x * std::min(x + 3, 6.0) / 6; }, 3, true, true);
}

TYPED_TEST(VectorActivations, ProductsAreAsExactAsTheyAreSaidToBe) {
  SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(test::base_seed()));
  const std::vector<float> arguments = floats_of_all_kinds();
  for (const Gated& gated : gated_kinds) {
    std::vector<float> results = arguments;
    activate_vectors<TypeParam>({gated.kind, 0}, results.data(), std::ssize(results));
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!std::isfinite(arguments[i])) continue;  // other tests look at these
      const double x = arguments[i];
      const double exact = gated.exact(x);
      const double bound = std::min(6 * 0x1p-24 * std::abs(x), gated.units(x) * 0x1p-23 * std::abs(exact));
      ASSERT_LE(std::abs(results[i] - exact), bound + 1.001 * std::abs(x) * min_normal + 0x1p-149)
          << to_string(gated.kind) << " of " << x << ": " << results[i];
    }
  }
}

TYPED_TEST(VectorActivations, InfinitiesGiveTheLimits) {
  for (int kind = static_cast<int>(ActivationKind::softplus); kind <= static_cast<int>(last_activation_kind); ++kind) {
    std::vector<float> values = {infinity, -infinity};
    activate_vectors<TypeParam>({static_cast<ActivationKind>(kind), 0}, values.data(), std::ssize(values));
    EXPECT_EQ(values, (std::vector<float>{infinity, 0})) << to_string(static_cast<ActivationKind>(kind));
  }
}

// Every kind of activation, with infinities and numbers around zero among the arguments. Runs are not whole vectors,
// and the values before and behind them must not change.
TYPED_TEST(VectorActivations, FollowTheDefinitionWhereverAValueLies) {
  const std::vector<float> some = {-infinity, -1.5F, infinity, 0.0F, -0.25F, 3.0F, -30.0F, 0.125F, 30.0F};
  for (int kind = 0; kind <= static_cast<int>(last_activation_kind); ++kind) {
    const Activation activation{static_cast<ActivationKind>(kind), 0.3F};
    for (std::int64_t count = 0; count <= 2 * TypeParam::lanes + 1; ++count) {
      std::vector<float> values(static_cast<std::size_t>(count + 2), 12345.5F);
      for (std::int64_t i = 0; i < count; ++i)
        values[static_cast<std::size_t>(i + 1)] = some[(count + i) % some.size()];
      activate_vectors<TypeParam>(activation, values.data() + 1, count);
      EXPECT_EQ(values.front(), 12345.5F);
      EXPECT_EQ(values.back(), 12345.5F);
      for (std::int64_t i = 0; i < count; ++i) {
        float alone = some[(count + i) % some.size()];
        EXPECT_FLOAT_EQ(values[static_cast<std::size_t>(i + 1)], apply(activation, alone))
            << to_string(activation.kind);
        activate_vectors<TypeParam>(activation, &alone, 1);
        EXPECT_EQ(values[static_cast<std::size_t>(i + 1)], alone) << to_string(activation.kind);
      }
    }
  }
}

// NaNs in every lane, and behind the last whole vector.
TYPED_TEST(VectorActivations, WhatIsNoNumberStaysSo) {
  for (int kind = 0; kind <= static_cast<int>(last_activation_kind); ++kind) {
    const Activation activation{static_cast<ActivationKind>(kind), 0.3F};
    std::vector<float> values(static_cast<std::size_t>(2 * TypeParam::lanes + 1), nan);
    activate_vectors<TypeParam>(activation, values.data(), std::ssize(values));
    for (const float value : values) EXPECT_TRUE(std::isnan(value)) << to_string(activation.kind) << ": " << value;
    EXPECT_TRUE(std::isnan(apply(activation, nan))) << to_string(activation.kind);
  }
}

}  // namespace
}  // namespace znni::cpu

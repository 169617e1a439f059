#include "primitives/cpu/vectors/split_vectors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/random.hpp"

namespace znni::cpu {
namespace {

// Vectors of one register and of two do the same to every lane.
template <class Isa>
class AllVectors : public testing::Test {
 protected:
  static constexpr std::int64_t lanes = Isa::lanes;

  // Checks lane by lane that compute(a, b) on vectors equals expected(a, b) on floats, exactly.
  template <class Compute, class Expected>
  static void check(const Compute& compute, const Expected& expected) {
    test::Random random(test::base_seed());
    const std::vector<float> a = random.normals(lanes + 1);
    const std::vector<float> b = random.normals(lanes + 1);
    std::vector<float> to(static_cast<std::size_t>(lanes + 2), -7.0F);
    Isa::store(to.data() + 1, compute(Isa::load(a.data() + 1), Isa::load(b.data() + 1)));
    for (std::size_t i = 1; i <= static_cast<std::size_t>(lanes); ++i) EXPECT_EQ(to[i], expected(a[i], b[i])) << i;
    EXPECT_EQ(to.front(), -7.0F);
    EXPECT_EQ(to.back(), -7.0F);
  }
};

using Kinds = testing::Types<PlainVectors<4>, PlainVectors<8>, SplitVectors<PlainVectors<4>>,
                             SplitVectors<SplitVectors<PlainVectors<4>>>>;
TYPED_TEST_SUITE(AllVectors, Kinds);

TYPED_TEST(AllVectors, Calculate) {
  using V = typename TypeParam::V;
  this->check([](V a, V b) { return a + b; }, [](float a, float b) { return a + b; });
  this->check([](V a, V b) { return a - b; }, [](float a, float b) { return a - b; });
  this->check([](V a, V b) { return a * b; }, [](float a, float b) { return a * b; });
  this->check([](V a, V b) { return a / b; }, [](float a, float b) { return a / b; });
  this->check([](V a, V) { return 3.0F * a; }, [](float a, float) { return 3.0F * a; });
  this->check([](V a, V) { return -a; }, [](float a, float) { return -a; });
  this->check([](V a, V b) { return a += b; }, [](float a, float b) { return a + b; });
  this->check([](V, V) { return TypeParam::broadcast(2.5F); }, [](float, float) { return 2.5F; });
  this->check([](V, V) { return V{}; }, [](float, float) { return 0.0F; });
}

TYPED_TEST(AllVectors, Choose) {
  using V = typename TypeParam::V;
  this->check([](V a, V b) { return TypeParam::max(a, b); }, [](float a, float b) { return a < b ? b : a; });
  this->check([](V a, V b) { return TypeParam::select_negative(a, b, a); },
              [](float a, float b) { return a < 0 ? b : a; });
}

TYPED_TEST(AllVectors, RaiseTwoToPowers) {
  using V = typename TypeParam::V;
  for (const int n : {1, 2, 126, 127, 128, 254}) {
    const float power = std::ldexp(1.0F, n - 127);
    this->check([n](V, V) { return TypeParam::exp2_bits(TypeParam::broadcast(0x1.8p23F + static_cast<float>(n))); },
                [power](float, float) { return power; });
  }
}

TYPED_TEST(AllVectors, KeepTheFirstWhereOneIsNoNumber) {
  const auto nan = TypeParam::broadcast(std::numeric_limits<float>::quiet_NaN());
  const auto one = TypeParam::broadcast(1.0F);
  std::vector<float> to(static_cast<std::size_t>(TypeParam::lanes));
  TypeParam::store(to.data(), TypeParam::max(one, nan));
  for (const float value : to) EXPECT_EQ(value, 1.0F);
  TypeParam::store(to.data(), TypeParam::max(nan, one));
  for (const float value : to) EXPECT_TRUE(std::isnan(value));
}

TYPED_TEST(AllVectors, StreamsAreStores) {
  alignas(64) float to[16] = {};
  TypeParam::stream(to, TypeParam::broadcast(4.0F));
  TypeParam::fence();
  for (std::int64_t i = 0; i < 16; ++i) EXPECT_EQ(to[i], i < TypeParam::lanes ? 4.0F : 0.0F);
}

}  // namespace
}  // namespace znni::cpu

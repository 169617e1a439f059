#include "primitives/hybrid/sublayers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/support/layout.hpp"
#include "tests/support/random.hpp"

namespace znni::hybrid {
namespace {

using test::Random;
using testing::HasSubstr;

ConvProblem conv_of(Shape5 in, std::int64_t f_out, Vec3 k) {
  return {.in = in, .f_out = f_out, .k = k, .activation = {ActivationKind::relu, 0}};
}

// Returns a division of a random convolution: any sub-layer; f is divided evenly.
Division random_division(const ConvProblem& conv, Random& random) {
  Division division{random.integer(0, conv.in.S), random.integer(0, conv.in.f), random.integer(0, conv.f_out),
                    random.integer(0, output_shape(conv).n.z)};
  while (division.f > 0 && conv.in.f % division.f != 0) --division.f;
  return division;
}

TEST(SubLayers, AreNotMadeOfStridedConvolutions) {
  Random random(test::base_seed());
  const Result<SubLayers> sublayers = divide(test::random_strided_conv(random), {});
  ASSERT_FALSE(sublayers);
  EXPECT_EQ(sublayers.error().code, ErrorCode::unsupported);
  EXPECT_NE(sublayers.error().message.find("convolutions without stride or groups can be divided, not: conv"),
            std::string::npos);
}

TEST(SubLayers, CoverEveryOutputWithWholeSums) {
  for (int i = 0; i < test::case_count(100); ++i) {
    Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const ConvProblem conv = test::random_conv(random);
    const SubLayers sublayers = divide(conv, random_division(conv, random)).value();
    const Shape5 out = output_shape(conv);
    // For each (input, output channel, plane): the number of input channels summed so far.
    std::vector<std::int64_t> covered(static_cast<std::size_t>(out.S * out.f * out.n.z), 0);
    std::int64_t uploads = 0;
    for (std::int64_t index = 0; index < sublayers.count(); ++index) {
      const SubLayer sub = sublayers.at(index);
      uploads += sub.uploads ? 1 : 0;
      EXPECT_EQ(sub.opens_sum, sub.f == 0);
      EXPECT_EQ(sub.closes_sum, sub.f + sublayers.in.f == conv.in.f);
      EXPECT_EQ(output_shape(sublayers.problem(sub.sum_step)), sublayers.out);
      for (std::int64_t v = 0; v < sublayers.out.S * sublayers.out.f * sublayers.out.n.z; ++v) {
        const std::int64_t s = sub.S + v / (sublayers.out.f * sublayers.out.n.z);
        const std::int64_t j = sub.f_out + v / sublayers.out.n.z % sublayers.out.f;
        std::int64_t& sum =
            covered.at(static_cast<std::size_t>((s * out.f + j) * out.n.z + sub.z + v % sublayers.out.n.z));
        if (sub.opens_sum) sum = 0;  // a plane that two sub-layers cover is summed again
        EXPECT_EQ(sum, sub.f);
        sum += sublayers.in.f;
      }
      EXPECT_LE(sub.z + sublayers.in.n.z, conv.in.n.z);
    }
    for (const std::int64_t sum : covered) EXPECT_EQ(sum, conv.in.f);
    EXPECT_EQ(uploads, sublayers.uploads());
  }
}

TEST(SubLayers, OnlyTheEndsOfASumHaveResidualBiasAndActivation) {
  ConvProblem conv = conv_of({1, 6, {4, 4, 4}}, 2, {2, 2, 2});
  const SubLayers sublayers = divide(conv, {0, 2, 0, 0}).value();
  ASSERT_EQ(sublayers.terms, 3);
  EXPECT_FALSE(sublayers.problem(0).residual);
  EXPECT_TRUE(sublayers.problem(1).residual);
  EXPECT_EQ(sublayers.problem(1).activation, Activation{});
  EXPECT_EQ(sublayers.problem(2).activation, conv.activation);
  conv.residual = true;
  EXPECT_EQ(divide(conv, {}).value().problem(0), conv);
}

TEST(SubLayers, WithoutPartsOfChannelsOutputsShareAnUpload) {
  const SubLayers sublayers = divide(conv_of({2, 3, {8, 4, 4}}, 6, {2, 2, 2}), {1, 0, 2, 4}).value();
  EXPECT_EQ(sublayers.count(), 2 * 2 * 3);
  EXPECT_EQ(sublayers.uploads(), 4);
  EXPECT_TRUE(sublayers.at(0).uploads);
  EXPECT_FALSE(sublayers.at(1).uploads);
  EXPECT_FALSE(sublayers.at(2).uploads);
  EXPECT_TRUE(sublayers.at(3).uploads);
  EXPECT_EQ(sublayers.at(3).z, 3);  // the last slab begins earlier
  EXPECT_EQ(sublayers.in.n.z, 5);
}

TEST(SubLayers, RefusesWhatDoesNotFit) {
  const ConvProblem conv = conv_of({2, 6, {8, 4, 4}}, 3, {2, 2, 2});
  EXPECT_THAT(divide(conv, {3, 0, 0, 0}).error().message, HasSubstr("division.S = 3 is not in [0, 2]"));
  EXPECT_THAT(divide(conv, {0, 4, 0, 0}).error().message, HasSubstr("division.f = 4 does not divide the 6"));
  EXPECT_THAT(divide(conv, {0, 0, -1, 0}).error().message, HasSubstr("division.f_out = -1"));
  EXPECT_THAT(divide(conv, {0, 0, 0, 8}).error().message, HasSubstr("division.slab = 8 is not in [0, 7]"));
  const ConvProblem wide = conv_of({1 << 12, 1, {8, 4, 4}}, 1 << 12, {2, 2, 2});
  EXPECT_THAT(divide(wide, {1, 0, 1, 0}).error().message, HasSubstr("16777216 sub-layers; the limit is 1048576"));
}

// The pieces of a box, gathered in their order, are the box as a dense tensor.
TEST(VisitPieces, GathersAnyBoxOfAnyView) {
  for (int i = 0; i < test::case_count(200); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    SCOPED_TRACE(seed);
    const Format format{ElementType::f32, random.chance(0.5) ? Layout::planar : Layout::channels_last};
    const Shape5 shape{random.integer(1, 3), random.integer(1, 4), random.vec3(1, 5)};
    const bool gaps = format.layout == Layout::planar && random.chance(0.5);
    test::Window window = gaps ? test::strided_window(shape, format, seed) : test::Window();
    if (!gaps) window = {dense_view(nullptr, shape, format), 0, elements(shape)};
    std::vector<float> memory(static_cast<std::size_t>(window.elements), -1.0F);
    window.view.data = memory.data() + window.before;
    std::vector<float> numbers(static_cast<std::size_t>(elements(shape)));
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    test::store(numbers, window.view);

    Box box{random.integer(0, shape.S - 1), random.integer(0, shape.f - 1), random.integer(0, shape.n.z - 1), shape};
    if (format.layout == Layout::channels_last) box.f = 0;
    box.shape.S = random.integer(1, shape.S - box.S);
    box.shape.f = format.layout == Layout::channels_last ? shape.f : random.integer(1, shape.f - box.f);
    box.shape.n.z = random.integer(1, shape.n.z - box.z);
    std::vector<float> gathered;
    visit_pieces(window.view, box, [&](std::int64_t element, const CopyRows& rows) {
      for (std::int64_t row = 0; row < rows.count; ++row) {
        const float* from = window.view.data + element + row * rows.from_step / 4;
        gathered.insert(gathered.end(), from, from + rows.bytes / 4);
        EXPECT_EQ(rows.to_step, rows.count > 1 ? rows.bytes : rows.to_step);
      }
    });
    ASSERT_EQ(static_cast<std::int64_t>(gathered.size()), elements(box.shape));
    const TensorView dense = dense_view(gathered.data(), box.shape, format);
    for (std::int64_t s = 0; s < box.shape.S; ++s) {
      for (std::int64_t j = 0; j < box.shape.f; ++j) {
        for (std::int64_t z = 0; z < box.shape.n.z; ++z) {
          EXPECT_EQ(dense.at(s, j, {z, 0, 0}), window.view.at(box.S + s, box.f + j, {box.z + z, 0, 0}));
        }
      }
    }
  }
}

// An input of 80 x 900^3 floats, 58e9 of them: offsets and bytes are exact, whatever the memory.
TEST(VisitPieces, CountsBeyondThirtyTwoBits) {
  const ConvProblem conv = conv_of({1, 80, {900, 900, 900}}, 80, {5, 5, 5});
  const SubLayers sublayers = divide(conv, {0, 0, 0, 16}).value();
  const TensorView view = dense_view(nullptr, conv.in);
  const SubLayer last = sublayers.at(sublayers.count() - 1);
  EXPECT_EQ(last.z + sublayers.in.n.z, 900);
  std::int64_t pieces = 0;
  visit_pieces(view, {last.S, last.f, last.z, sublayers.in}, [&](std::int64_t element, const CopyRows& rows) {
    ++pieces;
    EXPECT_EQ(element, std::int64_t{880} * 900 * 900);
    EXPECT_EQ(rows, (CopyRows{20 * 900 * 900 * 4, 80, 20 * 900 * 900 * 4, std::int64_t{900} * 900 * 900 * 4}));
    EXPECT_EQ(element * 4 + (rows.count - 1) * rows.from_step + rows.bytes, tensor_bytes(conv.in, {}));
  });
  EXPECT_EQ(pieces, 1);
  EXPECT_LT(elements(sublayers.in), std::int64_t{1} << 31);
}

}  // namespace
}  // namespace znni::hybrid

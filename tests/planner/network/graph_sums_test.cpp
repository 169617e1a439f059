#include "planner/network/graph_sums.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/network/graph_passes.hpp"

namespace znni {
namespace {

using testing::ElementsAre;

Convolution convolution_of(std::int64_t f_out, Vec3 k, Vec3 dilation = Vec3::cube(1)) {
  return {f_out, k, dilation, {}};
}

Convolution convolution_of(std::int64_t f_out, std::int64_t k) { return convolution_of(f_out, Vec3::cube(k)); }

LoadedNetwork loaded_of(std::vector<Node> nodes) {
  LoadedNetwork loaded;
  loaded.network.f_in = 2;
  loaded.network.nodes = std::move(nodes);
  EXPECT_TRUE(check(loaded.network)) << check(loaded.network).error().message;
  return loaded;
}

// Returns what is left after all passes.
std::vector<std::string> passed(std::vector<Node> nodes) {
  return describe(fold_and_fuse(loaded_of(std::move(nodes))).network);
}

const Crop border{Vec3::cube(1), Vec3::cube(1)};

TEST(PlannerGraphSums, KernelsOfOneExtentBecomeOne) {
  EXPECT_THAT(passed({{"a", convolution_of(3, 2), {0}},
                      {"b", convolution_of(3, 2), {0}},
                      {"c", convolution_of(3, 2), {0}},
                      {"s", Add{}, {1, 2, 3}}}),
              ElementsAre("a: conv 2 -> 3, k 2x2x2 <- input"));
}

// A net is trained so: three branches, each with a normalisation, of which one kernel is left.
TEST(PlannerGraphSums, SmallerKernelsNormalisationsAndTheTensorItselfGoIntoTheConvolution) {
  EXPECT_THAT(passed({{"a", convolution_of(2, 3), {0}},
                      {"norm_a", ScaleShift{}, {1}},
                      {"crop", border, {0}},
                      {"b", convolution_of(2, 1), {3}},
                      {"norm_b", ScaleShift{}, {4}},
                      {"norm_c", ScaleShift{}, {3}},
                      {"sum_ab", Add{}, {2, 5}},
                      {"sum", Add{}, {7, 6}},
                      {"relu", Activate{{ActivationKind::relu, 0}}, {8}}}),
              ElementsAre("a: conv 2 -> 2, k 3x3x3, relu <- input"));
  EXPECT_THAT(passed({{"crop", border, {0}}, {"a", convolution_of(2, 3), {0}}, {"sum", Add{}, {1, 2}}}),
              ElementsAre("a: conv 2 -> 2, k 3x3x3 <- input"));
  // Cropped behind, and the larger one cropped, too.
  EXPECT_THAT(passed({{"b", convolution_of(3, 1), {0}},
                      {"crop_b", Crop{{2, 1, 1}, {1, 2, 2}}, {1}},
                      {"a", convolution_of(3, 3), {0}},
                      {"crop_a", Crop{{1, 0, 0}, {0, 1, 1}}, {3}},
                      {"sum", Add{}, {2, 4}}}),
              ElementsAre("a: conv 2 -> 3, k 3x3x3 <- input", "crop_a: crop 3, begin 1x0x0, end 0x1x1 <- a"));
}

TEST(PlannerGraphSums, OthersStillReadWhatGoesIntoAConvolution) {
  EXPECT_THAT(passed({{"a", convolution_of(2, 1), {0}},
                      {"b", convolution_of(2, 1), {0}},
                      {"sum", Add{}, {1, 2}},
                      {"soft", AcrossChannels{}, {3}},
                      {"all", Concat{}, {4, 1}}}),
              ElementsAre("a: conv 2 -> 2, k 1x1x1 <- input", "b: conv 2 -> 2, k 1x1x1 <- input",
                          "soft: softmax 2 <- b", "all: concat <- soft, a"));
}

// Returns the number of nodes left of two maps of one tensor whose sum is normalised.
std::size_t left_of(const Operation& a, const Operation& b) {
  return passed({{"a", a, {0}}, {"b", b, {0}}, {"sum", Add{}, {1, 2}}, {"out", AcrossChannels{}, {3}}}).size();
}

TEST(PlannerGraphSums, EveryTapMustFallOntoOne) {
  EXPECT_EQ(left_of(convolution_of(2, {3, 3, 1}), convolution_of(2, {3, 3, 1})), 2U);
  EXPECT_EQ(left_of(convolution_of(2, 3), convolution_of(2, {2, 3, 3}, {2, 1, 1})), 2U);
  EXPECT_EQ(left_of(convolution_of(2, 5), convolution_of(2, {3, 3, 3}, {2, 2, 2})), 2U);
  EXPECT_EQ(left_of(convolution_of(2, {3, 1, 1}, {2, 1, 1}), convolution_of(2, {2, 1, 1}, {4, 1, 1})), 2U);
  EXPECT_EQ(left_of(convolution_of(2, {3, 1, 1}, {2, 1, 1}), Crop{{2, 0, 0}, {2, 0, 0}}), 2U);
  // Between taps; more taps either way; the ends alone.
  EXPECT_EQ(left_of(convolution_of(2, {3, 1, 1}, {2, 1, 1}), Crop{{1, 0, 0}, {3, 0, 0}}), 3U);
  EXPECT_EQ(left_of(convolution_of(2, {4, 1, 1}, {2, 1, 1}), convolution_of(2, {3, 1, 1}, {3, 1, 1})), 3U);
}

TEST(PlannerGraphSums, AddendsStayWhereTheyDifferInMoreThanTaps) {
  const auto stay = [](std::vector<Node> nodes) {
    const std::size_t before = nodes.size();
    LoadedNetwork loaded = loaded_of(std::move(nodes));
    const bool joined = join_addends(loaded, static_cast<int>(before) - 1);
    return !joined && loaded.network.nodes.size() == before;
  };
  const Convolution active{2, Vec3::cube(1), Vec3::cube(1), {ActivationKind::relu, 0}};
  // An activation between; another tensor; a residual; the same one twice; no convolution.
  EXPECT_TRUE(stay({{"a", active, {0}}, {"b", convolution_of(2, 1), {0}}, {"sum", Add{}, {1, 2}}}));
  EXPECT_TRUE(stay({{"n", AcrossChannels{}, {0}},
                    {"a", convolution_of(2, 1), {1}},
                    {"b", convolution_of(2, 1), {0}},
                    {"sum", Add{}, {2, 3}}}));
  EXPECT_TRUE(stay({{"a", convolution_of(2, 1), {0, 0}}, {"b", convolution_of(2, 1), {0, 0}}, {"sum", Add{}, {1, 2}}}));
  EXPECT_TRUE(stay({{"a", convolution_of(2, 1), {0}}, {"sum", Add{}, {1, 1}}}));
  EXPECT_TRUE(stay({{"a", ScaleShift{}, {0}}, {"b", ScaleShift{}, {0}}, {"sum", Add{}, {0, 1, 2}}}));
}

// Sums of so many would take hours; no trained network has them.
TEST(PlannerGraphSums, SumsOfVeryManyStay) {
  std::vector<Node> nodes;
  Node sum{"sum", Add{}, {}};
  for (int i = 0; i < 17; ++i) {
    nodes.push_back({"map" + std::to_string(i), convolution_of(2, 1), {0}});
    sum.inputs.push_back(i + 1);
  }
  nodes.push_back(sum);
  LoadedNetwork loaded = loaded_of(std::move(nodes));
  EXPECT_FALSE(join_addends(loaded, 17));
  loaded.network.nodes.back().inputs.pop_back();
  EXPECT_TRUE(join_addends(loaded, 17));
}

TEST(PlannerGraphSums, WeightsAreThoseOfBothWhereTheirTapsFall) {
  LoadedNetwork loaded = loaded_of({{"a", convolution_of(2, {1, 1, 3}), {0}},
                                    {"b", convolution_of(2, {1, 1, 2}), {0}},
                                    {"crop_b", Crop{{0, 0, 1}, {}}, {2}},
                                    {"crop", Crop{{}, {0, 0, 2}}, {0}},
                                    {"norm", ScaleShift{}, {4}},
                                    {"sum", Add{}, {1, 3, 5}}});
  loaded.weights = {{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {}, {}, {}},
                    {{100, 200, 300, 400, 500, 600, 700, 800}, {7, 8}, {}, {}},
                    {},
                    {},
                    {{}, {}, {1000, 2000}, {10, 20}},
                    {}};
  ASSERT_TRUE(check_weights(loaded.network, loaded.weights));
  ASSERT_TRUE(join_addends(loaded, 5));
  ASSERT_TRUE(join_addends(loaded, static_cast<int>(loaded.network.nodes.size()) - 1));
  EXPECT_THAT(describe(loaded.network), ElementsAre("a: conv 2 -> 2, k 1x1x3 <- input", "sum: activation 2 <- a"));
  EXPECT_THAT(loaded.weights[0].kernels, ElementsAre(1001, 102, 203, 4, 305, 406, 7, 508, 609, 2010, 711, 812));
  EXPECT_THAT(loaded.weights[0].bias, ElementsAre(17, 28));
}

}  // namespace
}  // namespace znni

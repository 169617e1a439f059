#include "planner/network/graph_branches.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "planner/layers/schedule.hpp"
#include "planner/network/graph_passes.hpp"
#include "tests/planner/dense_net.hpp"
#include "tests/planner/fake_primitives.hpp"
#include "tests/planner/folded_net.hpp"

namespace znni {
namespace {

using test::Random;
using testing::ElementsAre;

const Activation relu{ActivationKind::relu, 0};

Convolution conv_operation(std::int64_t f_out, std::int64_t k, Activation activation = {}) {
  return {f_out, Vec3::cube(k), Vec3::cube(1), activation};
}

LoadedNetwork loaded_of(std::vector<Node> nodes, std::int64_t f_in = 2) {
  LoadedNetwork loaded;
  loaded.network.f_in = f_in;
  loaded.network.nodes = std::move(nodes);
  EXPECT_TRUE(check(loaded.network)) << check(loaded.network).error().message;
  return loaded;
}

// Returns what is left after all passes.
std::vector<std::string> passed(std::vector<Node> nodes, std::int64_t f_in = 2) {
  return describe(fold_and_fuse(loaded_of(std::move(nodes), f_in)).network);
}

TEST(PlannerGraphBranches, HeadsBeginWithOneConvolution) {
  const Activation sigmoid{ActivationKind::sigmoid, 0};
  EXPECT_THAT(passed({{"a", conv_operation(20, 3), {0}},
                      {"relu_a", Activate{relu}, {1}},
                      {"head_a", conv_operation(3, 1), {2}},
                      {"sigmoid_a", Activate{sigmoid}, {3}},
                      {"b", conv_operation(30, 3), {0}},
                      {"norm_b", ScaleShift{}, {5}},
                      {"relu_b", Activate{relu}, {6}},
                      {"head_b", conv_operation(1, 1), {7}},
                      {"sigmoid_b", Activate{sigmoid}, {8}},
                      {"all", Concat{}, {4, 9}}},
                     50),
              ElementsAre("a: conv 50 -> 50, k 3x3x3, relu <- input", "head_a: conv 50 -> 4, k 1x1x1, sigmoid <- a"));
}

TEST(PlannerGraphBranches, OfThreeHeadsTheOneThatDiffersStays) {
  EXPECT_THAT(passed({{"a", conv_operation(4, 2, relu), {0}},
                      {"b", conv_operation(5, 2, relu), {0}},
                      {"c", conv_operation(6, 2), {0}},
                      {"head_c", conv_operation(1, 1), {3}},
                      {"head_b", conv_operation(2, 1), {2}},
                      {"head_a", conv_operation(3, 1), {1}},
                      {"all", Concat{}, {6, 5, 4}},
                      {"last", AcrossChannels{}, {7}}},
                     9),
              ElementsAre("a: conv 9 -> 9, k 2x2x2, relu <- input", "c: conv 9 -> 6, k 2x2x2 <- input",
                          "head_c: conv 6 -> 1, k 1x1x1 <- c", "head_a: conv 9 -> 5, k 1x1x1 <- a",
                          "all: concat <- head_a, head_c", "last: softmax 6 <- all"));
}

TEST(PlannerGraphBranches, BranchesThatAreAddedBecomeOne) {
  EXPECT_THAT(passed({{"a", conv_operation(3, 2, relu), {0}},
                      {"b", conv_operation(4, 2, relu), {0}},
                      {"c", conv_operation(5, 2, relu), {0}},
                      {"last_a", conv_operation(20, 3), {1}},
                      {"last_b", conv_operation(20, 3), {2}},
                      {"last_c", conv_operation(20, 3), {3}},
                      {"sum", Add{}, {4, 5, 6}},
                      {"act", Activate{relu}, {7}}},
                     12),
              ElementsAre("a: conv 12 -> 12, k 2x2x2, relu <- input", "last_a: conv 12 -> 20, k 3x3x3, relu <- a"));
  // A third addend is the residual.
  EXPECT_THAT(passed({{"a", conv_operation(3, 2, relu), {0}},
                      {"b", conv_operation(4, 2, relu), {0}},
                      {"crop", Crop{Vec3::cube(1), {}}, {0}},
                      {"last_a", conv_operation(7, 1), {1}},
                      {"last_b", conv_operation(7, 1), {2}},
                      {"sum", Add{}, {4, 3, 5}}},
                     7),
              ElementsAre("a: conv 7 -> 7, k 2x2x2, relu <- input", "crop: crop 7, begin 1x1x1, end 0x0x0 <- input",
                          "last_a: conv 7 -> 7, k 1x1x1, residual <- a, crop"));
}

TEST(PlannerGraphBranches, BranchesStayWhereTheyDifferOrAreReadElsewhere) {
  const auto stay = [](const Operation& meeting, const Convolution& first, const Convolution& other,
                       const Convolution& last, const Convolution& other_last, std::vector<Node> more = {}) {
    std::vector<Node> nodes = {{"a", first, {0}},
                               {"b", other, {0}},
                               {"last_a", last, {1}},
                               {"last_b", other_last, {2}},
                               {"meeting", meeting, {3, 4}}};
    nodes.insert(nodes.end(), more.begin(), more.end());
    LoadedNetwork loaded = loaded_of(std::move(nodes), 6);
    return !join_branches(loaded, 4) && loaded.network.nodes.size() == 5 + more.size();
  };
  const Convolution two = conv_operation(3, 2);
  const Convolution head = conv_operation(2, 1);
  const Convolution active = conv_operation(3, 2, relu);
  EXPECT_FALSE(stay(Concat{}, two, two, head, head));
  EXPECT_FALSE(stay(Add{}, two, two, head, head));
  // Another activation, of the first or the last.
  EXPECT_TRUE(stay(Concat{}, two, active, head, head));
  EXPECT_TRUE(stay(Concat{}, two, two, head, conv_operation(2, 1, relu)));
  EXPECT_TRUE(stay(Add{}, two, two, conv_operation(2, 1, relu), conv_operation(2, 1, relu)));
  // Zeros that would be multiplied.
  EXPECT_TRUE(stay(Concat{}, two, two, two, two));
  EXPECT_TRUE(stay(Concat{}, two, two, conv_operation(9, 1), conv_operation(8, 1)));
  EXPECT_FALSE(stay(Concat{}, two, two, conv_operation(8, 1), conv_operation(8, 1)));
  // Kernels of other extents.
  EXPECT_TRUE(stay(Concat{}, two, conv_operation(3, 1), conv_operation(2, 1), two));
  // First kernels of one voxel.
  EXPECT_TRUE(stay(Concat{}, conv_operation(3, 1), conv_operation(3, 1), head, head));
  EXPECT_FALSE(stay(Add{}, conv_operation(3, 1), conv_operation(3, 1), head, head));
  // More channels than the tensor has.
  EXPECT_TRUE(stay(Concat{}, two, conv_operation(4, 2), head, head));
  EXPECT_TRUE(stay(Add{}, two, conv_operation(4, 2), head, head));
  // Read elsewhere.
  EXPECT_TRUE(stay(Concat{}, two, two, head, head, {{"all", Concat{}, {5, 1}}}));
  EXPECT_TRUE(stay(Concat{}, two, two, head, head, {{"all", Concat{}, {5, 4}}}));
  EXPECT_FALSE(stay(Concat{}, two, two, head, head, {{"crop", Crop{}, {5}}}));
}

TEST(PlannerGraphBranches, NothingElseIsABranch) {
  const auto stay = [](std::vector<Node> nodes) {
    LoadedNetwork loaded = loaded_of(std::move(nodes), 4);
    return !join_branches(loaded, static_cast<int>(loaded.network.nodes.size()) - 1);
  };
  // Convolutions of two tensors; a residual; the input itself; nothing but one convolution each.
  EXPECT_TRUE(stay({{"n", AcrossChannels{}, {0}},
                    {"a", conv_operation(2, 1), {0}},
                    {"b", conv_operation(2, 1), {1}},
                    {"p", conv_operation(2, 1), {2}},
                    {"q", conv_operation(2, 1), {3}},
                    {"sum", Add{}, {4, 5}}}));
  EXPECT_TRUE(stay({{"a", conv_operation(2, 1), {0}},
                    {"b", conv_operation(2, 1), {0}},
                    {"p", conv_operation(4, 1), {1, 0}},
                    {"q", conv_operation(4, 1), {2, 0}},
                    {"sum", Add{}, {3, 4}}}));
  EXPECT_TRUE(stay({{"a", conv_operation(2, 1), {0}}, {"p", conv_operation(4, 1), {1}}, {"sum", Add{}, {2, 0}}}));
  EXPECT_TRUE(stay({{"p", conv_operation(2, 1), {0}}, {"q", conv_operation(2, 1), {0}}, {"all", Concat{}, {1, 2}}}));
}

// Returns the bytes alive at once, of one patch.
std::int64_t peak_of(const Network& network) {
  const Geometry geometry = make_geometry(network, {Vec3::cube(24), 1, {}}).value();
  const std::vector<Step> steps = test::planar_steps(network);
  return peak(make_schedule(network, geometry, steps, test::fake_catalogue(), test::fake_device()).value().memory);
}

// One after the other, or all at once: never more beside the tensor than it takes itself.
TEST(PlannerGraphBranches, JoinedBranchesTakeNoMoreMemoryThanTheTensorTheyRead) {
  constexpr std::int64_t f_in = 8;
  const std::int64_t tensor = tensor_bytes({1, f_in, Vec3::cube(24)}, Format{});
  for (const Operation& meeting : {Operation(Concat{}), Operation(Add{})}) {
    int joined = 0;
    for (std::int64_t f = 1; f <= 16; ++f) {
      std::vector<Node> nodes;
      for (int i = 0; i < 4; ++i) {
        nodes.push_back({"first" + std::to_string(i), conv_operation(f, 3, relu), {0}});
        nodes.push_back({"last" + std::to_string(i), conv_operation(1, 1), {2 * i + 1}});
      }
      nodes.push_back({"meeting", meeting, {2, 4, 6, 8}});
      const LoadedNetwork before = loaded_of(std::move(nodes), f_in);
      const LoadedNetwork after = fold_and_fuse(before);
      EXPECT_LE(peak_of(after.network), peak_of(before.network) + tensor) << f << " channels each";
      joined += after.network.nodes.size() + 1 < before.network.nodes.size() ? 1 : 0;
    }
    EXPECT_EQ(joined, 4);
  }
}

std::vector<float> counted(std::size_t count, float from) {
  std::vector<float> numbers(count);
  std::iota(numbers.begin(), numbers.end(), from);
  return numbers;
}

TEST(PlannerGraphBranches, WeightsAreThoseOfBothWithZerosWhereHeadsStandSideBySide) {
  const std::vector<Node> branches = {{"a", conv_operation(1, 2), {0}},
                                      {"b", conv_operation(2, 2), {0}},
                                      {"last_a", conv_operation(2, 1), {1}},
                                      {"last_b", conv_operation(2, 1), {2}}};
  const NetworkWeights weights = {{counted(24, 0), {}, {}, {}},
                                  {counted(48, 24), {7, 8}, {}, {}},
                                  {{10, 20}, {1, 2}, {}, {}},
                                  {{30, 40, 50, 60}, {3, 4}, {}, {}},
                                  {}};
  const auto joined = [&](const Operation& meeting) {
    std::vector<Node> nodes = branches;
    nodes.push_back({"meeting", meeting, {3, 4}});
    LoadedNetwork loaded = loaded_of(std::move(nodes), 3);
    loaded.weights = weights;
    EXPECT_TRUE(check_weights(loaded.network, loaded.weights));
    EXPECT_TRUE(join_branches(loaded, 4));
    EXPECT_TRUE(check_weights(loaded.network, loaded.weights));
    EXPECT_EQ(loaded.weights[0].kernels, counted(72, 0));
    EXPECT_THAT(loaded.weights[0].bias, ElementsAre(0, 7, 8));
    return loaded.weights[1];
  };
  const NodeWeights heads = joined(Concat{});
  EXPECT_THAT(heads.kernels, ElementsAre(10, 0, 0, 20, 0, 0, 0, 30, 40, 0, 50, 60));
  EXPECT_THAT(heads.bias, ElementsAre(1, 2, 3, 4));
  const NodeWeights sums = joined(Add{});
  EXPECT_THAT(sums.kernels, ElementsAre(10, 30, 40, 20, 50, 60));
  EXPECT_THAT(sums.bias, ElementsAre(4, 6));
}

TEST(PlannerGraphBranches, HeadsThatEndOtherwiseBeginWithOneConvolutionToo) {
  EXPECT_THAT(passed({{"wide", conv_operation(20, 1), {0}},
                      {"a", conv_operation(12, 2, relu), {1}},
                      {"b", conv_operation(8, 2, relu), {1}},
                      {"head_b", conv_operation(3, 1), {3}},
                      {"soft", AcrossChannels{}, {4}},
                      {"head_a", conv_operation(1, 1, relu), {2}},
                      {"all", Concat{}, {6, 5}}}),
              ElementsAre("wide: conv 2 -> 20, k 1x1x1 <- input", "a: conv 20 -> 20, k 2x2x2, relu <- wide",
                          "head_b: conv 20 -> 3, k 1x1x1 <- a", "soft: softmax 3 <- head_b",
                          "head_a: conv 20 -> 1, k 1x1x1, relu <- a", "all: concat <- head_a, soft"));
}

TEST(PlannerGraphBranches, SiblingsStayWhereZerosWouldCostOrCannotBeRead) {
  const auto stay = [](const Convolution& first, const Convolution& other, const Operation& head,
                       std::vector<Node> more = {}) {
    std::vector<Node> nodes = {
        {"a", first, {0}}, {"b", other, {0}}, {"head_a", head, {1}}, {"head_b", conv_operation(2, 1), {2}}};
    nodes.insert(nodes.end(), more.begin(), more.end());
    if (more.empty()) nodes.push_back({"all", Concat{}, {3, 4}});
    LoadedNetwork loaded = loaded_of(std::move(nodes));
    return !join_siblings(loaded, 0);
  };
  EXPECT_FALSE(stay(conv_operation(1, 2), conv_operation(1, 2), conv_operation(2, 1)));
  EXPECT_TRUE(stay(conv_operation(1, 2), conv_operation(2, 2), conv_operation(2, 1)));
  EXPECT_TRUE(stay(conv_operation(2, 1), conv_operation(2, 1), conv_operation(2, 1)));
  EXPECT_TRUE(stay(conv_operation(1, 2), conv_operation(1, 2, relu), conv_operation(2, 1)));
  EXPECT_TRUE(stay(conv_operation(1, 2), conv_operation(1, 2), conv_operation(17, 1)));
  EXPECT_TRUE(stay(conv_operation(1, 2), conv_operation(1, 2), AcrossChannels{}));
  // As a residual; by a third head.
  EXPECT_TRUE(stay(conv_operation(1, 2), conv_operation(1, 2), conv_operation(2, 1),
                   {{"res", conv_operation(1, 1), {3, 2}}, {"all", Concat{}, {4, 5}}}));
  EXPECT_TRUE(stay(conv_operation(1, 2), conv_operation(1, 2), conv_operation(2, 1),
                   {{"third", conv_operation(2, 1), {2}}, {"all", Concat{}, {3, 4, 5}}}));
}

TEST(PlannerGraphBranches, OfMoreThanSixteenReadersNoneAreLookedAt) {
  const auto joins = [](int branches) {
    std::vector<Node> nodes;
    Node all{"all", Concat{}, {}};
    for (int i = 0; i < branches; ++i) {
      nodes.push_back({"a" + std::to_string(i), conv_operation(1, 2), {0}});
      nodes.push_back({"head" + std::to_string(i), conv_operation(1, 1), {2 * i + 1}});
      all.inputs.push_back(2 * i + 2);
    }
    nodes.push_back(std::move(all));
    LoadedNetwork loaded = loaded_of(std::move(nodes), 40);
    return std::pair{join_siblings(loaded, 0),
                     join_branches(loaded, static_cast<int>(loaded.network.nodes.size()) - 1)};
  };
  EXPECT_EQ(joins(16), std::pair(true, true));
  EXPECT_EQ(joins(17), std::pair(false, false));
}

TEST(PlannerGraphBranches, HeadsReadTheirOwnChannelsOfTheJoinedConvolution) {
  LoadedNetwork loaded = loaded_of({{"a", conv_operation(1, 2), {0}},
                                    {"b", conv_operation(2, 2), {0}},
                                    {"head_b", conv_operation(2, 1), {2}},
                                    {"head_a", conv_operation(1, 1, relu), {1}},
                                    {"all", Concat{}, {4, 3}}});
  loaded.network.f_in = 3;
  loaded.weights = random_weights(loaded.network, 1);
  loaded.weights[2].kernels = {1, 2, 3, 4};
  loaded.weights[3].kernels = {5};
  const std::vector<float> b = loaded.weights[1].kernels;
  ASSERT_TRUE(join_siblings(loaded, 0));
  ASSERT_TRUE(check_weights(loaded.network, loaded.weights));
  EXPECT_THAT(describe(loaded.network),
              ElementsAre("a: conv 3 -> 3, k 2x2x2 <- input", "head_b: conv 3 -> 2, k 1x1x1 <- a",
                          "head_a: conv 3 -> 1, k 1x1x1, relu <- a", "all: concat <- head_a, head_b"));
  EXPECT_TRUE(std::equal(b.begin(), b.end(), loaded.weights[0].kernels.begin() + 24));
  EXPECT_THAT(loaded.weights[1].kernels, ElementsAre(0, 1, 2, 0, 3, 4));
  EXPECT_THAT(loaded.weights[2].kernels, ElementsAre(5, 0, 0));
}

// Adds branches of a random net's output, two of which at least are alike.
Network with_branches(Network network, Random& random) {
  const auto append = [&](const Operation& operation, std::vector<int> inputs) {
    network.nodes.push_back({"branch_" + std::to_string(network.nodes.size()), operation, std::move(inputs)});
    return static_cast<int>(network.nodes.size());
  };
  auto from = static_cast<int>(network.nodes.size());
  if (channels_of(network).back() < 8 || random.chance(0.5))
    from = append(Convolution{8, Vec3::cube(1), Vec3::cube(1), {}}, {from});
  const bool added = random.chance(0.5);
  Vec3 k = random.vec3(1, 2);
  if (!added && voxels(k) == 1) k.x = 2;
  const Vec3 last_k = added ? random.vec3(1, 2) : Vec3::cube(1);
  std::vector<int> ends;
  const std::int64_t count = random.integer(2, 4);
  for (std::int64_t i = 0; i < count; ++i) {
    const bool odd = i > 1 && random.chance(0.3);
    const int first = append(Convolution{random.integer(1, 4), k, Vec3::cube(1), odd ? Activation{} : relu}, {from});
    const Activation last = i > 1 ? test::random_activation(random) : Activation{};
    ends.push_back(append(Convolution{added ? 3 : random.integer(1, 7), last_k, Vec3::cube(1), last}, {first}));
  }
  if (random.chance(0.5)) std::swap(ends[0], ends[1]);
  append(added ? Operation(Add{test::random_activation(random)}) : Operation(Concat{}), std::move(ends));
  if (random.chance(0.5)) append(AcrossChannels{}, {static_cast<int>(network.nodes.size())});
  return network;
}

class RandomBranches : public testing::TestWithParam<int> {};

TEST_P(RandomBranches, ComputeTheSameAfterwards) {
  const std::uint64_t seed = test::base_seed() * 1000 + static_cast<std::uint64_t>(GetParam());
  Random random(seed);
  const Network network = with_branches(test::random_network(random), random);
  std::string text = "case " + std::to_string(GetParam()) + ", ZNNI_TEST_SEED=" + std::to_string(test::base_seed());
  for (const std::string& line : describe(network)) text += "\n  " + line;
  SCOPED_TRACE(text);
  EXPECT_LT(test::expect_folded_alike(network, seed, random).network.nodes.size(), network.nodes.size());
}

INSTANTIATE_TEST_SUITE_P(PlannerGraphBranches, RandomBranches, testing::Range(0, test::case_count(60)));

}  // namespace
}  // namespace znni

#include "planner/network/quotients.hpp"

#include <gtest/gtest.h>

#include "planner/network/graph_passes.hpp"

namespace znni {
namespace {

Convolution divided_conv(std::int64_t f) { return {f, Vec3::cube(3), Vec3::cube(1), {}}; }

// Returns a network with a quotient, and convolutions before it, beside it and behind it.
Network divided() {
  Network network;
  network.nodes = {{"before", divided_conv(2), {0}},
                   {"divisor", divided_conv(2), {1}},
                   {"cut", Crop{Vec3::cube(1), Vec3::cube(1)}, {1}},
                   {"quotient", Divide{}, {3, 2}},
                   {"beside", divided_conv(4), {2}},
                   {"behind", divided_conv(4), {4}},
                   {"joined", Concat{}, {5, 6}},
                   {"last", divided_conv(1), {7}}};
  return network;
}

std::vector<std::string> marked(const Network& network) {
  std::vector<std::string> names;
  for (const Node& node : network.nodes) {
    const auto* own = std::get_if<Convolution>(&node.operation);
    if (own != nullptr && own->local) names.push_back(node.name);
  }
  return names;
}

TEST(PlannerQuotients, ConvolutionsBehindOneAreMarkedAndNoOthers) {
  Network network = divided();
  ASSERT_TRUE(check(network));
  mark_behind_quotients(network);
  EXPECT_EQ(marked(network), (std::vector<std::string>{"behind", "last"}));
  EXPECT_EQ(describe(network).back(), "last: conv 8 -> 1, k 3x3x3, local <- joined");
}

TEST(PlannerQuotients, AMarkThatIsOutOfDateIsTakenAway) {
  Network network = divided();
  std::get<Convolution>(network.nodes.front().operation).local = true;
  mark_behind_quotients(network);
  EXPECT_EQ(marked(network), (std::vector<std::string>{"behind", "last"}));
}

TEST(PlannerQuotients, GraphPassesMarkAtTheirEnd) {
  Network network = divided();
  network.nodes.push_back({"relu", Activate{{ActivationKind::relu}}, {8}});
  const LoadedNetwork fused = fold_and_fuse({network, {}});
  EXPECT_EQ(describe(fused.network).back(), "last: conv 8 -> 1, k 3x3x3, local, relu <- joined");
}

}  // namespace
}  // namespace znni

#include "planner/network/channel_numbers.hpp"

#include <gtest/gtest.h>

#include "planner/network/tile_bound.hpp"

namespace znni {
namespace {

Network network_of(std::vector<Node> nodes) {
  Network network;
  network.name = "net";
  network.f_in = 1;
  network.nodes = std::move(nodes);
  return network;
}

Node numbered_conv(const std::string& name, std::int64_t f_out, int input) {
  Convolution made;
  made.f_out = f_out;
  made.k = Vec3::cube(3);
  return {name, made, {input}};
}

TEST(ChannelNumbers, AreThoseOfTheOutputAlone) {
  const Node numbers = {"numbers", AcrossChannels{AcrossKind::arg_max}, {1}};
  const Node last = {"numbers", AcrossChannels{AcrossKind::arg_max_last}, {1}};
  EXPECT_EQ(largest_channel_number(network_of({numbered_conv("c", 5, 0)})), 0);
  EXPECT_EQ(largest_channel_number(network_of({numbered_conv("c", 5, 0), {"s", AcrossChannels{}, {1}}})), 0);
  EXPECT_EQ(largest_channel_number(network_of({numbered_conv("c", 5, 0), numbers})), 4);
  EXPECT_EQ(largest_channel_number(network_of({numbered_conv("c", 9, 0), last, {"crop", Crop{}, {2}}})), 8);
  EXPECT_EQ(largest_channel_number(network_of({numbered_conv("c", 5, 0), numbers, {"both", Concat{}, {1, 2}}})), 4);
  EXPECT_EQ(largest_channel_number(network_of({numbered_conv("c", 5, 0), numbers, numbered_conv("d", 2, 2)})), 0);
}

TEST(ChannelNumbers, HaveNoMeansOverWindows) {
  Network bound = network_of({numbered_conv("c", 4, 0), {"norm", Norm{}, {1}}});
  EXPECT_EQ(find_arg_max(bound), nullptr);
  ASSERT_TRUE(check(bound)) << check(bound).error().message;
  bound.nodes.push_back({"numbers", AcrossChannels{AcrossKind::arg_max}, {2}});
  EXPECT_EQ(find_arg_max(bound)->name, "numbers");
  const Result<void> refused = check(bound);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("node numbers writes numbers of channels"), std::string::npos)
      << refused.error().message;
}

}  // namespace
}  // namespace znni

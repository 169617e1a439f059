#include "server/rpc/connections/listening_points.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace znni::rpc {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;

TEST(ListeningPoints, LiteralAddressesStandForThemselves) {
  EXPECT_THAT(listening_points("127.0.0.1", 8001), ElementsAre("127.0.0.1:8001"));
  EXPECT_THAT(listening_points("0.0.0.0", 1), ElementsAre("0.0.0.0:1"));
  EXPECT_THAT(listening_points("203.0.113.7", 0), ElementsAre("203.0.113.7:0"));
  for (const char* loopback : {"::1", "[::1]", "0:0::1"}) {
    EXPECT_THAT(listening_points(loopback, 8001), ElementsAre("[::1]:8001")) << loopback;
  }
  EXPECT_THAT(listening_points("::", 0), ElementsAre("[::]:0"));
}

TEST(ListeningPoints, WhatIsNoAddressStandsForNothing) {
  for (const char* nothing : {"", "no such name", "127.0.0.1:8001", "[]"}) {
    EXPECT_THAT(listening_points(nothing, 8001), IsEmpty()) << nothing;
  }
}

TEST(ListeningPoints, ANameStandsForEachOfItsAddressesOnce) {
  const std::vector<std::string> points = listening_points("localhost", 8001);
  ASSERT_FALSE(points.empty());
  EXPECT_THAT(points, Each(EndsWith(":8001")));
  EXPECT_EQ(std::set<std::string>(points.begin(), points.end()).size(), points.size());
}

}  // namespace
}  // namespace znni::rpc

#include "client/files/bbox.hpp"

#include <gtest/gtest.h>

namespace znni::client {
namespace {

TEST(Bbox, NothingMeansTheWholeVolume) { EXPECT_EQ(*parse_bbox("", {4, 5, 6}), (Box{{0, 0, 0}, {4, 5, 6}})); }

TEST(Bbox, BoundsMayBeLeftOut) { EXPECT_EQ(*parse_bbox("1:3,:,2:", {4, 5, 6}), (Box{{1, 0, 2}, {3, 5, 6}})); }

TEST(Bbox, PrintsAsItIsRead) {
  const Box box{{1, 0, 2}, {3, 5, 6}};
  EXPECT_EQ(*parse_bbox(to_string(box), {9, 9, 9}), box);
}

TEST(Bbox, WrongOnesAreRefusedInWords) {
  for (const char* text : {"1:2", "1:2,3:4", "a:2,0:1,0:1", "1,2,3", "3:3,0:1,0:1", "0:5,0:1,0:1", "-1:2,0:1,0:1",
                           "0:1,0:1,0:1,0:1", "0:1:2,0:1,0:1"}) {
    const Result<Box> box = parse_bbox(text, {4, 5, 6});
    ASSERT_FALSE(box) << text;
    EXPECT_EQ(box.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(box.error().message.find("--bbox"), std::string::npos);
  }
}

}  // namespace
}  // namespace znni::client

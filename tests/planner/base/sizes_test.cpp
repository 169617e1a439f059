#include "planner/base/sizes.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

constexpr std::int64_t gibi = std::int64_t{1} << 30;

TEST(PlannerSizes, BytesWithBinaryUnits) {
  EXPECT_EQ(*parse_bytes("256G"), 256 * gibi);
  EXPECT_EQ(*parse_bytes("256GiB"), 256 * gibi);
  EXPECT_EQ(*parse_bytes("256 gb"), 256 * gibi);
  EXPECT_EQ(*parse_bytes("1.5T"), 1536 * gibi);
  EXPECT_EQ(*parse_bytes("512k"), 512 * 1024);
  EXPECT_EQ(*parse_bytes("1048576"), 1048576);
  EXPECT_EQ(*parse_bytes("7B"), 7);
  EXPECT_EQ(*parse_bytes("2P"), std::int64_t{1} << 51);
}

TEST(PlannerSizes, BytesThatMakeNoSense) {
  for (const char* text : {"", "G", "-1G", "0", "0.1", "12Q", "1GG", "1e300P", "9000P", "inf", "nan", "1 2", "0x10"}) {
    const Result<std::int64_t> bytes = parse_bytes(text);
    ASSERT_FALSE(bytes) << text << " gave " << *bytes;
    EXPECT_EQ(bytes.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(bytes.error().message.find(std::string("size '").append(text).append("'")), std::string::npos);
  }
}

TEST(PlannerSizes, RangesOfBytes) {
  EXPECT_EQ(*parse_byte_range("1G..256G"), (MemoryRange{gibi, 256 * gibi}));
  EXPECT_EQ(*parse_byte_range("1.5G..1.5G"), (MemoryRange{gibi / 2 * 3, gibi / 2 * 3}));
  EXPECT_EQ(*parse_byte_range("7..1k"), (MemoryRange{7, 1024}));
  EXPECT_NE(
      parse_byte_range("2G..1G").error().message.find("range '2G..1G' is empty: write two sizes, the smaller first"),
      std::string::npos);
  for (const char* text : {"", "1G", "1G-2G", "..", "1G..", "..1G", "1G..2G..3G", "0..1G"}) {
    const Result<MemoryRange> range = parse_byte_range(text);
    ASSERT_FALSE(range) << text;
    EXPECT_EQ(range.error().code, ErrorCode::invalid_argument);
  }
}

TEST(PlannerSizes, Durations) {
  EXPECT_DOUBLE_EQ(*parse_duration("10m"), 600);
  EXPECT_DOUBLE_EQ(*parse_duration("90s"), 90);
  EXPECT_DOUBLE_EQ(*parse_duration("1.5h"), 5400);
  EXPECT_DOUBLE_EQ(*parse_duration("12"), 12);
  for (const char* text : {"", "m", "0s", "-3s", "3d", "3 minutes"}) EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(PlannerSizes, Extents) {
  EXPECT_EQ(*parse_extents("128,512,640"), (Vec3{128, 512, 640}));
  EXPECT_EQ(*parse_extents("1x2x3"), (Vec3{1, 2, 3}));
  for (const char* text :
       {"", "1", "1,2", "1,2,3,4", "1,,3", "0,2,3", "1,2,-3", "1,2,3 ", "a,b,c", "99999999999999999999,1,1"}) {
    EXPECT_FALSE(parse_extents(text)) << text;
  }
}

}  // namespace
}  // namespace znni

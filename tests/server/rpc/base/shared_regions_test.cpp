#include "server/rpc/base/shared_regions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "primitives/core/shape.hpp"
#include "tests/server/rpc/shared_memory_file.hpp"

namespace znni::rpc {
namespace {

using testing::HasSubstr;

std::string read(const SharedRegion& region, std::int64_t at, std::size_t bytes) {
  std::string text(bytes, '\0');
  const Result<void> done = region.read(at, std::as_writable_bytes(std::span(text)));
  return done ? text : done.error().message;
}

TEST(SharedRegion, IsPartOfWhatIsUnderItsKey) {
  const SharedMemoryFile memory(100);
  memory.write(0, "0123456789");
  const Result<RegionHandle> region = SharedRegion::open(memory.key(), 2, 50);
  ASSERT_TRUE(region) << region.error().message;
  EXPECT_EQ(read(**region, 3, 4), "5678");
  const std::string text = "ab";
  EXPECT_TRUE((*region)->write(1, std::as_bytes(std::span(text))));
  EXPECT_EQ(memory.read(0, 10), "012ab56789");
  EXPECT_TRUE(SharedRegion::open(memory.key().substr(1), 0, 1)) << "the slash may be left out";
}

TEST(SharedRegion, KeysAreNoPaths) {
  for (const char* key : {"", "/", "/..", "../etc/passwd", "/a/b", "/etc/passwd", "/.hidden", "/a b", "a\nb"}) {
    const Result<RegionHandle> region = SharedRegion::open(key, 0, 1);
    ASSERT_FALSE(region) << key;
    EXPECT_THAT(region.error().message, HasSubstr("is not a name of shared memory")) << key;
  }
  EXPECT_FALSE(SharedRegion::open("/znni_test_no_such_memory", 0, 1));
  EXPECT_FALSE(SharedRegion::open("/" + std::string(300, 'a'), 0, 1));
}

TEST(SharedRegion, SizesAreThoseOfTheMemory) {
  const SharedMemoryFile memory(100);
  EXPECT_TRUE(SharedRegion::open(memory.key(), 0, 100));
  EXPECT_THAT(SharedRegion::open(memory.key(), 1, 100).error().message, HasSubstr("has 100 bytes, 101 are needed"));
  EXPECT_FALSE(SharedRegion::open(memory.key(), -1, 10));
  EXPECT_FALSE(SharedRegion::open(memory.key(), 0, 0));
  EXPECT_FALSE(SharedRegion::open(memory.key(), saturated, saturated));
}

TEST(SharedRegion, WhatWasCutShortIsAnErrorAndDoesNotGrow) {
  const SharedMemoryFile memory(100);
  const RegionHandle region = *SharedRegion::open(memory.key(), 0, 100);
  memory.resize(10);
  EXPECT_THAT(read(*region, 5, 20), HasSubstr("has become smaller"));
  const std::string text(20, 'x');
  EXPECT_FALSE(region->write(5, std::as_bytes(std::span(text))));
  EXPECT_EQ(memory.read(0, 100).size(), 10U);
}

TEST(SharedRegions, NamesAreTakenOnce) {
  const SharedMemoryFile memory(100);
  SharedRegions regions;
  EXPECT_TRUE(*regions.add("a", *SharedRegion::open(memory.key(), 0, 100)));
  EXPECT_FALSE(*regions.add("a", *SharedRegion::open(memory.key(), 0, 100)));
  EXPECT_TRUE(*regions.add("b", *SharedRegion::open(memory.key(), 0, 50)));
  EXPECT_EQ(regions.all().size(), 2U);
  regions.remove("a");
  EXPECT_EQ(regions.find("a").error().code, ErrorCode::not_found);
  regions.remove("a");
  regions.remove("");
  EXPECT_TRUE(regions.all().empty());
}

TEST(SharedRegions, RangesLieWithin) {
  const SharedMemoryFile memory(100);
  SharedRegions regions;
  EXPECT_TRUE(*regions.add("a", *SharedRegion::open(memory.key(), 0, 100)));
  EXPECT_TRUE(regions.find(RegionRange{"a", 40, 60}));
  const std::vector<std::pair<std::int64_t, std::int64_t>> outside = {
      {41, 60}, {101, 0}, {-1, 5}, {5, -1}, {saturated, saturated}};
  for (const auto& [offset, bytes] : outside) {
    EXPECT_EQ(regions.find(RegionRange{"a", offset, bytes}).error().code, ErrorCode::invalid_argument);
  }
  EXPECT_EQ(regions.find(RegionRange{"b", 0, 1}).error().code, ErrorCode::not_found);
}

TEST(SharedRegions, WhoHoldsARegionKeepsIt) {
  const SharedMemoryFile memory(100);
  memory.write(0, "here");
  SharedRegions regions;
  EXPECT_TRUE(*regions.add("a", *SharedRegion::open(memory.key(), 0, 100)));
  const RegionHandle held = *regions.find("a");
  regions.remove("");
  EXPECT_EQ(read(*held, 0, 4), "here");
}

TEST(SharedRegions, AreNotMoreThanSoMany) {
  const SharedMemoryFile memory(100);
  SharedRegions regions(3);
  const RegionHandle region = *SharedRegion::open(memory.key(), 0, 1);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(*regions.add(std::to_string(i), region));
  EXPECT_EQ(regions.add("more", region).error().code, ErrorCode::unavailable);
  regions.remove("1");
  EXPECT_TRUE(*regions.add("more", region));
}

}  // namespace
}  // namespace znni::rpc
